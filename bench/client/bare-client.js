/**
 * A client of the floor (bench/floor): it sends the documents it wants, and gets their frames. There is no handshake.
 */
import net from 'node:net'
import { documentOf } from '../job.js'
import { readFrames, TEXT } from '../../packages/load/frames.js'
import { READ_BUFFER } from '../../packages/load/socket.js'

const EMPTY = Buffer.alloc(0)

export class BareClient {
  /** @type {Map<number, number> | undefined} */
  seen
  #rest = EMPTY
  #socket
  #closed = false
  #listeners
  /** @type {((error: Error | null) => void)[]} */
  #waiting = []
  #onFrame = (/** @type {number} */ opcode, /** @type {Buffer} */ payload) => {
    if (opcode !== TEXT) this.#waiting.shift()?.(null)
    else this.#listeners.onEvent?.(payload, this)
  }

  /**
   * @param {import('./websocket-client.js').Target} target
   * @param {import('./websocket-client.js').Member} member
   * @param {import('./websocket-client.js').Listeners} listeners
   * @param {(error: Error | null) => void} settle called once: the client has joined, or failed
   */
  constructor (target, { guid, source }, listeners, settle) {
    this.#listeners = listeners
    this.#waiting.push(settle)
    this.#socket = net.connect({
      ...target,
      localAddress: source,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (length, buffer) => this.#data(/** @type {Buffer} */ (buffer).subarray(0, length))
      }
    })
    this.#socket.on('connect', () => this.#ask(guid))
    this.#socket.on('error', (error) => this.fail(error.message))
    this.#socket.on('close', () => this.fail('closed by the server'))
  }

  close () {
    this.#closed = true
    this.#socket.destroy()
  }

  /** @param {string} reason */
  fail (reason) {
    if (this.#closed) return
    this.close()
    if (this.#waiting.length === 0) this.#listeners.onLost?.(reason)
    for (const settle of this.#waiting.splice(0)) settle(new Error(reason))
  }

  /** @param {string} guid @returns {Promise<void>} */
  join (guid) {
    return new Promise((resolve, reject) => {
      this.#waiting.push((error) => error === null ? resolve() : reject(error))
      this.#ask(guid)
    })
  }

  /** @param {string} guid */
  #ask (guid) {
    const request = Buffer.allocUnsafe(4)
    request.writeUInt32LE(documentOf(guid))
    this.#socket.write(request)
  }

  /** @param {Buffer} chunk */
  #data (chunk) {
    const rest = readFrames(this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]), this.#onFrame)
    this.#rest = rest.length === 0 ? EMPTY : Buffer.from(rest)
    return true
  }
}
