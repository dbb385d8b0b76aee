import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faults, judge } from '../../../bench/delivery/limits.js'
import { renderPlots, summaryTables } from '../../../bench/delivery/report.js'
import { summarize } from '../../../bench/delivery/summary.js'

/** @param {number} cpuUs @param {Partial<import('../../../bench/delivery/session.js').Delivered>} [more] */
const delivered = (cpuUs, more = {}) => ({
  records: 10,
  deliveries: 1000,
  missing: 0,
  doubled: 0,
  disordered: 0,
  bytes: 600,
  perSecond: 10_000,
  cpuUs,
  systemUs: 1,
  redisUs: 0.5,
  kafkaUs: 0.5,
  latency: { p50: 1, p99: 4, max: 5 },
  lateMs: 0,
  client: { cpuUs: 1, busy: 0.1 },
  others: 0,
  roles: { gateway: cpuUs },
  processes: [],
  ...more
})

/**
 * @param {string} system
 * @param {number} cpuUs
 * @param {Partial<import('../../../bench/delivery/session.js').Delivered>} [more]
 */
const round = (system, cpuUs, more) => ({
  system,
  unconnected: 0,
  lost: {},
  burst: delivered(cpuUs, more),
  members: [100, 10_000].map((members) => ({ members, delivered: delivered(cpuUs * 2) }))
})

test('rounds are averaged, with their worst latency and the sum of their losses', () => {
  const [{ burst }] = summarize([
    round('inkcast', 4),
    round('inkcast', 6, { missing: 2, latency: { p50: 2, p99: 3, max: 9 } })
  ])
  assert.equal(burst?.cpuUs, 5)
  assert.deepEqual([burst?.p50, burst?.p99, burst?.max, burst?.missing], [2, 4, 9, 2])
})

test('a limit is judged by the ratio to the baseline', () => {
  const at = (/** @type {number} */ cpuUs) =>
    judge(summarize([round('inkcast', cpuUs), round('baseline', 20)])).map(({ measured, holds }) => [measured, holds])
  assert.deepEqual(at(2.6), [[0.13, true], [1, true]])
  assert.deepEqual(at(2.7), [[0.135, false], [1, true]])
})

test('the steady rate is judged by the libraries alone: cost as a ratio, latency in ms', () => {
  const at = (/** @type {number} */ cpuUs, /** @type {number} */ p99) => judge(summarize([
    { system: 'inkcast', unconnected: 0, lost: {}, steady: delivered(cpuUs, { latency: { p50: 1, p99, max: 9 } }) },
    { system: 'floor, libraries', unconnected: 0, lost: {}, steady: delivered(20) }
  ])).map(({ measured, limit, holds }) => [measured, limit, holds])
  assert.deepEqual(at(29, 7), [[1.45, 1.45, true], [7, 7, true]])
  assert.deepEqual(at(30, 7.1), [[1.5, 1.45, false], [7.1, 7, false]])
})

test('a single missing delivery is a fault, for every system', () => {
  assert.deepEqual(faults(summarize([round('inkcast', 4), round('baseline', 20)])), [])
  assert.deepEqual(faults(summarize([round('inkcast', 4), round('baseline', 20, { missing: 1 })])), [
    'baseline: 1 deliveries are missing'
  ])
})

test('clients of inkcast that could not connect are a fault in every phase: no delivery to them is expected', () => {
  const failed = ['inkcast', 'baseline'].map((system) => ({ ...round(system, 4), unconnected: 3 }))
  assert.deepEqual(faults(summarize(failed)), ['inkcast: 3 handshakes failed'])
})

test('the report has the ratios, and a plot for each sweep', () => {
  const summary = summarize([round('inkcast', 5), round('baseline', 20)])
  const page = summaryTables(summary, judge(summary), ['a note'], (plot) => `${plot}.svg`)
  assert.match(page, /\| inkcast +\| +5\.00 .* 0\.25 /)
  assert.match(page, /!\[Members per document\]\(members\.svg\)/)
  assert.match(page, /- a note/)
  const plots = renderPlots(summary)
  assert.deepEqual(Object.keys(plots), ['members'])
  assert.match(plots.members, /^<svg [^]*baseline[^]*<\/svg>\n$/)
  assert.doesNotMatch(plots.members, /NaN|Infinity|undefined/)
})
