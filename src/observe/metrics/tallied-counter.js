import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Counter } = require('prom-client')

/**
 * prom-client's counter with a cheap way to count by labels, for hot paths: `inc` sorts, checks and joins the labels
 * each time.
 */
export class TalliedCounter extends Counter {
  /**
   * Counts since the last collection, by the value of the first label, then of the second.
   * @type {Map<string, Map<string, number>>}
   */
  #counted = new Map()

  /** @param {import('prom-client').CounterConfiguration<string>} configuration */
  constructor (configuration) {
    const [one, other] = configuration.labelNames ?? []
    super({
      ...configuration,
      collect: () => {
        for (const [first, counts] of this.#counted) {
          for (const [second, count] of counts)
            this.inc(other === undefined ? { [one]: first } : { [one]: first, [other]: second }, count)
        }
        this.#counted.clear()
      }
    })
  }

  /**
   * Adds 1. Labels must have few values.
   * @param {string} first value of the first label
   * @param {string} [second] value of the second label, if the counter has two
   */
  count (first, second = '') {
    let counts = this.#counted.get(first)
    if (counts === undefined) this.#counted.set(first, counts = new Map())
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }
}
