import { METRICS } from './table/metrics-table.js'

/**
 * Former names of metrics: those in seconds were in ms, and those of Node and of the process had the prefix `inkcast_`.
 * Until 0.2 `/metrics` serves them too, derived from the new ones when it is read, so they cost nothing where values
 * are counted.
 *
 * @typedef {import('prom-client').MetricObjectWithValues<import('prom-client').MetricValue<string>>} Merged
 */

const PREFIX = 'inkcast_'
/** @type {Map<string, string>} */
const FORMER = new Map(
  Object.entries(/** @type {Record<string, import('./table/metric-entry.js').MetricEntry>} */ (METRICS))
    .flatMap(([name, { formerly }]) => formerly === undefined ? [] : [[PREFIX + name, PREFIX + formerly]])
)

/**
 * Adds the former names to merged metrics.
 * @param {import('prom-client').Registry<any>} registry
 */
export function addFormerNames (registry) {
  for (const metric of registry.getMetricsAsArray()) {
    const { name } = metric
    const inMs = FORMER.get(name)
    const former = inMs ?? (/^(?:process|nodejs)_/.test(name) ? PREFIX + name : undefined)
    // a process of the former version, during an upgrade
    if (former === undefined || registry.getSingleMetric(former) !== undefined) continue
    const help = `Deprecated, see ${name}.`
    registry.registerMetric(/** @type {any} */ ({
      name: former,
      async get () {
        const merged = /** @type {Merged} */ (/** @type {unknown} */ (await (/** @type {any} */ (metric)).get()))
        const values = merged.values.map((value) => rename(value, name, former, inMs === undefined ? 1 : 1000))
        return { ...merged, name: former, help, values }
      }
    }))
  }
}

/**
 * @param {any} one a value of a merged metric
 * @param {string} name
 * @param {string} former
 * @param {number} factor
 */
function rename (one, name, former, factor) {
  const { metricName = name, labels, value } = one
  const isCount = metricName.endsWith('_bucket') || metricName.endsWith('_count')
  return {
    ...one,
    metricName: former + metricName.slice(name.length),
    labels: factor === 1 || labels.le === undefined || labels.le === '+Inf'
      ? labels
      : { ...labels, le: inMs(Number(labels.le)) },
    value: isCount ? value : factor === 1 ? value : inMs(value)
  }
}

/** @param {number} seconds @returns {number} ms, without the digits that the multiplication makes up: 0.256 is 256 */
const inMs = (seconds) => Number((seconds * 1000).toPrecision(12))
