import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../src/common/random.js'
import { createRedisRequests } from '../../src/api/idempotency/redis-requests.js'
import { createRedisPublish } from '../../src/bus/redis-publish.js'
import { systemClock } from '../../src/common/clock.js'
import { documentKeys } from '../../src/redis/keys.js'
import { readShiftedTime, stepClock } from '../helpers/redis-clock.js'
import { startRedisPublisher } from '../helpers/redis-publisher.js'
import { startRedis } from '../services/redis.js'
import { entry } from '../contract/bus-fixture.js'

/** Idempotency keys while the wall clock of Redis is set. */

/** Steps of the wall clock, s. */
const STEPS = [-1000, -60, -1, 1, 10, 60, 840, 1000]
/** Age of a key at the step, s. */
const AGES = [0, 1, 59, 300, 800]

/** @param {import('node:test').TestContext} t */
async function start (t) {
  const server = await startRedis()
  t.after(() => server.stop())
  return startRedisPublisher(t, server.url, readShiftedTime)
}

/** @param {string} guid @param {string} idempotencyKey */
const keyed = (guid, idempotencyKey) => entry(guid, idempotencyKey, { idempotencyKey })

test(`a document knows its keys after each step of the clock of Redis: ${STEPS.length} steps, ${AGES.length} ages, noticed at once or later`, async (t) => {
  const { redis, bus } = await start(t)
  /**
   * Lets time pass in a document that gets a publication with a key in each minute.
   * @param {string} guid
   * @param {number} seconds
   */
  async function pass (guid, seconds) {
    for (let left = seconds; left > 0; left -= 50) {
      await stepClock(redis, Math.min(left, 50) * 1000)
      await bus.publish([keyed(guid, `at-${left}`)])
    }
  }
  const wrong = []
  let made = 0
  for (const step of STEPS) {
    for (const age of AGES) {
      for (const after of [0, 30]) {
        const guid = `${step}-${age}-${after}`
        await bus.publish([keyed(guid, 'k')])
        await pass(guid, age)
        await stepClock(redis, step * 1000)
        await pass(guid, after)
        const [{ duplicate }] = await bus.publish([keyed(guid, 'k')])
        if (!duplicate) wrong.push(guid)
        made++
      }
    }
  }
  assert.deepEqual({ made, wrong }, { made: STEPS.length * AGES.length * 2, wrong: [] })
})

test('a key is forgotten 15 minutes after its record by a document that gets others, also if the clock was set back', async (t) => {
  const { redis, bus } = await start(t)
  for (const step of [0, -60, -1000]) {
    const guid = `forgets-${step}`
    await bus.publish([keyed(guid, 'k')])
    await stepClock(redis, step * 1000)
    for (let i = 0; i < 19; i++) {
      assert.equal((await bus.publish([keyed(guid, 'k')]))[0].duplicate, true, `${i}`)
      await bus.publish([keyed(guid, `other-${i}`)])
      await stepClock(redis, 48_000)
    }
    assert.equal((await bus.publish([keyed(guid, 'k')]))[0].duplicate, false)
    for (let i = 0; i < 45; i++) {
      await stepClock(redis, 50_000)
      await bus.publish([keyed(guid, `later-${i}`)])
    }
    const left = await redis.client.zcard(documentKeys(guid))
    assert.ok(left < 45, `${left} keys`)
  }
})

test('a full list drops its oldest key, also if the clock was set back', async (t) => {
  const { redis } = await start(t)
  const publish = createRedisPublish({
    redis, clock: systemClock, historyOf: () => ({ size: 100, ttl: 60 }), idempotency: { ttl: 900, keys: 5 },
    random: systemRandom
  })
  for (let i = 0; i < 5; i++) await publish([keyed('d', `before-${i}`)])
  await stepClock(redis, -60_000)
  for (let i = 0; i < 3; i++) await publish([keyed('d', `after-${i}`)])
  const again = []
  for (const name of ['after-0', 'after-1', 'after-2', 'before-3', 'before-4'])
    again.push((await publish([keyed('d', name)]))[0].duplicate)
  assert.deepEqual(again, [true, true, true, true, true])
})

// Redis itself forgets the answers of requests after 15 minutes of its clock
for (const step of STEPS.filter((step) => step < 900)) {
  test(`a request in progress stays so after a step of ${step} s, and one whose process died can be retried`, async (t) => {
    const { redis } = await start(t)
    const [alive, dead, other] = [redis, withoutRenewals(redis), redis].map((redis) => createRedisRequests({
      redis, clock: systemClock, random: systemRandom
    }))
    assert.equal((await alive.begin('alive', 'f', 't1')).state, 'new')
    assert.equal((await dead.begin('dead', 'f', 't1')).state, 'new')
    await stepClock(redis, step * 1000)
    assert.equal((await other.begin('alive', 'f', 't2')).state, 'busy')
    let states = ''
    for (let second = 0; second < 8 && !states.endsWith('new'); second++) {
      states += ` ${(await other.begin('dead', 'f', 't2')).state}`
      await stepClock(redis, 1000)
    }
    assert.match(states, /new$/)
    await alive.finish('alive', 'f', '{}')
  })
}

/**
 * A process that dies: it renews nothing.
 * @param {import('../../src/redis/client.js').RedisConnection} redis
 * @returns {any}
 */
const withoutRenewals = ({ scripts }) => ({ scripts: { ...scripts, request: begunOnce(scripts.request) } })

/** @param {any} request */
function begunOnce (request) {
  let begun = false
  return async (/** @type {any[]} */ ...args) => {
    if (begun) throw new Error('Connection is closed.')
    begun = true
    return request(...args)
  }
}
