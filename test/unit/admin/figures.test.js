import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { COUNTS, GAUGES, PARTITION_METRICS, STAGE_METRIC, STAGES } from '../../../src/operate/admin/figures/columns.js'
import { quantile, readingOf } from '../../../src/operate/admin/figures/reading.js'
import { carriedOver, sampleBetween } from '../../../src/operate/admin/figures/sample.js'
import { createSamples } from '../../../src/operate/admin/figures/samples.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { collectGarbage } from '../../helpers/collect-garbage.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

/**
 * @param {string} name of a process
 * @param {Record<string, [number, Record<string, string>][]>} values by metric, without the prefix of inkcast's own
 * @returns {any}
 */
const processOf = (name, values) => ({
  name,
  notReady: [],
  metrics: Object.entries(values).map(([metric, list]) => ({
    name: /^process_/.test(metric) ? metric : `inkcast_${metric}`,
    values: list.map(([value, labels]) => ({ value, labels }))
  }))
})

test('every metric that the figures are read from exists, with its stages', async () => {
  const metrics = createMetrics({ role: 'gateway' })
  for (const stage of STAGES) metrics.stage_seconds.labels(stage).observe(0.001)
  const names = new Set((await metrics.collect()).map(({ name }) => name))
  const read = [
    ...Object.values({ ...GAUGES, ...COUNTS }).map(({ metric }) => metric),
    ...Object.values(PARTITION_METRICS).map(({ metric }) => metric),
    STAGE_METRIC,
    'process_start_time_seconds'
  ]
  for (const metric of read)
    assert.ok(['inkcast_', ''].some((prefix) => names.has(prefix + metric) || names.has(`${prefix}${metric}_total`)), metric)
  const { processes } = readingOf(/** @type {any} */ ([{ name: 'gateway-0', metrics: await metrics.collect() }]), 0)
  for (const stage of STAGES)
    assert.deepEqual([0.5, 1, Infinity].map((ms) => processes.get('gateway-0')?.stages.get(stage)?.get(ms)), [0, 1, 1], stage)
})

test('a sample has the counts since the one before, summed over processes, and the highest delay of an event loop', () => {
  const reading = (/** @type {number} */ at, /** @type {number} */ one, /** @type {number} */ other) => readingOf([
    processOf('gateway-0', {
      deliveries_total: [[one, { codec: 'json' }], [1, { codec: 'msgpack' }]],
      connections: [[2, { transport: 'websocket' }], [1, { transport: 'polling' }]],
      event_loop_lag_seconds: [[0.005, { quantile: 'p99' }], [0.09, { quantile: 'max' }]]
    }),
    processOf('gateway-1', {
      deliveries_total: [[other, { codec: 'json' }]],
      connections: [[4, { transport: 'websocket' }]],
      event_loop_lag_seconds: [[0.007, { quantile: 'p99' }]]
    })
  ], at)
  const { sample, processes } = sampleBetween(reading(1000, 10, 100), reading(3000, 25, 130))
  assert.equal(sample.seconds, 2)
  assert.equal(sample.values.deliveries, 45)
  assert.equal(sample.values.connections, 7)
  assert.equal(sample.values.loopP99, 7)
  assert.equal(processes.get('gateway-1')?.values.deliveries, 30)
  assert.equal(processes.get('gateway-1')?.seconds, 2)
})

test('a process that was too busy to answer keeps its figures, and its next ones are of the time since', () => {
  const busy = (/** @type {number} */ cpu, /** @type {number} */ memory) => processOf('gateway-0', {
    process_start_time_seconds: [[1, {}]], process_cpu_seconds_total: [[cpu, {}]],
    process_resident_memory_bytes: [[memory, {}]]
  })
  const first = readingOf([busy(40, 7)], 0)
  const silent = carriedOver(first, readingOf([processOf('gateway-0', {})], 5000))
  const { processes } = sampleBetween(first, silent)
  assert.deepEqual(processes.get('gateway-0')?.seconds, 0)
  assert.equal(processes.get('gateway-0')?.values.cpuSeconds, 0)
  assert.equal(processes.get('gateway-0')?.values.memory, 7)
  const next = sampleBetween(silent, carriedOver(silent, readingOf([busy(43, 8)], 10_000))).processes.get('gateway-0')
  assert.equal(next?.seconds, 10)
  assert.equal(next?.values.cpuSeconds, 3)
})

test('quantiles of a stage are those of the sample: a worker that did not answer once counts since its last answer', () => {
  const bucket = (/** @type {string} */ le, /** @type {number} */ count) =>
    /** @type {[number, Record<string, string>]} */ ([count, { le, stage: 'produced_written' }])
  const worker = (/** @type {number} */ number, /** @type {number} */ fast, slow = 0) => processOf(`gateway-${number}`, {
    process_start_time_seconds: [[1, {}]],
    stage_seconds: [bucket('0.001', fast), bucket('1', fast + slow), bucket('+Inf', fast + slow)]
  })
  const p50 = (/** @type {ReturnType<typeof sampleBetween>} */ { sample }) => sample.stages.produced_written.p50
  const first = readingOf([worker(0, 0, 900), worker(1, 40)], 0)
  const silent = carriedOver(first, readingOf([processOf('gateway-0', {}), worker(1, 50)], 5000))
  assert.equal(p50(sampleBetween(first, silent)), 0.5)
  const next = carriedOver(silent, readingOf([worker(0, 10, 900), worker(1, 60)], 10_000))
  assert.equal(p50(sampleBetween(silent, next)), 0.5)
  const restarted = readingOf([worker(0, 0, 30), worker(1, 70), worker(2, 500)], 15_000)
  assert.equal(p50(sampleBetween(next, restarted)), 334)
  assert.equal(p50(sampleBetween(undefined, restarted)), null)
})

