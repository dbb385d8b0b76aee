/**
 * One client on a bare TCP socket, with a minimum of HTTP, WebSocket and Socket.IO (protocol v5, JSON) to be a member
 * of a document. A stock client uses several times the CPU of the server's side, and a load generator on the same
 * machine would then measure itself.
 */
import net from 'node:net'
import { CLOSE, frameOf, readFrames, TEXT } from '../../packages/load/frames.js'
import { READ_BUFFER } from '../../packages/load/websocket.js'

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
 * @property {(packet: Buffer, client: Receiving) => void} [onEvent] raw EVENT packet after the handshake; valid during
 *   the call only
 *
 * @typedef {object} Receiving a client whose deliveries are checked
 * @property {Map<number, number> | undefined} seen number of the last record of each document it has joined
 *   (receiver.js)
 */

// All clients use this key, so that the expected response is constant (RFC 6455, section 1.3 has both).
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
const PONG = frameOf('3')
const EMPTY = Buffer.alloc(0)
// "42": an EVENT packet without acknowledgement; "43": an acknowledgement
const [MESSAGE, EVENT, ACK] = Buffer.from('423')

/** @typedef {'connecting' | 'upgrading' | 'opening' | 'authenticating' | 'joining' | 'open' | 'closed'} State */

export class WebSocketClient {
  /** @type {State} */
  state = 'connecting'
  /** Answer to `doc:join`. @type {any} */
  answer
  /** @type {Map<number, number> | undefined} */
  seen
  #socket
  /** Callbacks of pending requests, in the order of their ids. @type {((error: Error | null) => void)[]} */
  #waiting = []
  /** @type {Buffer} beginning of a frame, or of the upgrade response */
  #rest = EMPTY
  #member
  #listeners
  /** @type {((error: Error | null) => void) | null} */
  #settle
  #onFrame = (/** @type {number} */ opcode, /** @type {Buffer} */ payload) => this.#frame(opcode, payload)

  /**
   * @param {Target} target
   * @param {Member} member
   * @param {Listeners} listeners
   * @param {(error: Error | null) => void} settle called once: the client has joined, or failed
   */
  constructor (target, member, listeners, settle) {
    this.#member = member
    this.#listeners = listeners
    this.#settle = settle
    this.#socket = net.connect({
      ...target,
      localAddress: member.source,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (length, buffer) => this.#data(/** @type {Buffer} */ (buffer).subarray(0, length))
      }
    })
    this.#socket.on('connect', () => this.#send('upgrading', upgradeRequest(target)))
    this.#socket.on('error', (error) => this.#end(/** @type {NodeJS.ErrnoException} */ (error).code ?? error.message))
    this.#socket.on('close', () => this.#end('closed by the server'))
  }

  close () {
    this.state = 'closed'
    this.#socket.destroy()
  }

  /** Ends the attempt. @param {string} reason */
  fail (reason) { this.#end(reason) }

  /** Opens one more document. @param {string} guid @returns {Promise<void>} rejects when it is refused */
  join (guid) {
    return new Promise((resolve, reject) => {
      if (this.state !== 'open') return reject(new Error(`${this.state} while joining`))
      this.#waiting.push((error) => error === null ? resolve() : reject(error))
      // one id for all: disordered responses would only be swapped among these joins
      this.#socket.write(joinPacket(guid))
    })
  }

  /** @param {State} next @param {string | Buffer} bytes */
  #send (next, bytes) {
    this.state = next
    this.#socket.write(bytes)
  }

  /** @param {Buffer} chunk valid during this call only @returns {boolean} whether to go on reading */
  #data (chunk) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    if (this.state === 'upgrading') {
      const end = bytes.indexOf('\r\n\r\n')
      if (end === -1) {
        this.#rest = Buffer.from(bytes)
        return true
      }
      const head = bytes.toString('latin1', 0, end)
      if (!head.startsWith('HTTP/1.1 101 ') || !head.includes(ACCEPT)) {
        this.#end(head.slice(0, head.indexOf('\r\n')))
        return true
      }
      this.state = 'opening'
      bytes = bytes.subarray(end + 4)
    }
    const rest = readFrames(bytes, this.#onFrame)
    this.#rest = rest.length === 0 ? EMPTY : Buffer.from(rest)
    return true
  }

  /** @param {number} opcode @param {Buffer} payload */
  #frame (opcode, payload) {
    if (opcode === CLOSE) return this.#end(`WebSocket close ${payload.length < 2 ? '' : payload.readUInt16BE(0)}`)
    if (opcode !== TEXT) return
    if (this.state === 'open' && payload[0] === MESSAGE && payload[1] === EVENT) {
      this.#listeners.onEvent?.(payload, this)
      return
    }
    const text = payload.toString()
    if (text === '2') {
      this.#socket.write(PONG)
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
      this.#send('authenticating', frameOf(`40${JSON.stringify({ token: this.#member.token })}`))
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
const joinPacket = (guid) => frameOf(`420${JSON.stringify(['doc:join', { guid }])}`)

/** A browser's request, so that the server parses as many headers. @param {Target} target */
function upgradeRequest ({ host, port }) {
  return `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r
Host: ${host}:${port}\r
Connection: Upgrade\r
Pragma: no-cache\r
Cache-Control: no-cache\r
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r
Upgrade: websocket\r
Origin: http://${host}:${port}\r
Sec-WebSocket-Version: 13\r
Accept-Encoding: gzip, deflate\r
Accept-Language: en-US,en;q=0.9\r
Sec-WebSocket-Key: ${KEY}\r
Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r
\r
`
}
