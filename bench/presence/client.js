/**
 * A connection that takes part in the presence of one document, and counts what it is told of it.
 */
import net from 'node:net'
import { CLOSE, readFrames, TEXT, textFrame } from '../client/frames.js'

const PONG = textFrame('3')
const EMPTY = Buffer.alloc(0)
const PRESENCE = '42["doc:presence"'

export class RoomClient {
  /** Of presence: answers to joins and events. */
  bytes = 0
  messages = 0
  /** The last that it was told. */
  count = 0
  #socket
  /** @type {Buffer} */
  #rest = EMPTY
  #upgraded = false
  #token
  /** @type {((error: Error | null) => void) | null} */
  #settle
  #onFrame = (/** @type {number} */ opcode, /** @type {Buffer} */ payload) => this.#frame(opcode, payload)

  /**
   * @param {import('../client/websocket-client.js').Target} target
   * @param {{ token?: string, source: string }} member
   * @param {(error: Error | null) => void} settle called once: it is connected, or failed
   */
  constructor ({ host, port }, { token, source }, settle) {
    this.#token = token
    this.#settle = settle
    this.#socket = net.connect({ host, port, localAddress: source, noDelay: true })
    this.#socket.write('GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')
    this.#socket.on('data', (chunk) => this.#data(chunk))
    this.#socket.on('error', (error) => this.fail(error.message))
    this.#socket.on('close', () => this.fail('closed by the server'))
  }

  /** @param {string} guid @param {object} state @returns {Promise<void>} */
  join (guid, state) {
    return new Promise((resolve, reject) => {
      this.#settle = (error) => error === null ? resolve() : reject(error)
      this.#socket.write(textFrame(`420${JSON.stringify(['doc:join', { guid, state }])}`))
    })
  }

  /** @param {string} guid @param {object} state */
  setState (guid, state) { this.#socket.write(textFrame(`42${JSON.stringify(['doc:state', { guid, state }])}`)) }

  close () {
    this.#socket.removeAllListeners('close')
    this.#socket.destroy()
  }

  /** @param {string} reason */
  fail (reason) {
    this.close()
    this.#done(new Error(reason))
  }

  /** @param {Error | null} error */
  #done (error) {
    this.#settle?.(error)
    this.#settle = null
  }

  /** @param {Buffer} chunk */
  #data (chunk) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = bytes
    if (!this.#upgraded) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end === -1) return
      if (bytes.toString('latin1', 0, 13) !== 'HTTP/1.1 101 ') return this.fail('not upgraded')
      this.#upgraded = true
      bytes = bytes.subarray(end + 4)
    }
    this.#rest = readFrames(bytes, this.#onFrame)
  }

  /** @param {number} opcode @param {Buffer} payload */
  #frame (opcode, payload) {
    if (opcode === CLOSE) return this.fail('closed by the server')
    if (opcode !== TEXT) return
    const begin = payload.toString('latin1', 0, PRESENCE.length)
    if (begin === PRESENCE) {
      this.bytes += payload.length
      this.messages++
      // the fields before and after it are long, so it is looked for from the end; a list or a mark may come after it
      this.count = Number(/"count":(\d+)[^{}]*\}\]$|"count":(\d+),"members"/.exec(payload.toString())?.slice(1).find(Boolean))
    } else if (begin === '2') {
      this.#socket.write(PONG)
    } else if (begin[0] === '0') {
      this.#socket.write(textFrame(`40${this.#token === undefined ? '' : JSON.stringify({ token: this.#token })}`))
    } else if (begin.startsWith('40')) {
      this.#done(null)
    } else if (begin.startsWith('430')) {
      this.bytes += payload.length
      const [answer] = JSON.parse(payload.toString().slice(3))
      this.count = answer.count
      this.#done(answer.ok ? null : new Error(answer.error.code))
    } else if (begin.startsWith('44')) {
      this.fail(payload.toString())
    }
  }
}
