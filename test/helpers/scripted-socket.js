import { EventEmitter } from 'node:events'
import { connect } from '../../client/index.js'
// loaded on demand; in the module cache an import takes no longer than `settle`
import '../../client/connection/ask-for-refusal.js'
import '../../client/presence/participation.js'

/**
 * The part of socket.io-client's interface that the inkcast client uses, without a connection: the test plays the
 * gateway.
 */
export class ScriptedSocket {
  connected = false
  /** Whether an attempt is in progress, which `disconnect` ends. */
  opening = false
  /** @type {string | undefined} */
  id
  /** @type {unknown[]} */
  sendBuffer = []
  /** Transports of each attempt. @type {string[][]} */
  attempts = []
  /** Auth data of each handshake. @type {any[]} */
  handshakes = []
  /**
   * @type {{ event: string, argument: any, answer: (answer: object) => void, lose: () => void }[]} requests, and events
   *   without an acknowledgement
   */
  sent = []
  io = {
    /** @type {{ transports: string[] }} */
    opts: { transports: [] },
    engine: Object.assign(new EventEmitter(), {
      transport: { name: 'websocket' },
      close: () => this.disconnects('transport close')
    })
  }

  /** @type {Map<string, Function[]>} */
  #listeners = new Map()
  /** @type {Function[]} */
  #anyListeners = []
  #connections = 0

  /** @param {any} options */
  constructor (options) { this.options = options }

  /** @param {string} event @param {Function} listener */
  on (event, listener) { this.#listeners.set(event, [...this.#listeners.get(event) ?? [], listener]) }

  /** @param {Function} listener */
  onAny (listener) { this.#anyListeners.push(listener) }

  connect () {
    this.opening = true
    this.attempts.push(this.io.opts.transports)
    this.io.engine.transport.name = this.io.opts.transports[0]
  }

  disconnect () {
    this.opening = false
    if (this.connected) this.disconnects('io client disconnect')
  }

  /** @param {number} _ms */
  timeout (_ms) { return { emit: (/** @type {[any, any, any]} */ ...args) => this.emit(...args) } }

  /** @param {string} event @param {any} argument @param {Function} [callback] */
  emit (event, argument, callback) {
    this.sent.push({
      event,
      argument,
      answer: (answer) => callback?.(null, answer),
      lose: () => callback?.(new Error('socket has been disconnected'))
    })
  }

  /** @param {string} event @returns the last message sent of this event */
  last (event) {
    const found = this.sent.filter((sent) => sent.event === event).at(-1)
    if (found === undefined) throw new Error(`no ${event} was sent; only ${this.sent.map(({ event }) => event)}`)
    return found
  }

  /** The transport opens: the client sends its handshake and is admitted. */
  accepts () {
    this.handshake()
    this.connected = true
    this.id = `connection-${++this.#connections}`
    this.tells('connect')
  }

  handshake () { this.options.auth((/** @type {object} */ said) => this.handshakes.push(said)) }

  /** @param {object} data of the gateway's error */
  refuses (data) {
    this.handshake()
    this.tells('connect_error', Object.assign(new Error('refused'), { data }))
  }

  /** @param {object} [more] */
  fails (more) { this.tells('connect_error', Object.assign(new Error('xhr poll error'), more)) }

  /** @param {string} reason */
  disconnects (reason) {
    this.connected = false
    this.tells('disconnect', reason)
    for (const { lose } of this.sent.splice(0)) lose()
  }

  /** @param {string} event @param {any[]} args */
  tells (event, ...args) {
    if (!['connect', 'connect_error', 'disconnect'].includes(event))
      for (const listener of this.#anyListeners) listener(event, ...args)
    for (const listener of this.#listeners.get(event) ?? []) listener(...args)
  }
}

/**
 * A client over a scripted socket.
 *
 * @param {import('node:test').TestContext} t
 * @param {import('../../client/index.js').ClientOptions} [options]
 */
export function scriptedClient (t, options = {}) {
  /** @type {ScriptedSocket | undefined} */
  let socket
  const client = connect('http://gateway', {
    ...options,
    io: /** @type {any} */ (
      (/** @type {string} */ _url, /** @type {any} */ opts) => (socket = new ScriptedSocket(opts))
    )
  })
  t.after(() => client.close())
  /** @type {string[]} */
  const states = []
  client.on('state', (state, reason) => states.push(reason === null ? state : `${state}: ${reason.code}`))
  return { client, socket: /** @type {ScriptedSocket} */ (/** @type {unknown} */ (socket)), states }
}

/** Lets pending promises settle. */
export const settle = () => new Promise((resolve) => setImmediate(resolve))

/**
 * Opens `doc`, joined at a position.
 * @param {Pick<ReturnType<typeof scriptedClient>, 'client' | 'socket'>} scripted
 * @param {import('../../client/index.js').Position} position
 * @param {import('../../client/index.js').OpenOptions} [options]
 */
export async function openDoc ({ client, socket }, position, options) {
  const opening = client.open('doc', options)
  if (options?.presence || options?.state !== undefined) await settle()
  socket.accepts()
  socket.tells('doc:joined', { guid: 'doc', position, recovered: false })
  return opening
}
