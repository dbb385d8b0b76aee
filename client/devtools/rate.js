/** Time that a rate is averaged over, ms. */
const SPAN = 5000

/** The rate of a counter, from its values at different times. */
export class Rate {
  /** The oldest first; the first one may be older than SPAN. @type {{ at: number, value: number }[]} */
  #samples = []

  /** @param {number} at ms, of a clock that never goes back @param {number} value */
  add (at, value) {
    this.#samples.push({ at, value })
    while (this.#samples.length > 2 && this.#samples[1].at <= at - SPAN) this.#samples.shift()
  }

  /** Increments per second. */
  get perSecond () {
    const first = this.#samples[0]
    const last = this.#samples.at(-1)
    if (last === undefined || last.at === first.at) return 0
    return (last.value - first.value) * 1000 / (last.at - first.at)
  }
}
