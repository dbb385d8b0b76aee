/** The observations of a histogram with one set of labels. */
class Tally {
  sum = 0

  /** @param {readonly number[]} bounds @param {Record<string, string | number>} labels */
  constructor (bounds, labels) {
    this.bounds = bounds
    this.labels = labels
    /** Counts by bucket; values above all bounds are in the last one. */
    this.counts = new Float64Array(bounds.length + 1)
  }

  /** @param {number} value */
  observe (value) {
    if (!Number.isFinite(value)) return
    let i = 0
    while (value > this.bounds[i]) i++
    this.counts[i]++
    this.sum += value
  }
}

/**
 * A histogram for hot paths, with the same output as prom-client's, whose Registry calls only `get` of a metric.
 * prom-client's own checks the labels and looks up their text with each value, 5 % of a worker's cost of a record.
 */
export class TalliedHistogram {
  type = 'histogram'
  /** Tallies by the text of the labels. @type {Map<string, Tally>} */
  #tallies = new Map()
  #labelNames
  #bounds
  /** The only tally of a histogram without labels. @type {Tally | undefined} */
  #only

  /**
   * @param {object} configuration as prom-client's
   * @param {string} configuration.name
   * @param {string} configuration.help
   * @param {readonly number[]} configuration.buckets upper bounds, ascending
   * @param {readonly string[]} [configuration.labelNames]
   * @param {string} [configuration.aggregator]
   * @param {readonly import('prom-client').Registry[]} configuration.registers
   */
  constructor ({ name, help, buckets, labelNames = [], aggregator = 'sum', registers }) {
    this.name = name
    this.help = help
    this.aggregator = aggregator
    this.#bounds = buckets
    this.#labelNames = labelNames
    this.#only = labelNames.length === 0 ? this.labels() : undefined
    for (const registry of registers) registry.registerMetric(/** @type {any} */ (this))
  }

  /**
   * @param {any[]} args the labels, or their values
   * @returns {Tally} the same one for the same labels
   */
  labels (...args) {
    const [given] = args
    const isObject = typeof given === 'object'
    const labels = Object.fromEntries(this.#labelNames.map((name, i) => [name, isObject ? given[name] : args[i]]))
    const key = JSON.stringify(labels)
    let tally = this.#tallies.get(key)
    if (tally === undefined) this.#tallies.set(key, tally = new Tally(this.#bounds, labels))
    return tally
  }

  /** Only for a histogram without labels. @param {number} value */
  observe (value) { this.#only?.observe(value) }

  /** @returns {Promise<import('prom-client').MetricObjectWithValues<any>>} */
  async get () {
    const { name, help, type, aggregator } = this
    const seen = [...this.#tallies.values()].filter(({ counts }) =>
      this.#labelNames.length === 0 || counts.some((count) => count > 0)
    )
    return /** @type {any} */ ({ name, help, type, values: seen.flatMap((tally) => this.#valuesOf(tally)), aggregator })
  }

  /** @param {Tally} tally @returns {object[]} as prom-client's */
  #valuesOf ({ labels, counts, sum }) {
    let count = 0
    const buckets = [...this.#bounds, '+Inf'].map((le, i) => ({
      value: count += counts[i],
      metricName: `${this.name}_bucket`,
      labels: { le, ...labels }
    }))
    return [
      ...buckets,
      { value: sum, metricName: `${this.name}_sum`, labels: { ...labels } },
      { value: count, metricName: `${this.name}_count`, labels: { ...labels } }
    ]
  }
}
