/** A smaller difference is drift, or the rest of a round trip, ms. */
const STEP = 1000

/**
 * The wall clock of Redis as this process knows it: continued by the monotonic clock since the last answer. Times of
 * orders and bans are times of Redis, so they are compared with this clock and never with the process's own wall clock.
 * A difference between two answers that the monotonic clock does not explain is a step of the wall clock.
 */
export class RedisTime {
  /**
   * Redis' time minus monotonic time lies between these, ms; undefined: no answer yet.
   * @type {[number, number] | undefined}
   */
  #between
  /** The largest lower end so far: `latest` never goes back. */
  #latest = -Infinity

  /** @param {Pick<import('../base/common/clock.js').Clock, 'monotonic'>} clock */
  constructor (clock) { this.clock = clock }

  /**
   * Notes an answer of TIME.
   * @param {number} asked monotonic ms before the command was sent
   * @param {number} time ms since 1970
   * @returns {number} ms by which the clock of Redis was set since the answer before; 0: it was not set
   */
  note (asked, time) {
    const before = this.#between
    const [low, high] = this.#between = [time - this.clock.monotonic(), time - asked]
    this.#latest = Math.max(this.#latest, low)
    if (before === undefined) return 0
    if (low > before[1] + STEP) return low - before[1]
    return high < before[0] - STEP ? high - before[0] : 0
  }

  /**
   * @returns {number} the lowest time that Redis may have, ms since 1970: no ban or revoke ends early. 0 before the
   *   first answer: nothing has ended yet
   */
  now () { return this.#between === undefined ? 0 : this.clock.monotonic() + this.#between[0] }

  /** @returns {number} the highest time that Redis may have reached, ms since 1970; 0: unknown. Never goes back */
  latest () { return this.#latest === -Infinity ? 0 : this.clock.monotonic() + this.#latest }
}
