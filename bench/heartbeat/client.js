/**
 * A connection that has one document open and does nothing but answer pings, until it is told to be silent as a dead peer is.
 */
import net from 'node:net'
import { CLOSE, readFrames, TEXT, textFrame } from '../client/frames.js'

const PONG = textFrame('3')
const EMPTY = Buffer.alloc(0)

/**
 * What is the same for all clients of a process.
 * @typedef {object} Shared
 * @property {number} pings that came
 * @property {(client: IdleClient) => void} onEnd an open connection was closed by the server
 */

export class IdleClient {
  /** When it died, ms; 0: it lives. */
  silentSince = 0
  #socket
  /** @type {Buffer} */
  #rest = EMPTY
  #upgraded = false
  #open = false
  #guid
  #shared
  #settle
  #onFrame = (/** @type {number} */ opcode, /** @type {Buffer} */ payload) => this.#frame(opcode, payload)

  /**
   * @param {import('../client/websocket-client.js').Target} target
   * @param {{ guid: string, source: string }} member
   * @param {Shared} shared
   * @param {(error: Error | null) => void} settle called once: it has joined, or failed
   */
  constructor ({ host, port }, { guid, source }, shared, settle) {
    this.#guid = guid
    this.#shared = shared
    this.#settle = settle
    this.#socket = net.connect({ host, port, localAddress: source, noDelay: true })
    this.#socket.write('GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')
    this.#socket.on('data', (chunk) => this.#data(chunk))
    this.#socket.on('error', (error) => this.#end(error.message))
    this.#socket.on('close', () => this.#end('closed by the server'))
  }

  /** From now on nothing is answered. */
  die () { this.silentSince = performance.now() }

  close () {
    this.#socket.removeAllListeners('close')
    this.#socket.destroy()
  }

  /** @param {string} reason */
  fail (reason) { this.#end(reason) }

  /** @param {Buffer} chunk */
  #data (chunk) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = bytes
    if (!this.#upgraded) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end === -1) return
      if (bytes.toString('latin1', 0, 13) !== 'HTTP/1.1 101 ') return this.#end('not upgraded')
      this.#upgraded = true
      bytes = bytes.subarray(end + 4)
    }
    this.#rest = readFrames(bytes, this.#onFrame)
  }

  /** @param {number} opcode @param {Buffer} payload */
  #frame (opcode, payload) {
    if (opcode === CLOSE) return this.#end('closed by the server')
    if (opcode !== TEXT) return
    const text = payload.toString()
    if (text === '2') {
      this.#shared.pings++
      if (this.silentSince === 0) this.#socket.write(PONG)
    } else if (text[0] === '0') {
      this.#socket.write(textFrame('40'))
    } else if (text.startsWith('40')) {
      this.#socket.write(textFrame(`420${JSON.stringify(['doc:join', { guid: this.#guid }])}`))
    } else if (text.startsWith('430')) {
      if (!text.includes('"ok":true')) return this.#end(text)
      this.#open = true
      this.#settle(null)
    } else if (text.startsWith('44')) {
      this.#end(text)
    }
  }

  /** @param {string} reason */
  #end (reason) {
    this.close()
    if (this.#open) this.#shared.onEnd(this)
    else this.#settle(new Error(reason))
    this.#open = false
  }
}
