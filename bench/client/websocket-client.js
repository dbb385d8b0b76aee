/**
 * One client on a bare TCP socket that speaks just enough HTTP, WebSocket and Socket.IO (protocol v5, JSON) to be a member
 * of a document. A stock client costs several times what the server does for it, and a load generator on the same machine
 * would then measure itself.
 */
import net from 'node:net'
import { CLOSE, readFrames, TEXT, textFrame } from './frames.js'

/**
 * @typedef {object} Target
 * @property {string} host
 * @property {number} port
 *
 * @typedef {object} Member what one client is
 * @property {string} token
 * @property {string} guid document it joins
 * @property {string} source address it connects from: one address has ports for 28,000 connections
 *
 * @typedef {object} Listeners
 * @property {(reason: string) => void} [onLost] an open connection ended and it was not us
 * @property {(text: string, client: WebSocketClient) => void} [onEvent] an EVENT packet after the handshake, without its type digits
 */

// The key is the same for all, so that the expected answer is known (RFC 6455, section 1.3 has both).
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
const PONG = textFrame('3')
const EMPTY = Buffer.alloc(0)

/** @typedef {'connecting' | 'upgrading' | 'opening' | 'authenticating' | 'joining' | 'open' | 'closed'} State */

export class WebSocketClient {
  /** @type {State} */
  state = 'connecting'
  /** Answer to `doc:join`. @type {any} */
  answer
  #socket
  /** @type {Buffer} beginning of a frame, or of the answer to the upgrade */
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
   * @param {(error: Error | null) => void} settle called once: it has joined, or failed
   */
  constructor (target, member, listeners, settle) {
    this.#member = member
    this.#listeners = listeners
    this.#settle = settle
    this.#socket = net.connect({ ...target, localAddress: member.source, noDelay: true })
    this.#socket.on('connect', () => this.#send('upgrading', upgradeRequest(target)))
    this.#socket.on('data', (chunk) => this.#data(chunk))
    this.#socket.on('error', (error) => this.#end(/** @type {NodeJS.ErrnoException} */ (error).code ?? error.message))
    this.#socket.on('close', () => this.#end('closed by the server'))
  }

  close () {
    this.state = 'closed'
    this.#socket.destroy()
  }

  /** Gives up. @param {string} reason */
  fail (reason) { this.#end(reason) }

  /** Sends an event without waiting for anything. @param {string} event @param {unknown[]} args */
  emit (event, ...args) { this.#socket.write(textFrame(`42${JSON.stringify([event, ...args])}`)) }

  /** @param {State} next @param {string | Buffer} bytes */
  #send (next, bytes) {
    this.state = next
    this.#socket.write(bytes)
  }

  /** @param {Buffer} chunk */
  #data (chunk) {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    if (this.state !== 'upgrading') {
      this.#rest = readFrames(bytes, this.#onFrame)
      return
    }
    const end = bytes.indexOf('\r\n\r\n')
    if (end === -1) {
      this.#rest = bytes
      return
    }
    const head = bytes.toString('latin1', 0, end)
    if (!head.startsWith('HTTP/1.1 101 ') || !head.includes(ACCEPT)) return this.#end(head.slice(0, head.indexOf('\r\n')))
    this.state = 'opening'
    this.#rest = readFrames(bytes.subarray(end + 4), this.#onFrame)
  }

  /** @param {number} opcode @param {Buffer} payload */
  #frame (opcode, payload) {
    if (opcode === CLOSE) return this.#end(`WebSocket close ${payload.length < 2 ? '' : payload.readUInt16BE(0)}`)
    if (opcode !== TEXT) return
    const text = payload.toString()
    if (text === '2') {
      this.#socket.write(PONG)
    } else if (this.state === 'open') {
      if (text.startsWith('42')) this.#listeners.onEvent?.(text.slice(2), this)
      else if (text === '1' || text.startsWith('41')) this.#end('disconnected by the server')
    } else {
      this.#handshake(text)
    }
  }

  /** @param {string} text */
  #handshake (text) {
    if (this.state === 'opening' && text[0] === '0') {
      this.#send('authenticating', textFrame(`40${JSON.stringify({ token: this.#member.token })}`))
    } else if (this.state === 'authenticating' && text.startsWith('40')) {
      this.#send('joining', textFrame(`420${JSON.stringify(['doc:join', { guid: this.#member.guid }])}`))
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
    if (state === 'open') this.#listeners.onLost?.(reason)
    else this.#done(new Error(`${reason} while ${state}`))
  }

  /** @param {Error | null} error */
  #done (error) {
    this.#settle?.(error)
    this.#settle = null
  }
}

/** What a browser sends, so that the server has as much to read. @param {Target} target */
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
