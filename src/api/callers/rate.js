import { InkcastError } from '../../common/errors.js'

/** @typedef {{ perSecond: number, burst: number }} RateSettings publications */

/** The rate of one caller in this process: a bucket of `burst` publications, refilled all the time. */
export class Rate {
  #left
  #at

  /** @param {RateSettings} settings @param {number} now ms, monotonic */
  constructor (settings, now) {
    this.settings = settings
    this.#left = settings.burst
    this.#at = now
  }

  /**
   * Other settings from now on. Calls that were counted stay counted: a reload gives no second burst.
   * @param {RateSettings} settings
   * @param {number} now
   */
  change (settings, now) {
    this.#refill(now)
    this.settings = settings
    this.#left = Math.min(this.#left, settings.burst)
  }

  /**
   * @param {string} name the caller's, for the message
   * @param {number} now ms, monotonic
   * @param {string} [what] operation or operator that this is the rate of; default: publications
   * @throws {InkcastError} rate_limited, with the time until the next one is admitted
   */
  take (name, now, what) {
    this.#refill(now)
    if (this.#left < 1) {
      const { perSecond } = this.settings
      throw new InkcastError('rate_limited', `the caller ${name} ${what === undefined ? 'publishes' : `calls ${what}`} more than ${perSecond} per second`, {
        retryInMs: Math.ceil((1 - this.#left) / perSecond * 1000)
      })
    }
    this.#left--
  }

  /**
   * Counts work that was done without being admitted. The debt is at most one more burst, so that it ends.
   * @param {number} count
   * @param {number} now ms, monotonic
   */
  charge (count, now) {
    this.#refill(now)
    this.#left = Math.max(-this.settings.burst, this.#left - count)
  }

  /** @param {number} now ms, monotonic @returns {number} ms until the debt is paid; 0: there is none */
  owes (now) {
    this.#refill(now)
    return Math.max(0, Math.ceil(-this.#left / this.settings.perSecond * 1000))
  }

  /** @param {number} now */
  #refill (now) {
    const { perSecond, burst } = this.settings
    this.#left = Math.min(burst, this.#left + (now - this.#at) / 1000 * perSecond)
    this.#at = now
  }
}
