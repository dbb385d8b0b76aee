import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../../src/base/common/clock.js'
import { canaryOf, canaryRecord, canaryText, readCanary } from '../../../src/ingest/canary.js'
import { Watchdog } from '../../../src/ingest/watchdog.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { recordingLog } from '../../helpers/recording-log.js'

/** @typedef {{ partition: number, text: string }} Sent */

/** @param {import('node:test').TestContext} t @param {{ waits?: number }} [how] waits: s before it is started */
async function watch (t, { waits = 0 } = {}) {
  let now = 1_700_000_000_000
  let wake = () => {}
  /** @type {(text: string) => void} */
  let onEcho = () => {}
  const world = {
    partitions: [0, 1],
    kafka: true,
    redis: true,
    /** Number of unread records that the consumer could read. @type {number | undefined} */
    readable: 1,
    /** The consumer's handling of a canary. @type {(sent: Sent) => void} */
    consume: ({ text }) => watchdog.arrived(text),
    /** @type {Error[]} */
    replaced: [],
    /** @type {Sent[]} */
    sent: []
  }
  const metrics = createMetrics({ processMetrics: false })
  const watchdog = new Watchdog({
    producer: {
      stop: async () => {},
      send: async (record) => {
        if (!world.kafka) throw new Error('unavailable')
        const sent = { partition: Number(record.partition), text: String(record.headers['x-canary']) }
        world.sent.push(sent)
        setImmediate(world.consume, sent)
      }
    },
    echo: {
      id: 'me',
      start: (listener) => { onEcho = listener },
      send: async (id, text) => {
        if (world.redis && id === 'me') setImmediate(() => onEcho(text))
      },
      stop: () => {}
    },
    consumer: {
      assigned: () => world.partitions,
      replace: (error) => world.replaced.push(error),
      readable: async () => world.readable
    },
    metrics,
    log: recordingLog().log,
    clock: {
      ...systemClock,
      now: () => now,
      monotonic: () => now - 1_700_000_000_000,
      sleep: (_ms, signal) =>
        new Promise((resolve, reject) => {
          wake = () => (signal?.aborted ? reject(signal.reason) : resolve())
        })
    }
  })
  now += waits * 1000
  watchdog.start()
  t.after(() => {
    const stopped = watchdog.stop()
    wake()
    return stopped
  })
  /** @param {number} seconds */
  const pass = async (seconds) => {
    for (let end = now + seconds * 1000; now < end; now += 5000) {
      for (let i = 0; i < 6; i++) await turn()
      wake()
      for (let i = 0; i < 6; i++) await turn()
    }
  }
  const ages = async () =>
    Object.fromEntries(
      (await metrics.canary_age_seconds.get()).values.map(({ labels, value }) => [labels.partition, value])
    )
  return { world, watchdog, pass, ages, now: () => now }
}

test('each assigned partition gets a canary per cycle, and there is no problem while they return', async (t) => {
  const { world, watchdog, pass, ages } = await watch(t)
  await pass(60)
  assert.ok(world.sent.length >= 24 && world.sent.length <= 28, String(world.sent.length))
  assert.deepEqual([watchdog.problem(), world.replaced, await ages()], [undefined, [], { 0: 0, 1: 0 }])
})

test('a start that waits for Redis is no silence of it', async (t) => {
  const { watchdog } = await watch(t, { waits: 60 })
  assert.equal(watchdog.problem(), undefined)
})

test('when canaries of a partition do not return, ingest is not ready and the consumer is replaced, at growing intervals', async (t) => {
  const { world, watchdog, pass, ages } = await watch(t)
  await pass(20)
  world.consume = ({ partition, text }) => {
    if (partition === 0) watchdog.arrived(text)
  }
  await pass(15)
  assert.equal(watchdog.problem(), undefined)
  await pass(15)
  assert.equal(watchdog.problem(), 'no record comes through partition 1 of the downlink topic')
  assert.match(String(world.replaced[0]), /wedged: no record comes through partition 1/)
  assert.ok((await ages())[1] >= 5)
  const times = [world.replaced.length]
  for (const seconds of [60, 600, 1800]) {
    await pass(seconds)
    times.push(world.replaced.length)
  }
  assert.deepEqual(times, [1, 2, 5, 8])
  world.consume = ({ text }) => watchdog.arrived(text)
  await pass(10)
  assert.equal(watchdog.problem(), undefined)
})

