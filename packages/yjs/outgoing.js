import * as Y from 'yjs'
import { pauseAfter } from './pause.js'

/** Delay before a repetition, ms: grows from the first to the second. */
const PAUSE = { min: 250, max: 8000 }
/** Interval of records that are queued without a connection, ms. */
const OFFLINE_INTERVAL = 1000
/** Number of queued updates from which on they are merged into one. */
const MERGE_AT = 200

/**
 * Local updates on their way to the gateway: one at a time, and everything that is typed meanwhile is the next one. An
 * update whose outcome is unknown is sent again: a Yjs update may arrive twice.
 */
export class Outgoing {
  #options
  /** @type {Uint8Array[]} */
  #waiting = []
  #flying = 0
  #live = false
  #paused = true
  #closed = false
  #failures = 0
  /** Nothing is sent before it fires. @type {ReturnType<typeof setTimeout> | null} */
  #timer = null
  /** Refused for good, until `resume`. */
  #refused = false

  /**
   * @param {object} options
   * @param {(update: Uint8Array) => Promise<unknown>} options.send as a record; rejects with a ClientError
   * @param {((update: Uint8Array) => Promise<unknown>) | undefined} options.store for updates that are too large for a
   *   record
   * @param {boolean} options.queue whether `send` keeps updates in an outbox, and works without a connection
   * @param {number} options.interval between records, ms
   * @param {number} options.maxBytes of a record
   * @param {() => void} options.onChange `empty` may have changed
   * @param {(error: any) => void} options.onRefused for good: nothing is sent until `resume`
   */
  constructor (options) { this.#options = options }

  /** Whether the gateway, or the service, has everything. */
  get empty () { return this.#waiting.length === 0 && this.#flying === 0 }

  /** @param {Uint8Array} update */
  add (update) {
    this.#waiting.push(update)
    if (this.#waiting.length >= MERGE_AT) this.#waiting = [Y.mergeUpdates(this.#waiting)]
    this.#flush()
    this.#options.onChange()
  }

  /** Sends this instead of what waits: it contains it. @param {Uint8Array | null} update */
  replace (update) {
    this.#waiting = update === null ? [] : [update]
    this.#options.onChange()
  }

  /** The document is joined and loaded. */
  resume () {
    this.#live = true
    this.#paused = false
    this.#refused = false
    this.#failures = 0
    this.#stopTimer()
    this.#flush()
  }

  /** The connection is lost: updates still go to the outbox, if there is one. */
  lost () { this.#live = false }

  /** The document is being loaded: keep everything. */
  pause () { this.#paused = true }

  close () {
    this.#closed = true
    this.#stopTimer()
  }

  #flush () {
    const { queue, interval, maxBytes, send, store, onChange, onRefused } = this.#options
    if (this.#waiting.length === 0 || this.#timer !== null || this.#paused || this.#refused || this.#closed) return
    if (this.#live ? this.#flying > 0 : !queue) return
    const update = this.#waiting.length === 1 ? this.#waiting[0] : Y.mergeUpdates(this.#waiting)
    this.#waiting = []
    this.#flying++
    const way = update.length > maxBytes && store !== undefined ? store : send
    way(update).catch((error) => {
      if (error?.code === 'value_too_large' && way === send && store !== undefined) return store(update)
      throw error
    }).then(() => {
      this.#flying--
      this.#failures = 0
      this.#flush()
    }, (error) => {
      this.#flying--
      this.#waiting.unshift(update)
      // a lost connection: `resume` follows
      if (error?.retryable === false && error.code !== 'disconnected' && error.code !== 'closed') {
        this.#refused = true
        onRefused(error)
      } else {
        this.#wait(pauseAfter(error, this.#failures++, PAUSE))
      }
    }).finally(onChange)
    this.#wait(this.#live ? interval : OFFLINE_INTERVAL)
  }

  /** @param {number} ms */
  #wait (ms) {
    this.#stopTimer()
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#flush()
    }, ms)
  }

  #stopTimer () {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
