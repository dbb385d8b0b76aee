import { EventEmitter } from 'node:events'
import WebSocket from 'ws'
import { decodeMsgpack, encodeMsgpack } from '../../../src/wire/msgpack.js'
import { PUBLIC } from './cluster.js'

const PATH = '/websocket/handshake'
/** The door of a cluster for plain WebSockets. */
export const PLAIN_LISTENER = `ws:${PATH}`
/** Where plain clients connect. */
export const PLAIN_URL = `ws://${PUBLIC}${PATH}`
/** Until it connects again, ms: docs/websocket.md. */
const AGAIN = { least: 1000, more: 4000 }
/** Between two pings of the client, ms. */
const PING = 20_000
/** After this number of them without any message the connection is dead. */
const SILENT = 2

/**
 * @typedef {(error: Error | null, answer?: any) => void} Done
 * @typedef {{ done: Done, timer?: import('../../../src/base/common/clock.js').Timer }} Asked
 */

/**
 * A client of the plain WebSocket protocol, with the methods of a socket of socket.io-client that pages use: pages can
 * be on either. As there, it connects again by itself, unless the gateway has refused it or ended the connection.
 */
export class PlainLine extends EventEmitter {
  connected = false
  /** Whether it connects by itself. */
  active = false
  /** @type {string | undefined} */
  id
  /** @type {WebSocket | undefined} */
  #ws
  #process
  #isPacked
  /** Whether it asks for its documents one by one, without waiting for the answer to the login. */
  #isHasty
  #auth
  /** Requests without an answer. @type {Map<number, Asked>} */
  #asked = new Map()
  #last = 0
  /** Pings since the last message. */
  #silent = 0

  /**
   * In a turn of the process.
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {object} options
   * @param {boolean} options.isPacked whether it uses msgpack
   * @param {(tell: (auth: object) => void) => void} options.auth called at each connect
   */
  constructor (process, { isPacked, auth }) {
    super()
    this.#process = process
    this.#isPacked = isPacked
    this.#isHasty = process.drawn.chance(0.5)
    this.#auth = auth
    process.clock.every(PING, () => this.#ping())
    this.connect()
  }

  connect () {
    if (this.#ws !== undefined) return this
    this.active = true
    this.#silent = 0
    const ws = this.#ws = new WebSocket(`${PLAIN_URL}?auth=message`, [this.#isPacked ? 'inkcast.msgpack' : 'inkcast.json'])
    ws.on('error', () => {})
    ws.on('open', () => this.#auth((auth) => this.#login(auth)))
    ws.on('message', (/** @type {Buffer} */ data) => {
      if (ws === this.#ws) this.#receive(this.#isPacked ? decodeMsgpack(data) : JSON.parse(data.toString()))
    })
    ws.on('close', () => { if (ws === this.#ws) this.#ended() })
    return this
  }

  disconnect () {
    const ws = this.#ws
    this.active = false
    if (ws === undefined) return this
    this.#ended()
    ws.close(1000)
    return this
  }

  /** @param {number} ms @returns {{ emit: (event: string, payload: any, done: Done) => void }} */
  timeout (ms) {
    return { emit: (event, payload, done) => this.#ask(event, payload, done, ms) }
  }

  /** @param {string} event @param {any} payload @param {Done} done @param {number} [ms] default: until the end */
  #ask (event, payload, done, ms) {
    const id = ++this.#last
    const timer = ms === undefined ? undefined : this.#process.clock.timer(ms, () => {
      this.#asked.delete(id)
      done(new Error('no answer in time'))
    })
    this.#asked.set(id, { done, timer })
    this.#send({ event, payload, id })
  }

  /** @param {any} auth */
  #login ({ documents, ...auth }) {
    if (!this.#isHasty) return this.#send({ event: 'gateway:connect', payload: { documents, ...auth } })
    this.#send({ event: 'gateway:connect', payload: auth })
    for (const [guid, asked] of Object.entries(documents)) {
      const { epoch, offset, ...more } = asked ?? {}
      const payload = { guid, ...more, ...epoch !== undefined && { position: { epoch, offset } } }
      // each request is answered, or the connection ends
      this.#ask('doc:join', payload, (error, answer) => {
        if (error === null) this.emit(answer.ok ? 'doc:joined' : 'doc:refused', { guid, ...answer })
      })
    }
  }

  /** @param {object} message */
  #send (message) {
    if (this.#ws?.readyState === WebSocket.OPEN)
      this.#ws.send(this.#isPacked ? encodeMsgpack(message) : JSON.stringify(message))
  }

  #ping () {
    if (++this.#silent > SILENT) this.#ws?.terminate()
    else if (this.connected) this.#send({ event: 'gateway:ping' })
  }

  /** @param {any} message */
  #receive ({ id, event, payload, meta, ack }) {
    this.#silent = 0
    if (id !== undefined) {
      const asked = this.#asked.get(id)
      this.#asked.delete(id)
      asked?.timer?.stop()
      asked?.done(null, payload)
    } else if (event === 'gateway:connected') {
      this.connected = true
      this.id = payload.id
      this.emit('connect')
    } else if (event === 'gateway:disconnect') {
      this.active = false
      if (this.connected) this.emit(event, payload)
      else this.emit('connect_error', { data: payload })
    } else if (meta === undefined) this.emit(event, payload)
    else this.emit(event, payload, meta, ...ack === undefined ? [] : [() => this.#send({ ack })])
  }

  #ended () {
    const wasConnected = this.connected
    this.connected = false
    this.id = this.#ws = undefined
    const asked = [...this.#asked.values()]
    this.#asked.clear()
    for (const { done, timer } of asked) {
      timer?.stop()
      done(new Error('the connection has ended'))
    }
    const { clock, drawn } = this.#process
    if (this.active) clock.timer(AGAIN.least + AGAIN.more * drawn.number(), () => { if (this.active) this.connect() })
    if (wasConnected) this.emit('disconnect')
  }
}
