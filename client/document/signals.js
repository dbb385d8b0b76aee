import { clock } from '../common/clock.js'

/** Time between two combined signals, ms. */
const INTERVAL = 50

/**
 * The signals of one document. They are combined, so that a listener of `mousemove` may send each of them: the first
 * one is sent at once, then every `INTERVAL` the newest of each name.
 */
export class Signals {
  #membership
  /** Data by name that waits for the timer. @type {Map<string, unknown>} */
  #waiting = new Map()
  /** @type {import('../common/clock.js').Timer | undefined} */
  #timer
  /** Whether the client may signal: unknown until the gateway has answered the first one. @type {boolean | null} */
  #allowed = null

  /** @param {Pick<import('../types.js').Shared, 'tell' | 'ask'>} membership */
  constructor (membership) { this.#membership = membership }

  /** Whether the gateway refuses signals. */
  get refused () { return this.#allowed === false }

  /** The document was joined. @param {boolean} readOnly whether the gateway has said that the client may only read */
  joined (readOnly) { this.#allowed = readOnly ? false : null }

  /**
   * @param {string} event
   * @param {unknown} data
   * @param {boolean} combine
   * @returns {boolean} whether it was sent, or will be
   */
  signal (event, data, combine) {
    if (this.refused) return false
    if (combine && this.#timer !== undefined) {
      this.#waiting.set(event, data)
    } else {
      this.#send(event, data)
      if (combine) this.#wait()
    }
    return true
  }

  /** Drops what was not sent: the connection is lost, or the document closed. */
  clear () {
    this.#timer?.stop()
    this.#timer = undefined
    this.#waiting.clear()
  }

  #wait () {
    this.#timer = clock.timer(INTERVAL, () => {
      this.#timer = undefined
      if (this.#waiting.size === 0) return
      for (const [event, data] of this.#waiting) this.#send(event, data)
      this.#waiting.clear()
      this.#wait()
    })
  }

  /** @param {string} event @param {unknown} data */
  #send (event, data) {
    // only the first one of a join needs an answer
    if (this.#allowed) return this.#membership.tell('doc:signal', { event, data })
    this.#membership.ask('doc:signal', { event, data }).then(
      () => { this.#allowed ??= true },
      ({ code }) => { if (code === 'forbidden') this.#allowed = false }
    )
  }
}
