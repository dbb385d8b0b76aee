import { refilled, secondsSince, TokenBucket } from '../../base/common/token-bucket.js'

/**
 * The budget of one user on a worker, for all connections together: bytes, CPU time and events. Without it a user with
 * many connections would have the sum of their limits. Numbers without a timer, because every user of a worker has
 * them.
 */

/**
 * Connections of a user that may send events at their full rate. The CPU time of small events is not measured; most of
 * it is delivery to the members of the document.
 */
const FULL_RATES = 5

/**
 * CPU time per second for one user, ms; the burst is twice that, plus one event.
 */
const WORK = 250
/**
 * Documents in which one user may begin to send messages: each leaves keys in Redis for up to 30 days
 * (docs/internals/redis-keys.md).
 */
const DOCUMENTS = Object.freeze({ perSecond: 0.1, burst: 1000 })
/** Only decoding is measured; checking, transcoding and delivery take about twice as long again. */
const WORK_PER_DECODING = 3

/**
 * @typedef {object} Rates the same for all connections
 * @property {number} events per second; the burst is twice that
 * @property {number} bytes per second
 * @property {number} byteBurst burst of bytes
 * @property {number} byteDebt bytes above the burst
 * @property {number} packets per second
 * @property {number} packetBurst burst of packets
 */

export class UserBudget {
  #at
  #bytes
  #work = 2 * WORK
  #events
  /** Most users send in few documents, or none. @type {TokenBucket | undefined} */
  #documents

  /** @param {Rates} rates @param {number} now ms */
  constructor (rates, now) {
    this.#at = now
    this.#bytes = rates.byteBurst
    this.#events = 2 * FULL_RATES * rates.events
  }

  /** @param {Rates} rates @param {number} now ms */
  refill (rates, now) {
    const seconds = secondsSince(this.#at, now)
    this.#at = now
    if (seconds === 0) return
    this.#bytes = refilled(this.#bytes, seconds, rates.bytes, rates.byteBurst)
    this.#work = refilled(this.#work, seconds, WORK, 2 * WORK)
    const events = FULL_RATES * rates.events
    this.#events = refilled(this.#events, seconds, events, 2 * events)
  }

  /**
   * Counts received bytes. They may exceed the budget: events are refused until the debt is paid.
   * @param {Rates} rates
   * @param {number} bytes
   * @returns {boolean} false: the user floods
   */
  received (rates, bytes) {
    this.#bytes -= bytes
    return this.#bytes >= -rates.byteDebt
  }

  /**
   * Counts a response that is larger than its request. Responses alone never exceed the limit: half of the debt stays
   * reserved for received bytes.
   * @param {Rates} rates
   * @param {number} bytes
   */
  answered (rates, bytes) {
    this.#bytes = Math.max(this.#bytes - bytes, Math.min(this.#bytes, -rates.byteDebt / 2))
  }

  /**
   * Counts CPU time, which bytes do not show: a megabyte of empty lists takes a hundred times as long as one string.
   * @param {number} ms of CPU that decoding took
   */
  decoded (ms) { this.#work -= WORK_PER_DECODING * ms }

  /** Whether packets must not be decoded. */
  get overworked () { return this.#work < 0 }

  /** @returns {boolean} whether one more event may be handled; false: nothing was counted */
  event () {
    if (this.#events < 1 || this.#bytes < 0 || this.#work < 0) return false
    this.#events--
    return true
  }

  /**
   * Counts a document in which a connection of the user sends its first message.
   * @param {number} now ms
   * @throws {import('../../base/common/errors.js').InkcastError} rate_limited
   */
  beginsSending (now) {
    this.#documents ??= new TokenBucket(DOCUMENTS, now)
    this.#documents.mustTake(now, () => 'messages to too many documents')
  }

  /**
   * @param {Rates} rates
   * @param {number} now ms
   * @returns {boolean} whether it is not full: nothing of it may be given twice, over one connection after the other
   */
  used (rates, now) {
    return this.#bytes < rates.byteBurst || this.#work < 2 * WORK || this.#events < 2 * FULL_RATES * rates.events ||
      (this.#documents !== undefined && this.#documents.refill(now) < DOCUMENTS.burst)
  }
}
