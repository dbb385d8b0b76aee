import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemRandom } from '../../../src/base/common/random.js'
import { systemClock } from '../../../src/base/common/clock.js'
import { Consumer } from '../../../src/kafka/consumer.js'
import { createKafkajs } from '../../../src/kafka/kafkajs/driver.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'

const EVENTS = {
  GROUP_JOIN: 'join',
  REBALANCING: 'rebalancing',
  FETCH: 'fetch',
  CRASH: 'crash',
  END_BATCH_PROCESS: 'end'
}

/** The part of kafkajs's consumer that is used; the test plays the broker. */
class FakeConsumer extends EventEmitter {
  events = EVENTS
  disconnects = 0
  /** @type {((payload: object) => Promise<void>) | undefined} */
  eachBatch
  /** @type {object[]} */
  commits = []
  connect = async () => {}
  subscribe = async () => {}
  disconnect = async () => { this.disconnects++ }
  /** @param {{ eachBatch: (payload: object) => Promise<void> }} options */
  run = async ({ eachBatch }) => { this.eachBatch = eachBatch }
  /** @param {object[]} offsets */
  commitOffsets = async (offsets) => { this.commits.push(...offsets) }

  /** @param {number[]} partitions */
  join (partitions = [0]) {
    this.emit('join', { payload: { memberAssignment: { t: partitions }, isLeader: true } })
  }

