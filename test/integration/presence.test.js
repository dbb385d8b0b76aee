import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createLog } from '../../src/common/log.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createPresence } from '../../src/presence/presence.js'
import { createRedisPresence } from '../../src/presence/redis-presence.js'
import { createRedis } from '../../src/redis/client.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })

/** @param {import('node:test').TestContext} t @param {string} url @param {number} workerNumber */
async function worker (t, url, workerNumber) {
  const metrics = createMetrics({ processMetrics: false })
  const redis = createRedis({ urls: [url], name: 'test', log, clock: systemClock, random: systemRandom })
  const newId = createSessionIds(workerNumber, { clock: systemClock, random: systemRandom })
  await redis.start()
  const presence = createPresence({
    store: createRedisPresence({ redis, workerNumber, incarnation: () => 'one', maxMembers: 500, metrics, log, clock: systemClock }),
    settings: { maxMembers: 500, maxStateBytes: 1000, grace: 200 },
    createDelivery: (_, payload) => ({ payload, bytes: 0 }),
    metrics,
    log,
    cycle: 1000,
    clock: systemClock,
    random: systemRandom
  })
  await presence.start()
  t.after(async () => {
    await presence.stop(0)
    await redis.stop()
  })
  return {
    presence, redis,
    /** @param {string} uid @param {string} guid */
    async join (uid, guid) {
      const place = { presence: null }
      /** @type {any[]} */
      const told = []
      const participant = {
        id: newId(),
        uid,
        client: undefined,
        identity: {},
        deliver: (/** @type {any} */ { payload }) => {
          told.push(payload)
        }
      }
      return { place, told, participant, answer: await presence.join(participant, guid, place, {}) }
    }
  }
}

/** @param {{ members?: any[] } | undefined} list */
const uids = (list) => list?.members?.map(({ uid }) => uid).join()

describe('presence in a Redis that loses its data', () => {
  test('is written again, and members are notified', { timeout: 180_000 }, async (t) => {
    const server = await startRedis()
    t.after(() => server.stop())
    const [one, two] = await Promise.all([1, 2].map((number) => worker(t, server.url, number)))
    const guid = randomUUID()
    const ada = await one.join('ada', guid)
    const bob = await two.join('bob', guid)
    assert.equal(uids(/** @type {any} */ (bob.answer)), 'ada,bob')
    await waitFor(() => ada.told.at(-1)?.count === 2)
    await one.redis.client.flushall()
    const all = () => one.presence.members(guid, {})
    await waitFor(async () => uids(await all()) === 'ada,bob', { timeout: 20_000, message: 'both members to be back' })
    const wasTold = (/** @type {{ told: any[] }} */ { told }) =>
      told.at(-1).count === 2 && told.some(({ members }) => members)
    await waitFor(() => wasTold(ada) && wasTold(bob), {
      timeout: 20_000,
      message: () => JSON.stringify([ada.told, bob.told])
    })
  })

  test('is updated after an outage', { timeout: 180_000 }, async (t) => {
    const server = await startRedis()
    const [one, two] = await Promise.all([1, 2].map((number) => worker(t, server.url, number)))
    const guid = randomUUID()
    const ada = await one.join('ada', guid)
    const bob = await two.join('bob', guid)
    await waitFor(() => ada.told.at(-1)?.count === 2)
    await server.stop()
    await waitFor(() => !one.redis.ready && !two.redis.ready, { timeout: 20_000 })
    two.presence.leave(bob.place, false)
    const cyd = await two.join('cyd', guid)
    assert.deepEqual(cyd.answer, {})
    const again = await startRedis({ port: Number(new URL(server.url).port) })
    t.after(() => again.stop())
    await waitFor(async () => uids(await two.presence.members(guid, {})) === 'ada,cyd', {
      timeout: 30_000,
      message: 'the current members'
    })
    await waitFor(() => ada.told.at(-1).count === 2 && cyd.told.some(({ members }) => members), {
      timeout: 20_000,
      message: () => JSON.stringify([ada.told, cyd.told])
    })
    const seen = new Set(
      (ada.told.findLast(({ members }) => members)?.members ?? []).map((/** @type {any} */ { uid }) => uid)
    )
    for (const { joined } of ada.told.slice(ada.told.findLastIndex(({ members }) => members) + 1))
      for (const { uid } of joined) seen.add(uid)
    assert.deepEqual([...seen].sort(), ['ada', 'cyd'])
  })
})
