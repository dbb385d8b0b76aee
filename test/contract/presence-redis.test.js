import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createLog } from '../../src/base/common/log.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { encodeBody } from '../../src/people/presence/member-view.js'
import { RedisPresence } from '../../src/people/presence/redis-presence.js'
import { createKeys } from '../../src/redis/keys.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { BACKENDS } from '../helpers/backends.js'
import { testRedis } from '../helpers/test-redis.js'
import { waitFor } from '../helpers/wait.js'
import { presenceContract } from './presence.js'

const { documentLeft, documentPresence, workerPresence, workers } = createKeys()

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })
const metrics = createMetrics({ processMetrics: false })

/** @param {string} url comma separated for Redis Cluster */
const open = (url) => async () => {
  /** @type {(() => Promise<void>)[]} */
  const stops = []
  return {
    /** @param {import('./presence.js').StoreOptions} options */
    async create ({ incarnation = '', ...options }) {
      const redis = testRedis({ urls: url.split(','), name: 'test', log })
      await redis.start()
      const store = new RedisPresence({
        redis,
        maxMembers: 6,
        metrics,
        log,
        incarnation: () => incarnation,
        ...options,
        clock: systemClock
      })
      stops.push(async () => {
        await store.stop()
        await redis.stop()
      })
      return store
    },
    stop: async () => { for (const stop of stops) await stop() }
  }
}

for (const [name, url] of BACKENDS) {
  presenceContract(name, open(url()))

  test(`in ${name} the sweep after a loss of data removes the connections of a worker that wrote them and ended before it was known ` +
    'again', async (t) => {
    const redis = testRedis({ urls: url().split(','), name: 'test', log })
    await redis.start()
    t.after(async () => {
      await redis.client.hdel(workers.incarnations, '4005')
      await redis.stop()
    })
    const backend = await open(url())()
    t.after(() => backend.stop())
    const guid = randomUUID()
    // the process before the next one, which does not learn that it has ended
    const before = await backend.create({ workerNumber: 4005, incarnation: '4005.9' })
    await before.start()
    const [late, known, closed] = [randomUUID(), randomUUID(), randomUUID()]
    /** @param {string} where */
    const writesLate = async (where) => {
      const id = createSessionIds(4005, { clock: systemClock, random: systemRandom })()
      await before.update(where, [{ op: '+', id, uid: 'ada', client: '', body: encodeBody(undefined, undefined) }])
    }
    for (const where of [known, closed]) await writesLate(where)
    const [own, gone] = await Promise.all([4005, 4006].map(async (workerNumber) => {
      const store = await backend.create({ workerNumber, incarnation: `${workerNumber}.10` })
      await store.start()
      const id = createSessionIds(workerNumber, { clock: systemClock, random: systemRandom })()
      await store.update(guid, [{ op: '+', id, uid: `of-${workerNumber}`, client: '', body: encodeBody(undefined, undefined) }])
      return store
    }))
    await own.watch(guid)
    await own.watch(closed)
    own.unwatch(closed)
    // the last two are in the set of documents already, so these writes do not add them
    for (const where of [late, known, closed]) await writesLate(where)
    await redis.client.hset(workers.incarnations, '4005', '10')
    await own.sweep()
    const uidsIn = async (/** @type {string} */ where) =>
      (await own.page(where, { limit: 10 })).members.map(({ uid }) => uid)
    assert.deepEqual(await Promise.all([guid, late, known, closed].map(uidsIn)), [['of-4005'], [], [], []])
    // writes of the process before arrive after that: the second cleanup finds them
    for (const where of [late, known, closed]) await writesLate(where)
    await gone.forget(4005, '4005.9', { surely: true })
    assert.deepEqual(await Promise.all([guid, late, known, closed].map(uidsIn)), [['of-4005'], [], [], []])
    await own.sweep(true)
    // no process needs to look at documents without members of this worker at its end
    const inSet = async () => (await redis.client.smembers(workerPresence(4005))).join()
    await waitFor(async () => await inSet() === guid, { message: inSet })
    own.unwatch(guid)
    await waitFor(async () => await inSet() === '', { message: inSet })
    await gone.stop()
    await before.stop()
  })

  for (const step of [-60, 10, 1000, 10_000]) {
    test(`versions of a document do not go back after the clock of ${name} was ${step} s ahead: the last one is kept until its time has ` +
      'come', async (t) => {
      const redis = testRedis({ urls: url().split(','), name: 'test', log })
      t.after(() => redis.stop())
      await redis.start()
      const guid = randomUUID()
      const keys = [...documentPresence(guid), ...documentLeft(guid)]
      const change = (/** @type {string} */ op) =>
        redis.scripts.presence(keys, [6, 0.9, 10, 'i', 3600, 60, 86_400, 100, op, 'id', 'ada', op === '+' ? 'client' : '', '{}'])
      await change('+')
      const [seconds] = await redis.client.time()
      const ahead = (Number(seconds) + step) * 1000
      await redis.client.hset(keys[2], 'v', ahead)
      assert.equal(Number(await change('-')), ahead + 1)
      const left = await redis.client.pttl(keys[2])
      const [now] = await redis.client.time()
      assert.ok(left >= 59_000 && Number(now) * 1000 + left > ahead, `${left} ms`)
      assert.ok(left <= Math.max(60, step + 3) * 1000, `${left} ms`)
      assert.equal(Number(await change('+')), ahead + 2)
    })
  }
}
