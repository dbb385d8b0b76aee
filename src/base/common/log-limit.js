/** Default time between two lines about the same thing, ms. */
const INTERVAL = 60_000

/** Limits the rate of a log line, so that an outage with thousands of errors does not fill the log. */
export class LogLimit {
  #loggedAt = -Infinity
  #interval
  #clock

  /**
   * @param {object} options
   * @param {number} [options.interval] minimum time between two lines, ms; default: a minute
   * @param {Pick<import('./clock.js').Clock, 'monotonic'>} options.clock
   */
  constructor ({ interval = INTERVAL, clock }) {
    this.#interval = interval
    this.#clock = clock
  }

  /** @returns {boolean} whether a line is due; the caller then writes it */
  due () {
    const now = this.#clock.monotonic()
    if (now - this.#loggedAt < this.#interval) return false
    this.#loggedAt = now
    return true
  }

  /** Call after recovery: the next problem is logged at once. */
  reset () { this.#loggedAt = -Infinity }
}