  /** @param {object} [more] @returns kafkajs's argument of eachBatch */
  batch (more) {
    return {
      batch: { partition: 0, messages: [{ offset: '5' }, { offset: '6' }], highWatermark: '9', lastOffset: () => '7' },
      resolveOffset: () => {},
      heartbeat: async () => {},
      commitOffsetsIfNecessary: async () => {},
      isRunning: () => true,
      isStale: () => false,
      pause: () => () => {},
      ...more
    }
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<import('../../../src/kafka/batch.js').Reader> & {
 *   make?: (index: number) => FakeConsumer, clock?: import('../../../src/base/common/clock.js').Clock }} [options]
 */
function start (t, { make = () => new FakeConsumer(), clock = systemClock, ...reader } = {}) {
  /** @type {FakeConsumer[]} */
  const made = []
  const { log, lines } = recordingLog()
  /** @type {unknown[]} */
  const failures = []
  const client = /** @type {any} */ ({
    // brokers that report neither topic ids nor leader epochs
    [Symbol('private:Kafka:createCluster')]: () => ({
      connect: async () => {},
      refreshMetadata: async () => {},
      findControllerBroker: async () => ({ versions: {} }),
      disconnect: async () => {}
    }),
    consumer: () => { made.push(make(made.length)); return made.at(-1) },
    admin: () => ({ connect: () => new Promise(() => {}), disconnect: async () => {} })
  })
  const consumer = new Consumer({
    kafka: createKafkajs({ settings: /** @type {any} */ ({}), log, name: 'test', client, clock: systemClock }),
    settings: { topic: 't', groupId: 'g' },
    reader: {
      handle: async ({ messages }) => messages.length,
      onFailure: (error) => failures.push(error),
      ...reader
    },
    log,
    clock,
    random: systemRandom
  })
  t.after(() => consumer.stop())
  consumer.start()
  const running = async (index = 0) => {
    await waitFor(() => made[index]?.eachBatch, { message: () => `consumer ${index} of ${made.length}` })
    return made[index]
  }
  return { consumer, made, lines, failures, running }
}

test('it is ready when it has joined', async (t) => {
  const { consumer, running } = start(t)
  const fake = await running()
  const { silence, ...before } = consumer.status()
  assert.deepEqual(before, {
    ready: false,
    reason: 'the consumer has not joined its group yet',
    joined: false,
    partitions: [],
    restarts: 0
  })
  assert.ok(silence < 10_000, String(silence))
  fake.join([1, 3])
  fake.emit('fetch', {})
  const status = consumer.status()
  assert.deepEqual(
    { ...status, silence: 0 },
    { ready: true, reason: undefined, joined: true, partitions: [1, 3], silence: 0, restarts: 0 }
  )
  assert.ok(status.silence < 1000, String(status.silence))
})

test('the silence of Kafka grows from its last response, also over replacements that do not reach it', async (t) => {
  let now = 0
  const clock = {
    ...systemClock,
    now: () => now,
    monotonic: () => now,
    sleep: (/** @type {number} */ ms) => delay(Math.min(ms, 5))
  }
  let reachable = true
  const { consumer, made, running } = start(t, {
    clock,
    make: () => {
      const fake = new FakeConsumer()
      if (!reachable) fake.connect = () => Promise.reject(new Error('no broker'))
      return fake
    }
  })
  const fake = await running()
  now = 20_000
  assert.equal(consumer.status().silence, 20_000, 'since the start')
  fake.join()
  now += 700
  assert.equal(consumer.status().silence, 700)
  fake.emit('fetch', {})
  assert.equal(consumer.status().silence, 0)
  reachable = false
  now += 3000
  fake.emit('crash', { payload: { error: new Error('no broker') } })
  await waitFor(() => made.length > 3)
  now += 60_000
  assert.equal(consumer.status().silence, 63_000)
  reachable = true
  const at = made.length - 1
  await waitFor(() => made.slice(at).some(({ eachBatch }) => eachBatch !== undefined))
  made.at(-1)?.join()
  assert.equal(consumer.status().silence, 0)
})

test('a consumer that crashes, or cannot connect, is replaced; the failure and its end are logged once', async (t) => {
  const { consumer, made, lines, failures, running } = start(t, {
    make: (index) => {
      const fake = new FakeConsumer()
      if (index === 1 || index === 2) fake.connect = () => Promise.reject(new Error('it is over'))
      return fake
    }
  })
  const fake = await running()
  fake.join()
  fake.emit('crash', { payload: { error: new Error('it is over') } })
  await waitFor(() => !consumer.status().ready)
  assert.equal(consumer.status().reason, 'it is over')
  const second = await running(3)
  second.join()
  assert.equal(consumer.status().ready, true)
  assert.equal(consumer.status().restarts, 3)
  assert.equal(failures.length, 3)
  assert.ok(made.slice(0, 3).every(({ disconnects }) => disconnects === 1))
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
  assert.equal(lines.filter(({ text }) => text.includes('works again')).length, 1)
})

test('a consumer without a response is not ready, then replaced', async (t) => {
  const began = performance.now()
  const fast = { ...systemClock, monotonic: () => (performance.now() - began) * 40 }
  const { consumer, made, running } = start(t, { clock: fast })
  const fake = await running()
  fake.join()
  await waitFor(() => consumer.status().reason?.includes('no response from Kafka'), { message: () => consumer.status() })
  assert.equal(made.length, 1)
  await running(1)
  assert.equal(fake.disconnects, 1)
})

test('finished records are committed up to the end of the batch, the others are not', async (t) => {
  let done = 2
  const { consumer, running } = start(t, { handle: async () => done })
  const fake = await running()
  fake.join()
  /** @type {string[]} */
  const resolved = []
  await fake.eachBatch?.(fake.batch({ resolveOffset: (/** @type {string} */ offset) => resolved.push(offset) }))
  done = 1
  await fake.eachBatch?.(fake.batch({ resolveOffset: (/** @type {string} */ offset) => resolved.push(offset) }))
  done = 0
  await fake.eachBatch?.(fake.batch({ resolveOffset: (/** @type {string} */ offset) => resolved.push(offset) }))
  assert.deepEqual(resolved, ['6', '5'])
  await consumer.stop()
  assert.deepEqual(fake.commits, [{ topic: 't', partition: 0, offset: '6', metadata: '' }])
})

test('a batch is aborted when the group has removed this member, and the error reaches kafkajs', async (t) => {
  const { running } = start(t, {
    handle: (_batch, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(1)))
  })
  const fake = await running()
  fake.join()
  /** @type {object[]} */
  const committed = []
  await assert.rejects(
    /** @type {any} */ (fake.eachBatch)(
      fake.batch({
        heartbeat: () => Promise.reject(new Error('rebalance in progress')),
        commitOffsetsIfNecessary: async (/** @type {object} */ offsets) => {
          committed.push(offsets)
        }
      })
    ),
    /rebalance in progress/
  )
  assert.deepEqual(committed, [{ topics: [{ topic: 't', partitions: [{ partition: 0, offset: '6', metadata: '' }] }] }])
})

