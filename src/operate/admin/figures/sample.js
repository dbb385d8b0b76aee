import { COUNTS, GAUGES, STAGES } from './columns.js'
import { noValues, quantile } from './reading.js'

/**
 * @typedef {import('./reading.js').Reading} Reading
 * @typedef {import('./reading.js').Values} Values
 *
 * @typedef {object} Figures of one sample
 * @property {number} seconds since the reading before it
 * @property {Values} values gauges; counts since the reading before it
 * @property {Record<string, { p50: number | null, p99: number | null }>} stages ms; null: no record meanwhile
 *
 * @typedef {object} Own figures of one process
 * @property {number} seconds since its reading before; 0: it has none, or did not answer
 * @property {Values} values as in a sample
 */

/**
 * A process that is too busy to answer keeps what it said last. Without that it would seem to be restarted: its next
 * answer would count everything since its start as done within one sample.
 * @param {Reading | undefined} before
 * @param {Reading} now
 * @returns {Reading}
 */
export function carriedOver (before, now) {
  const processes = new Map([...now.processes].map(([name, counted]) => {
    const earlier = before?.processes.get(name)
    return [name, counted.startedAt === 0 && earlier !== undefined ? earlier : counted]
  }))
  return { ...now, processes }
}

/**
 * @param {Reading | undefined} before undefined: the first one, whose counts are 0
 * @param {Reading} now
 * @returns {{ sample: Figures, processes: Map<string, Own> }}
 */
export function sampleBetween (before, now) {
  const processes = new Map([...now.processes].map(([name, { at, startedAt: _startedAt, stages: _stages, ...own }]) => {
    const earlier = before?.processes.get(name)
    for (const key of /** @type {(keyof typeof COUNTS)[]} */ (Object.keys(COUNTS))) {
      // a process that was restarted meanwhile has counted from 0, one that is new counts from now on
      own[key] = earlier === undefined ? 0 : own[key] >= earlier[key] ? own[key] - earlier[key] : own[key]
    }
    const seconds = earlier === undefined ? 0 : (at - earlier.at) / 1000
    return [name, /** @type {Own} */ ({ seconds, values: own })]
  }))
  const total = noValues()
  for (const { values: own } of processes.values()) {
    for (const key of /** @type {(keyof Values)[]} */ (Object.keys(total))) {
      const { merge = 'sum' } = /** @type {import('./columns.js').Source} */ ({ ...GAUGES, ...COUNTS }[key])
      total[key] = merge === 'max' ? Math.max(total[key], own[key]) : total[key] + own[key]
    }
  }
  const stages = Object.fromEntries(STAGES.map((stage) => {
    const buckets = observedBetween(before, now, stage)
    return [stage, { p50: quantile(buckets, 0.5), p99: quantile(buckets, 0.99) }]
  }))
  const seconds = before === undefined ? 0 : (now.at - before.at) / 1000
  return { sample: { seconds, values: total, stages }, processes }
}

/**
 * @param {Reading | undefined} before
 * @param {Reading} now
 * @param {string} stage
 * @returns {import('./reading.js').Buckets} of all processes; those of a new or restarted one count as its values do
 */
function observedBetween (before, now, stage) {
  /** @type {import('./reading.js').Buckets} */
  const sums = new Map()
  for (const [name, { stages }] of now.processes) {
    const buckets = stages.get(stage) ?? new Map()
    const earlier = before?.processes.get(name)?.stages.get(stage)
    if (earlier === undefined) continue
    const restarted = [...earlier].some(([bound, count]) => (buckets.get(bound) ?? 0) < count)
    for (const [bound, count] of buckets)
      sums.set(bound, (sums.get(bound) ?? 0) + count - (restarted ? 0 : earlier.get(bound) ?? 0))
  }
  return sums
}
