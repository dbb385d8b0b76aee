import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisRequests } from '../../src/services/api/idempotency/redis-requests.js'
import { createKeys } from '../../src/redis/keys.js'
import { BACKENDS } from '../helpers/backends.js'
import { recordingLog } from '../helpers/recording-log.js'
import { testRedis } from '../helpers/test-redis.js'
import { waitFor } from '../helpers/wait.js'
import { requestsContract } from './requests.js'

const { requestState } = createKeys()

for (const [name, url] of BACKENDS) {
  describe(name, () => {
    const { log } = recordingLog()
    const connections = [1, 2].map((i) =>
      testRedis({ urls: url().split(','), name: `test-${i}`, log }))
    before(() => Promise.all(connections.map((redis) => redis.start())))
    after(() => Promise.all(connections.map((redis) => redis.stop())))
    const stores = /** @type {[any, any]} */ (connections.map((redis) => createRedisRequests({
      redis, clock: systemClock, random: systemRandom
    })))

    requestsContract(name, () => stores)

    /** Of a process that does not renew its requests: a renewal has the trace id of a request before. */
    function storeWithoutRenewals () {
      const { scripts, keys } = connections[0]
      const known = new Set()
      return createRedisRequests({
        clock: systemClock, random: systemRandom, redis: { keys, scripts: /** @type {any} */ ({
          request: async (/** @type {string[]} */ keys, /** @type {any[]} */ args) => {
            if (known.has(args[1])) throw new Error('Connection is closed.')
            known.add(args[1])
            return scripts.request(keys, args)
          },
          settle: scripts.settle,
          forget: scripts.forget
        }) } })
    }

    test('after its process died a request may be retried under its trace id, and all requests expire', async () => {
      const [{ client }] = connections
      const id = `dead-${process.pid}-${name}`
      const key = requestState(id)
      let before = Date.now()
      await storeWithoutRenewals().begin(id, 'f', 't1')
      const begun = Number((await client.hgetall(key)).u) - 5000
      assert.ok(begun >= before - 1 && begun <= Date.now() + 1, `${begun} is not after ${before}`)
      assert.ok(await client.ttl(key) > 600 && await client.ttl(key) <= 900)
      await client.hset(key, 'u', String(Date.now() - 1))
      before = Date.now()
      assert.deepEqual(await stores[1].begin(id, 'f', 't2'), { state: 'busy' }, 'the clock may have been set')
      const after = Date.now()
      const again = Number(await client.hget(key, 'u')) - 2000
      assert.ok(again >= before - 1 && again <= after + 1, `${again} is not in ${before} to ${after}`)
      await client.hset(key, 'u', String(Date.now() - 1))
      assert.deepEqual(await stores[1].begin(id, 'f', 't2'), { state: 'new', traceId: 't1' })
      await client.expire(key, 300)
      await stores[1].finish(id, 'f', '{}')
      assert.ok(await client.ttl(key) > 600)
      await client.del(key)
      await stores[1].release(id)
      assert.equal(await client.exists(key), 0)
    })

    test('a process that lost a reply of Redis may begin its own request again at once', async () => {
      const id = `unanswered-${process.pid}-${name}`
      const scripts = /** @type {any} */ ({
        request: async (/** @type {string[]} */ keys, /** @type {any[]} */ args) => {
          const answer = await connections[0].scripts.request(keys, args)
          if (lose) throw new Error('Connection is closed.')
          return answer
        },
        settle: () => Promise.reject(new Error('Connection is closed.'))
      })
      const lossy = createRedisRequests({
        clock: systemClock, random: systemRandom, redis: { scripts, keys: connections[0].keys }
      })
      let lose = true
      await assert.rejects(lossy.begin(id, 'f', 't1'))
      assert.deepEqual(await stores[1].begin(id, 'f', 't2'), { state: 'busy' })
      lose = false
      assert.deepEqual(await lossy.begin(id, 'f', 't3'), { state: 'new', traceId: 't1' })
      assert.deepEqual(await lossy.begin(id, 'f', 't4'), { state: 'busy' })
      await assert.rejects(lossy.release(id))
      assert.deepEqual(await lossy.begin(id, 'f', 't5'), { state: 'new', traceId: 't1' })
    })

    test('a process that refuses its request too late leaves the one of another process', async () => {
      const [{ client }] = connections
      const id = `late-${process.pid}-${name}`
      const late = storeWithoutRenewals()
      await late.begin(id, 'f', 't1')
      await client.hset(requestState(id), { u: String(Date.now() - 1), s: '1' })
      assert.deepEqual(await stores[1].begin(id, 'f', 't2'), { state: 'new', traceId: 't1' })
      await late.forget(id)
      assert.deepEqual(await late.begin(id, 'f', 't3'), { state: 'busy' })
      assert.deepEqual(await late.begin(id, 'g', 't4'), { state: 'other' })
      await stores[1].release(id)
    })

    test('a process that fails too late leaves the work of another process in progress', async () => {
      const [{ client }] = connections
      const id = `failed-late-${process.pid}-${name}`
      const late = storeWithoutRenewals()
      await late.begin(id, 'f', 't1')
      await client.hset(requestState(id), { u: String(Date.now() - 1), s: '1' })
      assert.deepEqual(await stores[1].begin(id, 'f', 't2'), { state: 'new', traceId: 't1' })
      await late.release(id)
      assert.deepEqual(await late.begin(id, 'f', 't3'), { state: 'busy' })
      await stores[1].release(id)
      assert.deepEqual(await stores[0].begin(id, 'f', 't4'), { state: 'new', traceId: 't1' })
      await stores[0].release(id)
    })

    test('a long request stays in progress while its process is alive', async () => {
      const [{ client }] = connections
      const id = `long-${process.pid}-${name}`
      const key = requestState(id)
      await stores[0].begin(id, 'f', 't1')
      await client.hset(key, 'u', '0')
      await waitFor(async () => Number(await client.hget(key, 'u')) > Date.now())
      assert.deepEqual(await stores[1].begin(id, 'f', 't2'), { state: 'busy' })
      await client.del(key)
      await waitFor(async () => await client.exists(key) === 1)
      await stores[0].release(id)
      assert.deepEqual(await stores[1].begin(id, 'f', 't2'), { state: 'new', traceId: 't1' })
      await stores[1].finish(id, 'f', '{}')
    })

    test('a response is kept even if Redis has lost the request', async () => {
      const id = `lost-${process.pid}-${name}`
      await stores[0].finish(id, 'f', '{}')
      assert.deepEqual(await stores[1].begin(id, 'f', 't'), { state: 'done', answer: '{}' })
      assert.deepEqual(await stores[1].begin(id, 'g', 't'), { state: 'other' })
    })
  })
}

test('while Redis is unavailable calls reject with unavailable', async () => {
  const redis = testRedis({ urls: ['redis://127.0.0.1:1'], name: 'test', log: recordingLog().log })
  try {
    await assert.rejects(
      createRedisRequests({ redis, clock: systemClock, random: systemRandom }).begin('a', 'f', 't'),
      { code: 'unavailable', retryable: true }
    )
  } finally {
    await redis.stop()
  }
})
