import { InkcastError, publicError } from '../common/errors.js'

/**
 * What one client may send, as token buckets that are refilled together: a few numbers and no timer, because
 * every connection has one of these.
 *
 * Events beyond their rate are refused one by one, before they are decoded. Packets are counted before that, so that a
 * client that goes on regardless is cut off before it costs more. What decoding took counts too, because bytes do not
 * tell.
 */

/**
 * In the place of an event's name where an event was refused before it was decoded; the arguments are the answer and
 * the name.
 */
export const kRefused = Symbol('refused')
/** @param {InkcastError} error */
export const refusal = (error) => Object.freeze({ ok: /** @type {const} */ (false), error: publicError(error) })
export const RATE_LIMITED = refusal(new InkcastError('rate_limited'))
export const TOO_DEEP = refusal(new InkcastError('bad_value', 'the value is nested too deep'))

/**
 * In the place of what a client says of itself in its CONNECT packet, where that was not decoded because there are too
 * many values in it.
 */
export const TOO_MANY_VALUES = Object.freeze({})

/** An event and its ten attachments, which is as many as the decoder allows. */
const PACKETS_PER_EVENT = 11
/** Packets that may come at once, and bytes that may come on top of their burst, in seconds of their rates. */
const PATIENCE = 10
/**
 * Of each second a worker works so long for one client at most, ms; twice that at once, and what one more event takes.
 */
const WORK = 250
/** Decoding is what is measured; checking, transcoding and delivering what was decoded take twice as long again. */
const WORK_PER_DECODING = 3

/**
 * @typedef {object} Rates what is the same for all connections
 * @property {number} events per second; twice that at once
 * @property {number} bytes per second
 * @property {number} byteBurst bytes at once
 * @property {number} byteDebt bytes beyond that
 * @property {number} packets per second
 * @property {number} packetBurst packets at once
 */

/**
 * @param {Pick<import('../config/load.js').Config['limits'], 'maxEventsPerSecond' | 'maxBytesPerSecond' |
 *   'maxRecordBytes'>} limits
 * @returns {Rates}
 */
export function ratesOf ({ maxEventsPerSecond, maxBytesPerSecond, maxRecordBytes }) {
  const packets = PACKETS_PER_EVENT * maxEventsPerSecond
  return {
    events: maxEventsPerSecond,
    bytes: maxBytesPerSecond,
    byteBurst: maxBytesPerSecond + maxRecordBytes,
    byteDebt: PATIENCE * maxBytesPerSecond,
    packets,
    packetBurst: PATIENCE * packets
  }
}

export class RateLimit {
  #rates
  #at
  #events
  #bytes
  #packets
  #work = 2 * WORK

  /** @param {Rates} rates @param {number} now ms */
  constructor (rates, now) {
    this.#rates = rates
    this.#at = now
    this.#events = 2 * rates.events
    this.#bytes = rates.byteBurst
    this.#packets = rates.packetBurst
  }

  /**
   * Counts a packet that has arrived. Its bytes are taken even if there are not enough: events wait until the debt is
   * paid.
   * @param {number} bytes
   * @param {number} now ms
   * @param {number} [count] several: frames that are no packets, such as pings and fragments, come many at a time
   * @returns {boolean} false: more than any client has a reason for
   */
  packet (bytes, now, count = 1) {
    this.#refill(now)
    this.#bytes -= bytes
    this.#packets -= count
    return this.#packets >= 0 && this.#bytes >= -this.#rates.byteDebt
  }

  /** The packet that was counted last does not count. */
  refundPacket () { this.#packets++ }

  /**
   * Counts what a client costs that its bytes do not tell: a megabyte of empty lists takes a hundred times as long as
   * one string.
   * @param {number} ms of CPU that decoding took
   */
  decoded (ms) { this.#work -= WORK_PER_DECODING * ms }

  /**
   * Counts an answer that is larger than the question. Answers never make a client one that floods: half of the debt is
   * left for what it sends.
   * @param {number} bytes
   */
  answered (bytes) { this.#bytes = Math.max(this.#bytes - bytes, Math.min(this.#bytes, -this.#rates.byteDebt / 2)) }

  /** @param {number} now ms @returns {boolean} whether its packets are not even to be decoded */
  overworked (now) {
    this.#refill(now)
    return this.#work < 0
  }

  /** @param {number} now ms @returns {boolean} whether one more event may be handled; false: nothing was taken */
  event (now) {
    this.#refill(now)
    if (this.#events < 1 || this.#bytes < 0 || this.#work < 0) return false
    this.#events--
    return true
  }

  /** @param {number} now */
  #refill (now) {
    // a clock set back must not empty the buckets
    const seconds = Math.max(0, now - this.#at) / 1000
    this.#at = now
    if (seconds === 0) return
    const { events, bytes, byteBurst, packets, packetBurst } = this.#rates
    this.#events = Math.min(2 * events, this.#events + seconds * events)
    this.#bytes = Math.min(byteBurst, this.#bytes + seconds * bytes)
    this.#packets = Math.min(packetBurst, this.#packets + seconds * packets)
    this.#work = Math.min(2 * WORK, this.#work + seconds * WORK)
  }
}
