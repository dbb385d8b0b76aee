/**
 * One client on a bare TCP socket, with a minimum of HTTP, WebSocket and Socket.IO (protocol v5, JSON) to be a member
 * of a document. A stock client uses several times the CPU of the server's side, and a load generator on the same
 * machine would then measure itself.
 */
import { openWebSocket } from '../../packages/load/websocket.js'

/**
 * @typedef {object} Target
 * @property {string} host
 * @property {number} port
 *
 * @typedef {object} Member of one client
 * @property {string} token
 * @property {string} guid document it joins
 * @property {string} source local address: one address has ports for 28,000 connections
 *
 * @typedef {object} Listeners
 * @property {(reason: string) => void} [onLost] an open connection was closed from outside
 * @property {(packet: Buffer, client: Receiving, at?: number) => void} [onEvent] raw EVENT packet after the handshake,
 *   valid during the call only, and the place of the value in it, where it is not that of Socket.IO
 *
 * @typedef {object} Receiving a client whose deliveries are checked
 * @property {Map<number, number> | undefined} seen number of the last record of each document it has joined
 *   (receiver.js)
 */

// "42": an EVENT packet without acknowledgement; "43": an acknowledgement
const [MESSAGE, EVENT, ACK] = Buffer.from('423')

/** @typedef {'opening' | 'authenticating' | 'joining' | 'open' | 'closed'} State */

export class WebSocketClient {
  /** @type {State} */
  state = 'opening'
  /** Answer to `doc:join`. @type {any} */
  answer
  /** @type {Map<number, number> | undefined} */
  seen
  #socket
  /** Callbacks of pending requests, in the order of their ids. @type {((error: Error | null) => void)[]} */
  #waiting = []
  #member
  #listeners
  /** @type {((error: Error | null) => void) | null} */
  #settle

  /**
   * @param {Target} target
   * @param {Member} member
   * @param {Listeners} listeners
   * @param {(error: Error | null) => void} settle called once: the client has joined, or failed
   */
  constructor ({ host, port }, member, listeners, settle) {
    this.#member = member
    this.#listeners = listeners
    this.#settle = settle
    // what browsers send as well
    const headers = `Origin: http://${host}:${port}\r
Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r
`
    this.#socket = openWebSocket({ host, port, secure: false, insecure: false, headers }, member.source, {
      onMessage: (payload, binary) => { if (!binary) this.#message(payload) },
      onEnd: (reason) => this.#end(reason)
    })
  }

  close () {
    this.state = 'closed'
    this.#socket.close()
  }

  /** Ends the attempt. @param {string} reason */
  fail (reason) { this.#end(reason) }

  /** Opens one more document. @param {string} guid @returns {Promise<void>} rejects when it is refused */
  join (guid) {
    return new Promise((resolve, reject) => {
      if (this.state !== 'open') return reject(new Error(`${this.state} while joining`))
      this.#waiting.push((error) => error === null ? resolve() : reject(error))
      // one id for all: disordered responses would only be swapped among these joins
      this.#socket.send(joinPacket(guid))
    })
  }

  /** @param {State} next @param {string} packet */
  #send (next, packet) {
    this.state = next
    this.#socket.send(packet)
  }

  /** @param {Buffer} payload */
  #message (payload) {
    if (this.state === 'open' && payload[0] === MESSAGE && payload[1] === EVENT) {
      this.#listeners.onEvent?.(payload, this)
      return
    }
    const text = payload.toString()
    if (text === '2') {
      this.#socket.send('3')
    } else if (this.state !== 'open') {
      this.#handshake(text)
    } else if (payload[0] === MESSAGE && payload[1] === ACK) {
      const [answer] = JSON.parse(text.slice(text.indexOf('[')))
      this.#waiting.shift()?.(answer?.ok === true ? null : new Error(`join refused: ${answer?.error?.code}`))
    } else if (text === '1' || text.startsWith('41')) {
      this.#end('disconnected by the server')
    }
  }

  /** @param {string} text */
  #handshake (text) {
    if (this.state === 'opening' && text[0] === '0') {
      this.#send('authenticating', `40${JSON.stringify({ token: this.#member.token })}`)
    } else if (this.state === 'authenticating' && text.startsWith('40')) {
      this.#send('joining', joinPacket(this.#member.guid))
    } else if (this.state === 'joining' && text.startsWith('430')) {
      this.answer = JSON.parse(text.slice(3))[0]
      if (this.answer?.ok !== true) return this.#end(`join refused: ${this.answer?.error?.code}`)
      this.state = 'open'
      this.#done(null)
    } else if (text.startsWith('44') || text[0] === '1' || text.startsWith('41')) {
      this.#end(`refused: ${text.slice(0, 100)}`)
    }
  }

  /** @param {string} reason */
  #end (reason) {
    const { state } = this
    if (state === 'closed') return
    this.close()
    for (const settle of this.#waiting.splice(0)) settle(new Error(`${reason} while joining`))
    if (state === 'open') this.#listeners.onLost?.(reason)
    else this.#done(new Error(`${reason} while ${state}`))
  }

  /** @param {Error | null} error */
  #done (error) {
    this.#settle?.(error)
    this.#settle = null
  }
}

/** @param {string} guid */
const joinPacket = (guid) => `420${JSON.stringify(['doc:join', { guid }])}`
