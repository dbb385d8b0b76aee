import { randomId } from '../common/random-id.js'
import { Hub } from './hub.js'

/** @type {any} */
const browser = globalThis
/** Events of a page that is about to stop, of the document and the window: another tab must not wait for it. */
const STOPS = ['freeze', 'pagehide']

/**
 * A client's place among the tabs that share a connection: it waits to become the leader. The lock of the leader is
 * given to the next tab when the leader leaves, and when it closes or crashes.
 */
export class Seat {
  /** Whether there are too many tabs, or no answer of the leader: this tab connects by itself. */
  isRefused = false
  /** Called when the page is about to stop. @type {() => void} */
  onStop = () => {}
  /** Id of this tab's connection to the leader. */
  tab = ''
  /** Id of the connection's client, the same for each leader: the same member. @type {string | undefined} */
  client
  #parts
  /** @type {AbortController | undefined} */
  #waiting
  /** @type {Hub | undefined} */
  #hub

  /**
   * @param {object} parts
   * @param {string} parts.name of the lock and of the channel
   * @param {import('../connection/options.js').ClientOptions} parts.options
   * @param {any} parts.manager Socket.IO's
   * @param {import('./hub.js').Connect} parts.Connection
   */
  constructor (parts) {
    this.name = parts.name
    this.#parts = parts
  }

  get manager () { return this.#parts.manager }

  /** Waits to become the leader, unless it does already. */
  take () {
    if (this.#waiting !== undefined) return
    const waiting = this.#waiting = new AbortController()
    for (const event of STOPS) browser.addEventListener(event, this.#onStop, true)
    const lead = () => new Promise((release) => {
      if (waiting.signal.aborted) return release(undefined)
      waiting.signal.addEventListener('abort', () => release(undefined))
      this.#hub = new Hub({ ...this.#parts, client: this.client ??= randomId(), isOwn: (id) => id === this.tab })
    })
    // rejects when it leaves before it has become the leader
    browser.navigator.locks.request(this.name, { signal: waiting.signal }, lead).catch(() => {})
  }

  /**
   * Gives the place back: another tab is the leader at once.
   * @param {boolean} isClosed whether the client was closed
   */
  leave (isClosed) {
    for (const event of STOPS) browser.removeEventListener(event, this.#onStop, true)
    this.#hub?.close(isClosed)
    this.#hub = undefined
    this.#waiting?.abort()
    this.#waiting = undefined
  }

  #onStop = () => {
    this.leave(false)
    this.onStop()
  }
}
