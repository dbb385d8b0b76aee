import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { systemRandom } from '../../../src/base/common/random.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { Presence } from '../../../src/people/presence/presence.js'
import { MISSING } from '../../../src/log/bus/registry.js'
import { AGAIN } from '../../../src/people/workers/worker-watch.js'
import { RedisPresence } from '../../../src/people/presence/redis-presence.js'
import { createSessionIds } from '../../../src/wire/session-id.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { storeRedis } from '../../helpers/store-redis.js'
import { waitFor } from '../../helpers/wait.js'

test('members whose departure Redis has lost leave, also of documents that nobody has open on their worker any more', async (t) => {
  const { log } = recordingLog()
  const { store: server, redis } = await storeRedis(t)
  const metrics = createMetrics({ processMetrics: false })
  // seconds of presence pass in milliseconds
  const clock = manualClock(Date.now())
  const passing = setInterval(() => clock.advance(100), 2)
  const own = { metrics, log, clock }
  // the sweep waits until Redis knows the worker
  await redis.client.hset(redis.keys.workers.incarnations, '1', '1')
  const store = new RedisPresence({ redis, workerNumber: 1, incarnation: () => '1.1', maxMembers: 500, ...own })
  const presence = new Presence({ ...own, random: systemRandom }, {
    store,
    settings: { maxMembers: 500, maxStateBytes: 1000, grace: 0 },
    createDelivery: (_, payload) => ({ payload, bytes: 0 })
  })
  await presence.start()
  t.after(async () => {
    await presence.stop(0)
    clearInterval(passing)
  })
  const newId = createSessionIds(1, { clock: systemClock, random: systemRandom })
  const join = async (/** @type {string} */ uid, /** @type {string} */ guid) => {
    const place = { presence: null }
    const participant = { id: newId(), uid, client: undefined, identity: {}, deliver: () => {} }
    await presence.join(/** @type {any} */ (participant), guid, place, { state: {} })
    return place
  }
  const guids = ['a', 'b', 'c', 'd']
  const members = async () => (await Promise.all(guids.map((guid) => store.page(guid, { limit: 10 }))))
    .map((page) => page.members.map(({ uid }) => uid).join())
  const places = await Promise.all(guids.map((guid) => join('ada', guid)))
  const staying = await join('bob', 'd')
  const before = server.snapshot()
  for (const place of places) presence.leave(place, false)
  await waitFor(async () => (await members()).join() === ',,,bob', { message: 'they have left' })
  assert.notEqual(staying.presence, null)

  server.restore(before)
  assert.deepEqual(await members(), ['ada', 'ada', 'ada', 'ada,bob'])
  redis.lost()
  let last = ''
  await waitFor(async () => (last = (await members()).join(' ')) === '   bob', { message: () => 'they leave again: ' + last })
  // until no write of a worker that was cut off can still arrive, its documents are kept
  clock.advance(AGAIN + MISSING)
  await waitFor(async () => (await store.documents()).join() === 'd', { message: 'documents without members are left' })
})
