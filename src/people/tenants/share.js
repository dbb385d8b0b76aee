/**
 * The part of a tenant's rate that one process may use: tokens that Redis has given it, by its demand. A process may
 * borrow a little before Redis has answered, and pays it back from its next tokens.
 */

/** Of the tokens of one second, shared by all processes: what they keep without demand, and what they may borrow. */
const RESERVE = 0.2
const CREDIT = 0.1
/** A report brings tokens for the demand of this time, s: until the next one, and the time of its answer. */
const AHEAD = 0.5

export class Share {
  /** Tokens; negative: borrowed. */
  #stock = 0
  /** Asked for since the last report. */
  #asked = 0
  /** Per second. */
  #demand = 0
  /** Of the demand of all processes. */
  #part = 0
  #processes = 1
  #wanted = 0
  /** All processes together want more than there is. */
  #contended = false

  /** @param {number} limit per second, of all processes */
  constructor (limit) { this.limit = limit }

  /** @returns {boolean} whether there is one more; false: it is over the budget */
  take () {
    this.#asked++
    if (this.#stock < 1 - this.#of(CREDIT)) return false
    this.#stock--
    return true
  }

  /** Whether there is none at present, and nothing is counted. */
  get exhausted () { return this.#stock < 1 - this.#of(CREDIT) }

  /** Whether Redis should hear of it before the next report is due: the last one brought all that was wanted. */
  get isShort () { return this.#asked > 0 && this.#stock < 1 && !this.#contended }

  /** Whether it is used. */
  get isBusy () { return this.#asked > 0 || this.#demand > 0 }

  /** Whether there is anything to report. */
  get isActive () { return this.isBusy || Math.abs(this.#stock) >= 1 }

  /** @param {number} part of one second's tokens */
  #of (part) { return Math.max(1, part * this.limit / this.#processes) }

  /**
   * @param {number} seconds since the last report
   * @param {boolean} stays whether the tenant has connections here, or publishes
   * @returns {{ demand: number, want: number }} want: tokens; negative: given back
   */
  report (seconds, stays) {
    const measured = this.#asked / Math.max(seconds, 0.05)
    this.#demand = (this.#demand + measured) / 2
    if (this.#asked === 0 && this.#demand < 0.1) this.#demand = 0
    this.#asked = 0
    const idle = this.#demand === 0 && !stays
    const target = idle ? 0 : Math.max(this.#of(RESERVE), this.#demand * AHEAD)
    this.#wanted = Math.min(target, this.limit) - this.#stock
    return { demand: this.#demand, want: this.#wanted }
  }

  /** @param {number} given @param {number} total demand of all processes @param {number} processes */
  answered (given, total, processes) {
    this.#stock += given
    this.#contended = given < this.#wanted - 1
    this.#part = total > 0 ? Math.min(1, this.#demand / total) : 0
    this.#processes = Math.max(1, processes)
  }

  /** Redis did not answer: its part of before goes on. @param {number} seconds */
  alone (seconds) { this.#stock = Math.min(this.limit, this.#stock + this.limit * this.#part * seconds) }
}
