/**
 * Panels of Grafana dashboards, as short descriptions. Every expression is checked against the metrics of the code
 * (test/process/deploy/expressions.test.js).
 *
 * @typedef {object} Panel
 * @property {string} title
 * @property {string} about what it shows, and when to worry
 * @property {string} unit of Grafana
 * @property {[legend: string, expression: string][]} series
 * @property {'stat' | 'timeseries'} [type] default: timeseries
 * @property {number} [width] of 24; default: 8, a stat 4
 * @property {number} [alarm] value from which a stat is red
 *
 * @typedef {object} Dashboard
 * @property {string} name of its file
 * @property {string} title
 * @property {string} about
 * @property {Record<string, Panel[]>} rows by heading
 */

const CHOSEN = 'job="$job",instance=~"$instance"'
const RATE = '[$__rate_interval]'

/**
 * @param {string} name without prefix; those of Node have none
 * @param {string} [labels] further conditions
 * @returns {string} the series of the chosen machines
 */
export const of = (name, labels = '') =>
  `${/^(?:process|nodejs)_/.test(name) ? '' : 'inkcast_'}${name}{${CHOSEN}${labels === '' ? '' : `,${labels}`}}`

/** @param {string} name @param {string} [labels] @param {string} [by] labels that are kept */
export const perSecond = (name, labels = '', by = '') => `${sumBy(by)}(rate(${of(name, labels)}${RATE}))`

/** @param {string} name @param {string} [labels] @param {string} [by] */
export const total = (name, labels = '', by = '') => `${sumBy(by)}(${of(name, labels)})`

/** @param {string} name @param {string} [labels] @param {string} [by] */
export const highest = (name, labels = '', by = '') => `max${by === '' ? '' : ` by (${by})`} (${of(name, labels)})`

/** @param {string} name @param {string} labels @param {string} by */
export const lowest = (name, labels, by) => `min by (${by}) (${of(name, labels)})`

/**
 * @param {number} share as 0.99
 * @param {string} histogram
 * @param {string} [labels]
 * @param {string} [by]
 */
export const quantile = (share, histogram, labels = '', by = '') =>
  `histogram_quantile(${share}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${of(`${histogram}_bucket`, labels)}${RATE})))`

/** @param {string} by */
const sumBy = (by) => by === '' ? 'sum ' : `sum by (${by}) `

/** @param {string} title @param {string} about @param {string} unit @param {Panel['series']} series @returns {Panel} */
export const graph = (title, about, unit, series) => ({ title, about, unit, series })

/**
 * @param {string} title
 * @param {string} about
 * @param {string} unit
 * @param {string} expression
 * @param {number} [alarm]
 * @returns {Panel}
 */
export const stat = (title, about, unit, expression, alarm) =>
  ({ type: 'stat', title, about, unit, series: [['', expression]], alarm })

/** CPU, memory and event loop of the processes of one role. @param {string} role @returns {Panel[]} */
export const processPanels = (role) => [
  graph('CPU', 'Cores in use. A gateway worker has one.', 'none', [
    ['{{instance}}', perSecond('process_cpu_seconds_total', `role="${role}"`, 'instance')]
  ]),
  graph('Memory', 'Resident memory of the processes.', 'bytes', [
    ['{{instance}}', total('process_resident_memory_bytes', `role="${role}"`, 'instance')]
  ]),
  graph('Event loop delay, p99', 'Of the slowest process. Above 100 ms it is overloaded.', 's', [
    ['{{instance}}', highest('event_loop_lag_seconds', `quantile="p99",role="${role}"`, 'instance')]
  ])
]