test('a partition that was wedged, and is assigned to another process now, is no problem of this one', async (t) => {
  const { world, watchdog, pass } = await watch(t)
  world.consume = ({ partition, text }) => {
    if (partition === 0) watchdog.arrived(text)
  }
  await pass(30)
  assert.match(String(watchdog.problem()), /partition 1/)
  world.partitions = [0]
  await pass(10)
  assert.equal(watchdog.problem(), undefined)
})

test('an open transaction holds back a partition: the consumer is not wedged while it has all readable records', async (t) => {
  const { world, watchdog, pass } = await watch(t)
  await pass(20)
  world.consume = ({ partition, text }) => {
    if (partition === 0) watchdog.arrived(text)
  }
  world.readable = 0
  await pass(120)
  assert.deepEqual([watchdog.problem(), world.replaced], [undefined, []])
  // the transaction has ended, but the consumer still returns no record
  world.readable = 5
  await pass(30)
  assert.equal(world.replaced.length, 1)
})

test('while Kafka or Redis is unavailable, and soon after, no consumer is replaced', async (t) => {
  const { world, watchdog, pass, ages } = await watch(t)
  await pass(20)
  const { consume } = world
  for (const service of /** @type {const} */ (['kafka', 'redis'])) {
    world.consume = () => {} // canaries that Kafka accepted just before it became unavailable
    await pass(5)
    world[service] = false
    await pass(120)
    assert.match(
      String(watchdog.problem()),
      service === 'redis' ? /Redis has not delivered published messages for 1\d\d s/ : /undefined/
    )
    // the age of the first canary that is not back
    assert.deepEqual(await ages(), { 0: 120, 1: 120 }, service)
    world[service] = true
    await pass(10)
    world.consume = consume
    await pass(20)
    assert.deepEqual([world.replaced, watchdog.problem(), await ages()], [[], undefined, { 0: 0, 1: 0 }], service)
  }
})

test('a slow partition is not wedged', async (t) => {
  const { world, watchdog, pass } = await watch(t)
  await pass(10)
  world.consume = ({ partition }) => watchdog.progress(partition)
  await pass(300)
  assert.deepEqual([world.replaced, watchdog.problem()], [[], undefined])
})

test('a reassigned partition is forgotten, and its canaries return to their sender', async (t) => {
  const { world, watchdog, pass, ages } = await watch(t)
  await pass(10)
  world.consume = () => {}
  await pass(10)
  world.partitions = []
  await pass(60)
  assert.deepEqual([world.replaced, watchdog.problem(), await ages()], [[], undefined, {}])
  watchdog.arrived('somebody-else 1 1700000000000')
  watchdog.arrived('not a canary')
})

test('a canary names its sender, and no other record counts as one', () => {
  const canary = { echo: 'aB-_9', partition: 12, sentAt: 1_700_000_000_000 }
  const { headers } = canaryRecord(canary)
  const message = /** @type {any} */ ({
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Buffer.from(String(value))]))
  })
  assert.equal(canaryOf(message), canaryText(canary))
  assert.deepEqual(readCanary(canaryText(canary)), canary)
  assert.equal(canaryOf(/** @type {any} */ ({ headers: { 'x-operator': 'broadcast', 'x-canary': 'x' } })), undefined)
  assert.equal(canaryOf(/** @type {any} */ ({ headers: { 'x-operator': 'canary' } })), '')
  for (const text of ['', 'me 1', 'me 1 2 3', '{w:1} 1 2', `${'x'.repeat(41)} 1 2`])
    assert.equal(readCanary(text), undefined)
})
