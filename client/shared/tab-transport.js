import { clock } from '../common/clock.js'
import { randomId } from '../common/random-id.js'

/**
 * A transport of Engine.IO to the hub of the leader, over a BroadcastChannel of its own. A new leader announces itself:
 * a tab whose handshake has no answer repeats it there, and all others reconnect to it, without a pause.
 *
 * Messages of a tab: `hello` on the channel of all tabs; `data` (an Engine.IO message), `read` (how many messages it
 * has read) and `bye` on its own. Messages of the hub: `hub` on the channel of all; `open`, `data`, `full` and `bye`.
 */

/** Messages that a tab reads before it says so. */
const READ = 100
/** Timeout of the leader's answer to `hello`, ms: a page that is suspended or busy is a leader as well. */
const ANSWER_TIMEOUT = 3000
/** No heartbeat between tabs, ms: the lock of a tab ends with the tab. */
const NEVER = 1_000_000_000
/** Socket.IO's numbers of packets. */
const EVENT = 2

/** @type {any} */
const browser = globalThis

/** @param {import('./seat.js').Seat} seat @returns {Function} class of a transport */
export const transportOf = (seat) => class extends TabTransport {
  /** @param {any} options of Engine.IO */
  constructor (options) { super(seat, options) }
  get name () { return 'shared' }
}

class TabTransport {
  readyState = ''
  writable = false
  supportsBinary = true
  /** @type {Map<string, Function[]>} */
  #listeners = new Map()
  #seat
  #id = randomId()
  #all
  #own
  /** Holds the lock of this tab. */
  #closing = new AbortController()
  #isLocked = false
  /** Id of the hub that answered. */
  #hub = ''
  /** The handshake, until it is answered. @type {unknown[] | null} */
  #unanswered = []
  #read = 0
  /** Timeout of the leader's answer. @type {import('../common/clock.js').Timer | undefined} */
  #answer

  /** @param {import('./seat.js').Seat} seat @param {any} options of Engine.IO */
  constructor (seat, { query }) {
    this.#seat = seat
    seat.tab = this.#id
    this.query = query
    this.#all = new browser.BroadcastChannel(seat.name)
    this.#own = new browser.BroadcastChannel(`${seat.name} ${this.#id}`)
  }

  /** @param {string} event @param {Function} listener */
  on (event, listener) {
    this.#listeners.set(event, [...this.#listeners.get(event) ?? [], listener])
    return this
  }

  /** @param {string} event @param {Function} listener */
  once (event, listener) { return this.on(event, listener) }

  /** @param {string} event @param {Function} listener */
  removeListener (event, listener) {
    this.#listeners.set(event, (this.#listeners.get(event) ?? []).filter((other) => other !== listener))
  }

  removeAllListeners () { this.#listeners.clear() }

  pause () {}

  open () {
    this.readyState = 'opening'
    this.#all.onmessage = (/** @type {any} */ { data }) => { if (data.hub && data.hub !== this.#hub) this.#onHub() }
    this.#own.onmessage = (/** @type {any} */ { data }) => this.#onMessage(data)
    this.#seat.onStop = () => this.#fail('the page stops')
    const { signal } = this.#closing
    // the hub waits for this lock: it gets it when this tab is gone
    browser.navigator.locks.request(`${this.#seat.name} ${this.#id}`, { signal }, () => new Promise((release) => {
      signal.addEventListener('abort', release)
      this.#isLocked = true
      this.#hello()
    })).catch(() => {})
    return this
  }

  /** @param {{ type: string, data?: any }[]} packets of Engine.IO */
  send (packets) {
    for (const { type, data } of packets) {
      if (type !== 'message') continue
      this.#unanswered?.push(data)
      this.#own.postMessage({ data })
    }
    this.writable = false
    queueMicrotask(() => {
      this.writable = true
      this.#emit('drain')
    })
  }

  close () {
    if (this.readyState !== 'closed') this.#own.postMessage({ bye: true })
    this.#end()
  }

  #onHub () {
    if (this.#unanswered === null) {
      // another leader: reconnect to it at once
      const { encoder } = this.#seat.manager
      const [data] = encoder.encode({ type: EVENT, nsp: '/', data: ['gateway:draining', { reconnectInMs: 0 }] })
      this.#emit('packet', { type: 'message', data })
      // Socket.IO passes on a packet in a microtask
      queueMicrotask(() => this.#end())
    } else if (this.#isLocked) this.#hello()
  }

  #hello () {
    this.#answer?.stop()
    // in two parts: when this page itself was busy, the answer comes after the first one
    this.#answer = clock.timer(ANSWER_TIMEOUT / 2, () => {
      this.#answer = clock.timer(ANSWER_TIMEOUT / 2, () => this.#leave('the leader does not answer'))
    })
    this.#all.postMessage({ hello: this.#id })
  }

  /** @param {any} message of the hub */
  #onMessage (message) {
    if (message.data !== undefined) {
      this.#unanswered = null
      if (++this.#read % READ === 0) this.#own.postMessage({ read: READ })
      this.#emit('packet', { type: 'message', data: message.data })
    } else if (message.open) {
      this.#answer?.stop()
      this.#seat.client = message.open.client
      this.#hub = message.open.hub
      if (this.readyState === 'opening') {
        this.readyState = 'open'
        this.writable = true
        this.#emit('open')
        const handshake = { sid: this.#id, upgrades: [], pingInterval: NEVER, pingTimeout: NEVER }
        this.#emit('packet', { type: 'open', data: JSON.stringify(handshake) })
      } else for (const data of this.#unanswered ?? []) this.#own.postMessage({ data })
    } else if (message.full) this.#leave('the leader has no room')
    else this.#fail('the leader has ended the connection')
  }

  /** The tab connects by itself, until it loses that connection. @param {string} message */
  #leave (message) {
    this.#seat.isRefused = true
    // now, because it could become the leader until it connects
    this.#seat.leave(false)
    this.#fail(message, 0)
  }

  /** @param {string} message @param {number} [retryInMs] */
  #fail (message, retryInMs) {
    const data = { code: 'unavailable', retryable: true, retryInMs }
    // until it is open, Socket.IO hears of errors only
    if (this.readyState === 'opening') this.#emit('error', Object.assign(new Error(message), { data }))
    this.#end()
  }

  #end () {
    if (this.readyState === 'closed') return
    this.readyState = 'closed'
    this.#answer?.stop()
    this.#closing.abort()
    this.#all.close()
    // after what was posted
    this.#own.close()
    this.#emit('close')
  }

  /** @param {string} event @param {unknown[]} args */
  #emit (event, ...args) { for (const listener of this.#listeners.get(event) ?? []) listener(...args) }
}
