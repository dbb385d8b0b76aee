import { Counter } from 'prom-client'

/**
 * prom-client's counter, and a way to count by labels that hot paths can afford: its `inc` sorts, checks and joins
 * the labels each time, and so do the children that `labels` makes.
 */
export class TalliedCounter extends Counter {
  /**
   * By the value of the first label, then of the second. What came since somebody looked last.
   * @type {Map<string, Map<string, number>>}
   */
  #counted = new Map()

  /**
   * Adds 1. There must be few values, as with all labels.
   * @param {string} first value of the first label
   * @param {string} [second] of the second, of a counter with two
   */
  count (first, second = '') {
    let counts = this.#counted.get(first)
    if (counts === undefined) this.#counted.set(first, counts = new Map())
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }

  /** @override */
  get () {
    const [one, other] = /** @type {any} */ (this).labelNames
    for (const [first, counts] of this.#counted) {
      for (const [second, count] of counts)
        this.inc(other === undefined ? { [one]: first } : { [one]: first, [other]: second }, count)
    }
    this.#counted.clear()
    return super.get()
  }
}
