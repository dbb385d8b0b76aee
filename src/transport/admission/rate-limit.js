import { InkcastError, publicError } from '../../base/common/errors.js'
import { refilled, secondsSince } from '../../base/common/token-bucket.js'

/**
 * The rate limit of one client: token buckets that are refilled together. A few numbers and no timer, because every
 * connection has one. Bytes and CPU time are those of the user (user-budget.js).
 *
 * Events above their rate are refused one by one, before they are decoded. Packets are counted before that, so that a
 * client that continues anyway is disconnected before it costs more. The CPU time of decoding counts too, because bytes
 * alone do not show it.
 */

/**
 * Replaces the name of an event that was refused before it was decoded; its arguments are the response and the name.
 */
export const kRefused = Symbol('refused')
/** @param {InkcastError} error */
export const refusal = (error) => Object.freeze({ ok: /** @type {const} */ (false), error: publicError(error) })
export const RATE_LIMITED = refusal(new InkcastError('rate_limited'))

/**
 * Replaces the `auth` object of a CONNECT packet that was not decoded because it holds too many values.
 */
export const TOO_MANY_VALUES = Object.freeze({})
/** Replaces the `auth` object of a CONNECT packet that cannot be decoded. */
export const UNREADABLE = Object.freeze({})

/** An event and its ten attachments, the decoder's limit. */
const PACKETS_PER_EVENT = 11
/** Burst of packets, and bytes above their burst, in seconds of their rates. */
const PATIENCE = 10
/**
 * @typedef {import('./user-budget.js').Rates} Rates
 */

/**
 * @param {Pick<import('../../config/load.js').Config['limits'], 'maxBytesPerSecond' | 'maxRecordBytes'> & {
 *   eventRates: { all: number } }} limits
 * @returns {Rates}
 */
export function ratesOf ({ eventRates: { all: events }, maxBytesPerSecond, maxRecordBytes }) {
  const packets = PACKETS_PER_EVENT * events
  return {
    events,
    bytes: maxBytesPerSecond,
    byteBurst: maxBytesPerSecond + maxRecordBytes,
    byteDebt: PATIENCE * maxBytesPerSecond,
    packets,
    packetBurst: PATIENCE * packets
  }
}

export class RateLimit {
  #rates
  #budget
  #at
  #events
  #packets

  /** @param {Rates} rates @param {import('./user-budget.js').UserBudget} budget of its user @param {number} now ms */
  constructor (rates, budget, now) {
    this.#rates = rates
    this.#budget = budget
    this.#at = now
    this.#events = 2 * rates.events
    this.#packets = rates.packetBurst
  }

  /**
   * Counts a received packet. Its bytes may exceed the budget: events are refused until the debt is paid.
   * @param {number} bytes
   * @param {number} now ms
   * @param {number} [count] of frames that are not packets, such as pings and fragments, which are counted together
   * @returns {boolean} false: the client floods
   */
  packet (bytes, now, count = 1) {
    this.#refill(now)
    this.#packets -= count
    return this.#budget.received(this.#rates, bytes) && this.#packets >= 0
  }

  /** Takes back the packet that was counted last. */
  refundPacket () { this.#packets++ }

  /** @param {number} ms of CPU that decoding took */
  decoded (ms) { this.#budget.decoded(ms) }

  /** @param {number} bytes of a response */
  answered (bytes) { this.#budget.answered(this.#rates, bytes) }

  /** @param {number} now ms @throws {InkcastError} rate_limited, if its user sends in too many documents */
  beginsSending (now) { this.#budget.beginsSending(now) }

  /** @param {number} now ms @returns {boolean} whether its packets must not be decoded */
  overworked (now) {
    this.#refill(now)
    return this.#budget.overworked
  }

  /** @param {number} now ms @returns {boolean} whether one more event may be handled; false: nothing was counted */
  event (now) {
    this.#refill(now)
    if (this.#events < 1 || !this.#budget.event()) return false
    this.#events--
    return true
  }

  /** @param {number} now */
  #refill (now) {
    this.#budget.refill(this.#rates, now)
    const seconds = secondsSince(this.#at, now)
    this.#at = now
    if (seconds === 0) return
    const { events, packets, packetBurst } = this.#rates
    this.#events = refilled(this.#events, seconds, events, 2 * events)
    this.#packets = refilled(this.#packets, seconds, packets, packetBurst)
  }
}