test('a batch that ends in a later generation commits nothing: its partition may belong to another member', async (t) => {
  /** @type {(() => void) | undefined} */
  let finish
  const { consumer, running } = start(t, { handle: () => new Promise((resolve) => { finish = () => resolve(2) }) })
  const fake = await running()
  fake.join()
  const batch = fake.eachBatch?.(fake.batch({ resolveOffset: () => assert.fail('resolved') }))
  const end = /** @type {() => void} */ (await waitFor(() => finish))
  fake.join([0, 1])
  end()
  await batch
  await consumer.stop()
  assert.deepEqual(fake.commits, [])
})

test('it can stop while connecting, and a later connection is closed, because it would hold partitions', async (t) => {
  let connect = () => {}
  const { consumer, made } = start(t, {
    make: () => {
      const fake = new FakeConsumer()
      fake.connect = () => new Promise((resolve) => { connect = () => resolve(undefined) })
      return fake
    }
  })
  await waitFor(() => made.length === 1)
  // would never resolve if it waited for the connection
  await consumer.stop()
  connect()
  await waitFor(() => made[0].disconnects === 2)
  assert.equal(made.length, 1)
})

test('the partition of a slow batch is paused until it is done; other fetches continue', async (t) => {
  let finish = () => {}
  const { consumer, running } = start(t, {
    handle: ({ partition }) =>
      partition === 1
        ? Promise.resolve(2)
        : new Promise((resolve) => { finish = () => resolve(2) })
  })
  const fake = await running()
  fake.join([0, 1])
  /** @type {string[]} */
  const told = []
  await fake.eachBatch?.(
    fake.batch({
      pause: () => {
        told.push('pause')
        return () => told.push('resume')
      },
      resolveOffset: (/** @type {string} */ offset) => told.push(offset)
    })
  )
  assert.deepEqual(told, ['pause'])
  await fake.eachBatch?.(
    fake.batch({
      batch: { partition: 1, messages: [{ offset: '1' }, { offset: '2' }], highWatermark: '3', lastOffset: () => '2' }
    })
  )
  finish()
  await waitFor(() => told.length === 3)
  assert.deepEqual(told, ['pause', '6', 'resume'])
  await consumer.stop()
  assert.deepEqual(fake.commits.map((commit) => Object.values(commit).join()).sort(), ['t,0,8,', 't,1,3,'])
})

test('a slow batch is aborted at a rebalance, and its finished records are committed', async (t) => {
  const { running } = start(t, {
    handle: (_batch, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(1)))
  })
  const fake = await running()
  fake.join()
  let resumed = 0
  await fake.eachBatch?.(fake.batch({ pause: () => () => { resumed++ } }))
  fake.emit('rebalancing')
  await waitFor(() => resumed === 1)
  assert.deepEqual(fake.commits, [{ topic: 't', partition: 0, offset: '6', metadata: '' }])
})

test('a slow batch whose work ends with the abort, as while it waits for Redis, does not end the consumer', async (t) => {
  const { made, failures, lines, running } = start(t, {
    handle: (_batch, signal) => new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  })
  const fake = await running()
  fake.join()
  let paused = false
  let resumed = 0
  await fake.eachBatch?.(fake.batch({
    pause: () => {
      paused = true
      return () => { resumed++ }
    },
    heartbeat: async () => { if (paused) throw new Error('the connection is closed') }
  }))
  await waitFor(() => resumed === 1)
  assert.deepEqual([failures, lines.filter(({ level }) => level === 'error'), made.length], [[], [], 1])
})
