import { InkcastError } from './errors.js'

/**
 * Token buckets: `burst` at once, then `perSecond`. Numbers without a timer, refilled when they are asked. A bucket
 * follows a monotonic clock; if that is set back, the bucket stays as it is.
 *
 * @typedef {{ readonly perSecond: number, readonly burst: number }} Rate
 */

/** @param {number} at ms @param {number} now ms @returns {number} */
export const secondsSince = (at, now) => Math.max(0, now - at) / 1000

/**
 * For connections and users, which keep their numbers themselves: an object for each bucket of each would add up.
 * @param {number} left
 * @param {number} seconds since it was refilled last
 * @param {number} perSecond
 * @param {number} burst
 * @returns {number} tokens now
 */
export const refilled = (left, seconds, perSecond, burst) => Math.min(burst, left + seconds * perSecond)

/** The rounding of times may lack a bit of a token: a caller that waits for the time of its refusal gets it. */
const ROUNDING = 1e-6

export class TokenBucket {
  #left
  #at

  /** @param {Rate} rate @param {number} now ms, monotonic */
  constructor (rate, now) {
    this.rate = rate
    this.#left = rate.burst
    this.#at = now
  }

  /** Tokens when it was refilled last; negative: a debt. */
  get left () { return this.#left }

  /** @param {number} now ms, monotonic @returns {number} tokens */
  refill (now) {
    this.#left = refilled(this.#left, secondsSince(this.#at, now), this.rate.perSecond, this.rate.burst)
    this.#at = now
    return this.#left
  }

  /** @param {number} now ms, monotonic @returns {boolean} false: there is none, and nothing was taken */
  take (now) {
    if (this.refill(now) < 1 - ROUNDING) return false
    this.#left--
    return true
  }

  /**
   * @param {number} now ms, monotonic
   * @param {() => string} message
   * @throws {InkcastError} rate_limited, with the time until the next token
   */
  mustTake (now, message) {
    if (this.take(now)) return
    throw new InkcastError('rate_limited', message(), { retryInMs: this.#wait(1) })
  }

  /**
   * Counts work that was done without being admitted. The debt is at most one more burst, so that it ends.
   * @param {number} count
   * @param {number} now ms, monotonic
   */
  charge (count, now) { this.#left = Math.max(-this.rate.burst, this.refill(now) - count) }

  /** @param {number} now ms, monotonic @returns {number} ms until the debt is paid; 0: there is none */
  owes (now) {
    this.refill(now)
    return this.#wait(0)
  }

  /**
   * Another rate from now on. Tokens that were taken stay taken: it gives no second burst.
   * @param {Rate} rate
   * @param {number} now ms, monotonic
   */
  change (rate, now) {
    this.refill(now)
    this.rate = rate
    this.#left = Math.min(this.#left, rate.burst)
  }

  /** @param {number} tokens @returns {number} ms until there are that many */
  #wait (tokens) { return Math.max(0, Math.ceil((tokens - this.#left) / this.rate.perSecond * 1000)) }
}
