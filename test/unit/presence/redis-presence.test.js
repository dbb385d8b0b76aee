import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../../src/base/common/clock.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { RedisPresence } from '../../../src/people/presence/redis-presence.js'
import { createLog } from '../../../src/base/common/log.js'
import { createKeys } from '../../../src/redis/keys.js'
import { storeRedis } from '../../helpers/store-redis.js'

const { documentPresence, workerPresence, workers } = createKeys()

const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })
const metrics = createMetrics({ processMetrics: false })

function deferred () {
  let resolve = () => {}
  const promise = new Promise((/** @type {(value?: undefined) => void} */ done) => { resolve = done })
  return { promise, resolve }
}

/**
 * A read-only store, over a Redis with one connection of worker 7. The first read of that worker's documents waits
 * until the test lets it fail.
 */
async function setUp () {
  const connections = new Map([['ghost', '7.1']])
  /** @type {Set<string>} */
  const taken = new Set()
  const failing = deferred()
  const looked = deferred()
  let looks = 0
  const redis = /** @type {any} */ ({
    isCluster: false,
    onBack () {},
    channels: { onRestored () {} },
    topology: { nodeOf: () => 'redis' },
    client: {
      async set (/** @type {string} */ key) {
        if (taken.has(key)) return null
        taken.add(key)
        return 'OK'
      },
      del: async (/** @type {string} */ key) => (taken.delete(key) ? 1 : 0),
      async smembers () {
        if (++looks > 1) return ['document']
        looked.resolve()
        await failing.promise
        throw new Error('Connection is closed.')
      }
    },
    keys: createKeys(),
    scripts: {
      mine: async () => [...connections].flat(),
      presence: async (/** @type {string[]} */ _keys, /** @type {any[]} */ [, , , , , , , , op, id]) => {
        if (op === '~') connections.delete(id)
      }
    }
  })
  const store = new RedisPresence({ redis, maxMembers: 500, metrics, log, clock: systemClock })
  await store.start()
  return { store, connections, looked: looked.promise, fail: failing.resolve }
}

test('after one worker failed to forget an ended one, another worker can do so at once', async () => {
  const { store, connections, fail } = await setUp()
  fail()
  await assert.rejects(store.forget(7, '7.1'), { code: 'unavailable' })
  assert.deepEqual([...connections.keys()], ['ghost'])
  await store.forget(7, '7.1')
  assert.deepEqual([...connections.keys()], [])
})

test('forgetting with "surely" does not rely on a pending attempt of another worker', async () => {
  const { store, connections, looked, fail } = await setUp()
  const another = assert.rejects(store.forget(7, '7.1'), { code: 'unavailable' })
  await looked
  await store.forget(7, '7.1', { surely: true })
  assert.deepEqual([...connections.keys()], [])
  fail()
  await another
})

test('the keys of a document, and of its worker, expire only when no worker compares the document any more', async (t) => {
  const { redis } = await storeRedis(t)
  const { client } = redis
  const clock = { ...systemClock, monotonic: () => 0 }
  const store = new RedisPresence({
    redis, maxMembers: 500, metrics, log, clock, workerNumber: 1, incarnation: () => '1.1'
  })
  await store.start(/** @type {any} */ ({ onDiff () {}, onInterrupted () {}, onLost () {} }))
  t.after(() => store.stop())
  await store.update('document', [{ op: '+', id: 'a', uid: 'ada', client: '', body: '{}' }])
  const keys = [documentPresence('document')[0], workerPresence(1)]
  for (const key of keys) await client.expire(key, 5)
  await store.versions(['document'])
  for (const key of keys) assert.ok(await client.ttl(key) > 5, key)
})

test('the documents of a worker do not expire while it only writes, because all of them are busy', async (t) => {
  const { redis } = await storeRedis(t)
  let time = 0
  const clock = { ...systemClock, monotonic: () => time }
  const store = new RedisPresence({
    redis, maxMembers: 500, metrics, log, clock, workerNumber: 1, incarnation: () => '1.1'
  })
  await store.start(/** @type {any} */ ({ onDiff () {}, onInterrupted () {}, onLost () {} }))
  t.after(() => store.stop())
  const update = () => store.update('document', [{ op: '=', id: 'a', uid: 'ada', client: '', body: `{"state":{"n":${time}}}` }])
  await update()
  /** @type {number[]} */
  const renewed = []
  for (let minute = 1; minute <= 70; minute++) {
    time = 60_000 * minute
    await redis.client.expire(workerPresence(1), 1000)
    await update()
    if (await redis.client.ttl(workerPresence(1)) > 1000) renewed.push(minute)
  }
  assert.deepEqual(renewed, [10, 20, 30, 40, 50, 60, 70])
})

test('a document whose members are written stays known for the end of the worker while its diffs cannot be subscribed to', async (t) => {
  const { redis } = await storeRedis(t)
  const { subscribe } = redis.channels
  redis.channels.subscribe = async () => {
    redis.channels.subscribe = subscribe
    throw new Error('unavailable')
  }
  const store = new RedisPresence({
    redis, maxMembers: 500, metrics, log, clock: systemClock, workerNumber: 1, incarnation: () => '1.1'
  })
  await store.start(/** @type {any} */ ({ onDiff () {}, onInterrupted () {}, onLost () {} }))
  t.after(() => store.stop())
  await redis.client.hset(workers.incarnations, '1', '1')
  await store.sweep(true)
  await store.update('document', [{ op: '+', id: 'a', uid: 'ada', client: '', body: '{}' }])
  await assert.rejects(store.watch('document'))
  await turn() // changes of the set are written together
  await redis.client.ping()
  assert.deepEqual(await redis.client.smembers(workerPresence(1)), ['document'])
})
