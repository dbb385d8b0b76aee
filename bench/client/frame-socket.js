/**
 * A WebSocket on a bare TCP socket, for processes with very many clients: an upgrade, then frames.
 */
import net from 'node:net'
import { CLOSE, readFrames, TEXT } from './frames.js'

const EMPTY = Buffer.alloc(0)

export class FrameSocket {
  #socket
  /** @type {Buffer} */
  #rest = EMPTY
  #upgraded = false
  #onText
  #onEnd
  #onFrame = (/** @type {number} */ opcode, /** @type {Buffer} */ payload) => {
    if (opcode === CLOSE) this.#onEnd('closed by the server')
    else if (opcode === TEXT) this.#onText(payload)
  }

  /**
   * @param {import('./websocket-client.js').Target} target
   * @param {string} source local address: one address has ports for 28,000 connections
   * @param {(payload: Buffer) => void} onText
   * @param {(reason: string) => void} onEnd the connection was closed from outside; may be called more than once, until
   *   `close`
   */
  constructor ({ host, port }, source, onText, onEnd) {
    this.#onText = onText
    this.#onEnd = onEnd
    this.#socket = net.connect({ host, port, localAddress: source, noDelay: true })
    this.#socket.write(
      'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    )
    this.#socket.on('data', (chunk) => this.#data(chunk))
    this.#socket.on('error', (error) => onEnd(error.message))
    this.#socket.on('close', () => onEnd('closed by the server'))
  }

  /** @param {Buffer} frame */
  send (frame) { this.#socket.write(frame) }

  close () {
    this.#socket.removeAllListeners('close')
    this.#socket.destroy()
  }

  /** @param {Buffer} chunk */
  #data (chunk) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = bytes
    if (!this.#upgraded) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end === -1) return
      if (bytes.toString('latin1', 0, 13) !== 'HTTP/1.1 101 ') return this.#onEnd('not upgraded')
      this.#upgraded = true
      bytes = bytes.subarray(end + 4)
    }
    this.#rest = readFrames(bytes, this.#onFrame)
  }
}
