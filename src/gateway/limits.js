/**
 * A token bucket: `rate` per second on average, `burst` at once. Two numbers per bucket and no timer, because every
 * connection has two of them.
 */
export class TokenBucket {
  #tokens
  #at

  /** @param {number} rate per second @param {number} burst @param {number} now ms */
  constructor (rate, burst, now) {
    this.rate = rate
    this.burst = burst
    this.#tokens = burst
    this.#at = now
  }

  /**
   * @param {number} amount
   * @param {number} now ms
   * @returns {boolean} false: too much; nothing was taken
   */
  take (amount, now) {
    this.#refill(now)
    if (this.#tokens < amount) return false
    this.#tokens -= amount
    return true
  }

  /**
   * Takes what has arrived already, even if there is not enough: later ones wait until the debt is paid.
   * @param {number} amount
   * @param {number} now ms
   * @returns {boolean} false: there is a debt
   */
  charge (amount, now) {
    this.#refill(now)
    this.#tokens -= amount
    return this.#tokens >= 0
  }

  /** @param {number} now */
  #refill (now) {
    // a clock set back must not empty the bucket
    const passed = Math.max(0, now - this.#at)
    this.#at = now
    this.#tokens = Math.min(this.burst, this.#tokens + passed * this.rate / 1000)
  }
}
