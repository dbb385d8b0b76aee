import { Histogram } from 'prom-client'

class Tally {
  sum = 0

  /** @param {readonly number[]} bounds @param {Record<string, string | number>} labels */
  constructor (bounds, labels) {
    this.bounds = bounds
    this.labels = labels
    /** Those above all bounds come last. */
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
 * prom-client's histogram for hot paths: what `labels` returns, and one without labels, count in plain numbers, which
 * are handed over when somebody looks. prom-client itself checks the labels, makes a text of them and looks that up
 * with each value, which took a twentieth of what a record costs a worker.
 */
export class TalliedHistogram extends Histogram {
  /** By the text of the labels. @type {Map<string, Tally>} */
  #tallies = new Map()

  /** @param {import('prom-client').HistogramConfiguration<string>} configuration */
  constructor (configuration) {
    super(configuration)
    if (configuration.labelNames?.length) return
    const own = this.labels()
    // an own property in prom-client as well
    Object.assign(this, { observe: (/** @type {number} */ value) => own.observe(value) })
  }

  /**
   * @override
   * @param {any[]} args as prom-client's: the labels, or their values
   * @returns {any} with `observe`; the same one for the same labels
   */
  labels (...args) {
    const labels = labelsOf(this, args)
    const key = JSON.stringify(labels)
    let tally = this.#tallies.get(key)
    if (tally === undefined) this.#tallies.set(key, (tally = new Tally(this.#inner.upperBounds, labels)))
    return tally
  }

  collect () {
    for (const { labels, counts, bounds, sum } of this.#tallies.values()) {
      const count = counts.reduce((all, each) => all + each, 0)
      if (count === 0) continue
      const held = this.#held(labels)
      held.sum += sum
      held.count += count
      bounds.forEach((bound, i) => {
        held.bucketValues[bound] += counts[i]
      })
    }
    for (const tally of this.#tallies.values()) {
      tally.counts.fill(0)
      tally.sum = 0
    }
  }

  get #inner () {
    return /** @type {{ upperBounds: readonly number[], hashMap: Record<string, Held> }} */ (
      /** @type {unknown} */ (this)
    )
  }

  /** @param {Record<string, string | number>} labels @returns {Held} */
  #held (labels) {
    const find = () =>
      Object.values(this.#inner.hashMap).find((held) =>
        Object.keys(labels).every((name) => held.labels[name] === labels[name])
      )
    const found = find()
    if (found !== undefined) return found
    this.zero(labels)
    return /** @type {Held} */ (find())
  }
}

/**
 * What prom-client keeps for one set of labels (lib/histogram.js).
 * @typedef {{ labels: Record<string, string | number>, sum: number, count: number, bucketValues: Record<number, number>
 *   }} Held
 */

/**
 * @param {object} metric
 * @param {any[]} args
 * @returns {Record<string, string | number>} in the order of the metric's label names
 */
function labelsOf (metric, args) {
  const { labelNames } = /** @type {{ labelNames: string[] }} */ (metric)
  const given = typeof args[0] === 'object' ? args[0] : Object.fromEntries(labelNames.map((name, i) => [name, args[i]]))
  return Object.fromEntries(labelNames.map((name) => [name, given[name]]))
}
