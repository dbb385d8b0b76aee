import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedisRequests } from '../../src/services/api/idempotency/redis-requests.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { RedisPublish } from '../../src/log/bus/redis-publish.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createKeys } from '../../src/redis/keys.js'
import { entry } from '../contract/bus-fixture.js'
import { startPart } from '../simulation/script/part.js'

const { documentKeys } = createKeys()

/** Idempotency keys while the wall clock of Redis is set. */

/** Steps of the wall clock, s. */
const STEPS = [-1000, -60, -1, 1, 10, 60, 840, 1000]
/** Age of a key at the step, s. */
const AGES = [0, 1, 59, 300, 800]

/** @param {string} guid @param {string} idempotencyKey */
const keyed = (guid, idempotencyKey) => entry(guid, idempotencyKey, { idempotencyKey })

/**
 * @param {(scene: { part: import('../simulation/script/part.js').Part, step: (seconds: number) => void,
 *   pass: (seconds: number) => Promise<void>, publish: (guid: string, key: string) => Promise<boolean> }) =>
 *   Promise<void>} play publish: resolves with whether the key was known
 */
const inScene = (play) => () => inCluster({ machines: 0 }, async (cluster) => {
  const part = await startPart(cluster, 'service')
  const { redis, log, clock, random, act } = part
  const bus = createRedisBus({ redis, log, metrics: createMetrics({ processMetrics: false }), clock, random })
  await act(() => bus.start())
  await play({
    part,
    step: (seconds) => cluster.redis.servers[0].setClock(seconds * 1000),
    pass: (seconds) => cluster.pass(seconds * 1000),
    publish: (guid, key) => act(async () => (await bus.publish([keyed(guid, key)]))[0].duplicate)
  })
})

test(`a document knows its keys after each step of Redis's clock: ${STEPS.length} steps, ${AGES.length} ages, noticed at once or late`,
  inScene(async ({ step, pass, publish }) => {
    /** Before a step, s: the documents get one publication with a key in each minute of their age. */
    const isDue = (/** @type {number} */ age, /** @type {number} */ left) =>
      left <= age && (left === 0 || (age - left) % 50 === 0)
    const wrong = []
    let made = 0
    for (const seconds of STEPS) {
      // all ages together: the step ends the time of each of them
      const documents = AGES.flatMap((age) => [0, 30].map((after) => ({ guid: `${seconds}-${age}-${after}`, age, after })))
      let last = Math.max(...AGES)
      for (let left = last; left >= 0; left--) {
        const due = documents.filter(({ age }) => isDue(age, left))
        if (due.length === 0) continue
        await pass(last - left)
        last = left
        for (const { guid, age } of due) await publish(guid, left === age ? 'k' : `at-${left}`)
      }
      step(seconds)
      for (const after of [0, 30]) {
        await pass(after)
        for (const { guid } of documents.filter((one) => one.after === after)) {
          if (after > 0) await publish(guid, 'later')
          if (!await publish(guid, 'k')) wrong.push(guid)
          made++
        }
      }
    }
    assert.deepEqual({ made, wrong }, { made: STEPS.length * AGES.length * 2, wrong: [] })
  }))

test('a key is forgotten 15 minutes after its record by a document that gets others, also if the clock was set back',
  inScene(async ({ part: { redis, act }, step, pass, publish }) => {
    for (const seconds of [0, -60, -1000]) {
      const guid = `forgets-${seconds}`
      await publish(guid, 'k')
      step(seconds)
      for (let i = 0; i < 19; i++) {
        assert.equal(await publish(guid, 'k'), true, `${i}`)
        await publish(guid, `other-${i}`)
        await pass(48)
      }
      assert.equal(await publish(guid, 'k'), false)
      for (let i = 0; i < 45; i++) {
        await pass(50)
        await publish(guid, `later-${i}`)
      }
      const left = await act(() => redis.client.zcard(documentKeys(guid)))
      assert.ok(left < 45, `${left} keys`)
    }
  }))

test('a full list drops its oldest key, also if the clock was set back',
  inScene(async ({ part: { redis, clock, random, act }, step }) => {
    const publisher = new RedisPublish({
      redis, clock, historyOf: () => ({ size: 100, ttl: 60 }), idempotency: { ttl: 900, keys: 5 }, random
    })
    /** @type {RedisPublish['publish']} */
    const publish = (entries) => publisher.publish(entries)
    const isKnown = (/** @type {string} */ key) => act(async () => (await publish([keyed('d', key)]))[0].duplicate)
    for (let i = 0; i < 5; i++) await isKnown(`before-${i}`)
    step(-60)
    for (let i = 0; i < 3; i++) await isKnown(`after-${i}`)
    const again = []
    for (const name of ['after-0', 'after-1', 'after-2', 'before-3', 'before-4']) again.push(await isKnown(name))
    assert.deepEqual(again, [true, true, true, true, true])
  }))

// Redis itself forgets the answers of requests after 15 minutes of its clock
for (const seconds of STEPS.filter((seconds) => seconds < 900)) {
  test(`a request in progress stays so after a step of ${seconds} s, and one whose process died can be retried`, () =>
    inCluster({ machines: 0 }, async (cluster) => {
      const [alive, dead, other] = [
        await startPart(cluster, 'alive'), await startPart(cluster, 'dead'), await startPart(cluster, 'other')
      ].map(({ redis, clock, random, act, process }) => {
        const requests = createRedisRequests({ redis, clock, random })
        return {
          process,
          begin: (/** @type {string} */ id, /** @type {string} */ trace) =>
            act(async () => (await requests.begin(id, 'f', trace)).state)
        }
      })
      assert.equal(await alive.begin('alive', 't1'), 'new')
      assert.equal(await dead.begin('dead', 't1'), 'new')
      dead.process.end(null)
      cluster.redis.servers[0].setClock(seconds * 1000)
      let states = ''
      for (let second = 0; second < 8 && !states.endsWith('new'); second++) {
        assert.equal(await other.begin('alive', 't2'), 'busy')
        states += ` ${await other.begin('dead', 't2')}`
        await cluster.pass(1000)
      }
      assert.match(states, /new$/)
    }))
}
