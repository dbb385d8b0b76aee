/**
 * What one client may send, as three token buckets that are refilled together: a few numbers and no timer, because
 * every connection has one of these.
 *
 * Events beyond their rate are refused one by one. Packets are counted before they are decoded, so that a client that
 * goes on regardless is cut off before it costs more.
 */

/** An event and its ten attachments, which is as many as the decoder allows. */
const PACKETS_PER_EVENT = 11
/** Packets that may come at once, and bytes that may come on top of their burst, in seconds of their rates. */
const PATIENCE = 10

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
 * @param {Pick<import('../config/load.js').Config['limits'], 'maxEventsPerSecond' | 'maxBytesPerSecond' | 'maxRecordBytes'>} limits
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

export class Allowance {
  #rates
  #at
  #events
  #bytes
  #packets

  /** @param {Rates} rates @param {number} now ms */
  constructor (rates, now) {
    this.#rates = rates
    this.#at = now
    this.#events = 2 * rates.events
    this.#bytes = rates.byteBurst
    this.#packets = rates.packetBurst
  }

  /**
   * Counts a packet that has arrived. Its bytes are taken even if there are not enough: events wait until the debt is paid.
   * @param {number} bytes
   * @param {number} now ms
   * @returns {boolean} false: more than any client has a reason for
   */
  packet (bytes, now) {
    this.#refill(now)
    this.#bytes -= bytes
    return --this.#packets >= 0 && this.#bytes >= -this.#rates.byteDebt
  }

  /** The packet that was counted last does not count. */
  refundPacket () { this.#packets++ }

  /** @param {number} now ms @returns {boolean} whether one more event may be handled; false: nothing was taken */
  event (now) {
    this.#refill(now)
    if (this.#events < 1 || this.#bytes < 0) return false
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
  }
}