test('a process that was restarted counts from 0, and one that is new from its first sample', () => {
  const process = (/** @type {string} */ name, /** @type {number} */ count) =>
    processOf(name, { slow_connections_total: [[count, {}]] })
  const before = readingOf([process('gateway-0', 50)], 0)
  const { sample } = sampleBetween(before, readingOf([process('gateway-0', 3), process('gateway-1', 7)], 1000))
  assert.equal(sample.values.slow, 3)
})

test('only ingest counts dead letters, and only records that it could not deliver', () => {
  const records = { records_total: /** @type {any} */ ([
    [5, { operator: 'broadcast', result: 'ok' }],
    [4, { operator: 'broadcast', result: 'duplicate' }],
    [3, { operator: 'user', result: 'passed_over' }],
    [2, { operator: 'broadcast', result: 'bad_value' }]
  ]) }
  const none = { records_total: [] }
  const before = readingOf([processOf('ingest-0', none), processOf('api-0', none)], 0)
  const { sample } = sampleBetween(before, readingOf([processOf('ingest-0', records), processOf('api-0', records)], 1000))
  assert.equal(sample.values.deadLetters, 2)
  assert.equal(sample.values.records, 10)
})

test('quantiles are interpolated, and at most the highest bound', () => {
  const buckets = new Map([[1, 0], [2, 50], [4, 100], [Infinity, 100]])
  assert.equal(quantile(buckets, 0.5), 2)
  assert.equal(quantile(buckets, 0.75), 3)
  assert.equal(quantile(new Map([[1, 0], [Infinity, 0]]), 0.5), null)
  assert.equal(quantile(new Map(), 0.5), null)
  assert.equal(quantile(new Map([[1, 0], [Infinity, 4]]), 0.99), 1)
})

test('partitions are listed with what is known of each', () => {
  const { partitions } = readingOf([
    processOf('ingest-0', { kafka_lag: [[7, { partition: '3' }]], kafka_lost_ends_total: [[1, { partition: '3' }]] }),
    processOf('ingest-1', { canary_age_seconds: [[0.012, { partition: '4' }]] })
  ], 0)
  assert.deepEqual([...partitions.values()], [
    { partition: '3', lag: 7, age: null, canaryAge: null, lostEnds: 1 },
    { partition: '4', lag: null, age: null, canaryAge: 12, lostEnds: null }
  ])
})

test('samples of the last hour are kept, at most 720, and concurrent readers share one', async () => {
  const clock = manualClock()
  let reads = 0
  const samples = createSamples({
    processes: { async read () { reads++; return { processes: [], reasons: [] } } },
    clock,
    log: recordingLog().log
  })
  await Promise.all([samples.read(0), samples.read(0)])
  assert.equal(reads, 1)
  await samples.read(0)
  assert.equal(reads, 1, 'a sample of the last 5 s is fresh')
  for (let i = 0; i < 800; i++) {
    await clock.advance(5000)
    await samples.read(clock.now())
  }
  const kept = (await samples.read(0)).samples
  assert.ok(kept.length <= 720 && kept.length >= 719, String(kept.length))
  assert.ok(clock.now() - kept[0].at <= 3_600_000)
  assert.equal((await samples.read(kept[kept.length - 2].at)).samples.length, 1)
})

test('the figures of an hour take their memory at the start: the heap does not grow while they fill', async () => {
  const clock = manualClock()
  const sources = Object.values({ ...GAUGES, ...COUNTS }).map(({ metric }) => metric)
  const gateway = () => processOf('gateway-0', Object.fromEntries(sources.map((metric) =>
    [metric, [[clock.now() / 7, { result: 'ok', quantile: 'p99' }]]])))
  const samples = createSamples({
    processes: { async read () { return { processes: [gateway()], reasons: [] } } },
    clock,
    log: recordingLog().log
  })
  const used = async (/** @type {number} */ times) => {
    for (let i = 0; i < times; i++) {
      await clock.advance(5000)
      await samples.read(clock.now())
    }
    let least = Infinity
    for (let i = 0; i < 5; i++) {
      collectGarbage()
      await turn()
      least = Math.min(least, process.memoryUsage().heapUsed)
    }
    return least
  }
  await used(100)
  const before = await used(10)
  const growth = await used(600) - before
  assert.ok(growth < 500_000, `${growth} bytes for 600 samples`)
  assert.ok((await samples.read(0)).samples.length > 700)
})
