import { COUNTS, GAUGES, PARTITION_METRICS, STAGE_METRIC, STAGES } from './columns.js'

/**
 * Figures read from the metrics of a machine's processes.
 *
 * @typedef {import('prom-client').MetricObjectWithValues<import('prom-client').MetricValue<string>>} MetricWithValues
 * @typedef {Record<keyof typeof GAUGES | keyof typeof COUNTS, number>} Values counts since the start of the process
 * @typedef {Map<number, number>} Buckets observations up to a bound, by bound, ms
 * @typedef {Record<keyof typeof PARTITION_METRICS, number | null> & { partition: string }} Partition
 *
 * @typedef {Values & { startedAt: number, at: number, stages: Map<string, Buckets> }} Counted startedAt: ms since 1970,
 *   0 if unknown; at: of the reading, monotonic ms
 *
 * @typedef {object} Reading
 * @property {number} at monotonic ms
 * @property {Map<string, Counted>} processes by name
 * @property {Map<string, Partition>} partitions
 * @property {Map<string, number>} listeners open connections by the name of their listener
 */

const SOURCES = /** @type {[keyof Values, import('./columns.js').Source][]} */ (
  Object.entries({ ...GAUGES, ...COUNTS })
)
/** Names in the exposition format, with the ending of counters. @param {string} name */
const named = (name) => {
  const whole = /^(?:process|nodejs)_/.test(name) ? name : `inkcast_${name}`
  return new Set([whole, `${whole}_total`])
}
const STAGE_NAMES = named(STAGE_METRIC)
const PARTITION_NAMES = Object.entries(PARTITION_METRICS).map(([key, { metric, times = 1 }]) =>
  ({ key, times, names: named(metric) }))
const CONNECTION_NAMES = named(GAUGES.connections.metric)
const START_NAMES = named('process_start_time_seconds')
/** @type {Map<string, [keyof Values, import('./columns.js').Source][]>} */
const SOURCES_OF = new Map()
for (const source of SOURCES)
  for (const name of named(source[1].metric)) SOURCES_OF.set(name, [...SOURCES_OF.get(name) ?? [], source])

/**
 * The metrics that are read here. prom-client sets the CPU time of a process when it collects the first one of these.
 */
export const READ_METRICS = [...new Set([
  'process_cpu_user_seconds_total', ...SOURCES_OF.keys(), ...STAGE_NAMES, ...START_NAMES,
  ...PARTITION_NAMES.flatMap(({ names }) => [...names])
])]

/** @returns {Values} */
export const noValues = () => /** @type {Values} */ (Object.fromEntries(SOURCES.map(([key]) => [key, 0])))

/** @param {number} at monotonic ms @returns {Counted} */
const noneCounted = (at) =>
  ({ ...noValues(), startedAt: 0, at, stages: new Map(STAGES.map((stage) => [stage, new Map()])) })

/**
 * @param {readonly import('../status.js').ProcessStatus[]} processes
 * @param {number} at monotonic ms
 * @returns {Reading}
 */
export function readingOf (processes, at) {
  /** @type {Reading} */
  const reading = {
    at,
    processes: new Map(),
    partitions: new Map(),
    listeners: new Map()
  }
  for (const { name, metrics } of processes) {
    // two processes of one slot, while one replaces the other, count as one
    const values = reading.processes.get(name) ?? noneCounted(at)
    reading.processes.set(name, values)
    for (const metric of /** @type {MetricWithValues[]} */ (metrics)) readMetric(metric, name, values, reading)
  }
  return reading
}

/**
 * @param {MetricWithValues} metric
 * @param {string} process
 * @param {Counted} values
 * @param {Reading} reading
 */
function readMetric (metric, process, values, { partitions, listeners }) {
  for (const [key, { of, merge, times = 1 }] of SOURCES_OF.get(metric.name) ?? []) {
    for (const { value, labels } of metric.values ?? []) {
      if (of !== undefined && !of(labels, process)) continue
      values[key] = merge === 'max' ? Math.max(values[key], times * value) : values[key] + times * value
    }
  }
  if (CONNECTION_NAMES.has(metric.name)) {
    for (const { value, labels: { listener } } of metric.values)
      if (listener !== undefined) listeners.set(String(listener), (listeners.get(String(listener)) ?? 0) + value)
  }
  if (START_NAMES.has(metric.name)) values.startedAt = Math.round(1000 * (metric.values[0]?.value ?? 0))
  if (STAGE_NAMES.has(metric.name)) {
    for (const { value, labels } of metric.values) {
      const { le, stage } = /** @type {Record<string, any>} */ (labels)
      const buckets = values.stages.get(stage)
      if (le === undefined || buckets === undefined) continue
      // ms
      const bound = le === '+Inf' ? Infinity : 1000 * Number(le)
      buckets.set(bound, (buckets.get(bound) ?? 0) + value)
    }
  }
  for (const { key, names, times } of PARTITION_NAMES) {
    if (!names.has(metric.name)) continue
    for (const { value, labels: { partition } } of metric.values) {
      const id = String(partition)
      const row = partitions.get(id) ?? { partition: id, lag: null, age: null, canaryAge: null, lostEnds: null }
      partitions.set(id, row)
      row[/** @type {keyof typeof PARTITION_METRICS} */ (key)] = times * value
    }
  }
}

/**
 * @param {Buckets} buckets cumulative
 * @param {number} share 0 to 1
 * @returns {number | null} interpolated; above the highest bound that bound; null without observations
 */
export function quantile (buckets, share) {
  const bounds = [...buckets.keys()].sort((a, b) => a - b)
  const counts = bounds.map((bound) => buckets.get(bound) ?? 0)
  const total = counts.at(-1) ?? 0
  if (total === 0) return null
  const rank = share * total
  const i = counts.findIndex((count) => count >= rank)
  const low = i === 0 ? 0 : bounds[i - 1]
  const below = i === 0 ? 0 : counts[i - 1]
  if (bounds[i] === Infinity) return low
  return low + (bounds[i] - low) * (rank - below) / (counts[i] - below || 1)
}
