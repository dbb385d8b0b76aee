/** Part of the silence that a process must have used a CPU for, to say that it computes. */
const COMPUTES = 0.5

/** @typedef {import('../../base/process/usage.js').Usage} Usage */

/** How long a process that was asked has not answered, and what it did meanwhile. */
export class Silence {
  ms = 0
  /** Part of it in which the process was ready to run and had no CPU, ms. */
  #queuedMs = 0
  killed = false
  /** The log has said why it is not killed. */
  spared = false
  /** When it was asked. @type {Usage} */
  #first
  /** At the last look. @type {Usage} */
  #last

  /** @param {Usage} usage */
  constructor (usage) { this.#first = this.#last = usage }

  /** @param {number} ms since the last look that count @param {Usage} usage */
  add (ms, usage) {
    this.ms += ms
    this.#queuedMs += Math.max(0, Math.min(ms, usage.queuedMs - this.#last.queuedMs))
    this.#last = usage
  }

  get #cpuMs () { return this.#last.cpuMs - this.#first.cpuMs }

  /**
   * @param {number} enough CPU time in which it would have answered if it could, ms
   * @returns {number} ms in which it could have answered
   */
  counted (enough) { return this.#cpuMs >= enough ? this.ms : this.ms - this.#queuedMs }

  get cause () {
    const { state } = this.#last
    if (state === 'T' || state === 't') return 'it was stopped by a signal'
    if (state === 'D') return 'it waits for a disk or for swapped memory'
    // one that runs waits for nothing, also if a busy host left it little of its time
    if (state === 'R' || this.#cpuMs >= COMPUTES * (this.ms - this.#queuedMs))
      return 'it computes without a pause (an endless loop, or an extension that blocks)'
    return 'it is blocked in a system call'
  }

  /** For the log. @param {{ name: string, pid: number }} process */
  fields ({ name, pid }) {
    return {
      process: name,
      processId: pid,
      silentMs: Math.round(this.ms),
      queuedMs: Math.round(this.#queuedMs),
      cpuMs: this.#cpuMs,
      state: this.#last.state
    }
  }
}
