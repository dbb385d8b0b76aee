import { EventEmitter } from 'node:events'
import { STATUS_CODES } from 'node:http'

/**
 * The response to a usual request (usual-requests.js), in place of Node's ServerResponse: the methods of it that
 * Engine.IO, admission and the engine use. It is sent in one write. While a request has no whole answer, its answer
 * reads the connection: the next request waits, and nothing more is read behind it.
 *
 * Events: `finish` once the kernel has taken all of it, `close` after that, or when the connection has ended before.
 *
 * @typedef {object} Connections what all answers of a listener share
 * @property {() => string} connectionHeaders of an answer after which the connection is kept
 * @property {() => string} date
 * @property {boolean} draining
 * @property {(answer: Answer, netSocket: import('net').Socket, next: Buffer | null) => void} answered the kernel has
 *   taken all of it; next: bytes that came meanwhile
 * @property {(answer: Answer) => void} lost the connection ended before
 * @property {import('./deadlines.js').Deadlines} closing
 *
 * @typedef {import('./socket-reader.js').Reader} Reader
 */

const EMPTY = Buffer.alloc(0)

/** @implements {Reader} */
export class Answer extends EventEmitter {
  headersSent = false
  writableEnded = false
  writableFinished = false
  #netSocket
  #connections
  #keeps
  #closed = false
  #status = 200
  #fields = ''
  #hasLength = false
  /** Written before the end. @type {Buffer[] | null} */
  #parts = null
  /** Bytes of the next request. @type {Buffer | null} */
  #next = null

  /**
   * @param {import('./request.js').UsualRequest} req
   * @param {Connections} connections
   */
  constructor (req, connections) {
    super()
    this.req = req
    this.#netSocket = req.socket
    this.#keeps = req.keepsConnection
    this.#connections = connections
  }

  get destroyed () { return this.#closed || this.#netSocket.destroyed }
  get closing () { return this.#connections.closing }
  /** Whether the kernel has all of it, or has got it in this turn. */
  get taken () { return this.#closed || (this.writableEnded && this.#netSocket.writableLength === 0) }

  /** @param {string} name @param {string | number} value without a line end */
  setHeader (name, value) {
    const lower = name.toLowerCase()
    if (lower === 'connection') this.#keeps &&= value !== 'close'
    else {
      this.#hasLength ||= lower === 'content-length'
      this.#fields += `${name}: ${value}\r\n`
    }
  }

  /** @param {number} status @param {Record<string, string | number>} [headers] @returns {this} */
  writeHead (status, headers = {}) {
    this.#status = status
    this.headersSent = true
    for (const name in headers) this.setHeader(name, headers[name])
    return this
  }

  /** For a stream that compresses it: kept until the end. @param {Buffer} part */
  write (part) {
    (this.#parts ??= []).push(part)
    return true
  }

  /** @param {string | Buffer} [body] */
  end (body = '') {
    if (this.writableEnded) return this
    this.headersSent = this.writableEnded = true
    if (this.destroyed) return this
    if (this.#parts !== null) body = Buffer.concat(this.#parts)
    const connections = this.#connections
    if (connections.draining) this.#keeps = false
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    const head = `HTTP/1.1 ${this.#status} ${STATUS_CODES[this.#status]}\r\n${this.#fields}` +
      (this.#hasLength ? '' : `Content-Length: ${length}\r\n`) +
      `Date: ${connections.date()}\r\n${this.#keeps ? connections.connectionHeaders() : 'Connection: close\r\n'}\r\n`
    if (typeof body !== 'string') this.#netSocket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]))
    // Characters and bytes are the same number: ASCII, which is written without a conversion.
    else this.#netSocket.write(head + body, length === body.length ? 'latin1' : 'utf8')
    // Engine.IO expects the end in a later turn.
    if (this.#netSocket.writableLength === 0) process.nextTick(finish, this)
    else this.#netSocket.write(EMPTY, () => finish(this))
    return this
  }

  /** Ends the connection. */
  destroy () {
    this.#netSocket.destroy()
    return this
  }

  /** The kernel has all of it. */
  finished () {
    if (this.#closed) return
    this.writableFinished = true
    this.#closed = true
    this.emit('finish')
    this.#close()
    const netSocket = this.#netSocket
    if (this.#keeps) return this.#connections.answered(this, netSocket, this.#next)
    this.#connections.lost(this)
    // Nothing is unread, unless the client sent more than it said. TLS says goodbye first.
    if (/** @type {any} */ (netSocket).encrypted) netSocket.destroySoon()
    else netSocket.destroy()
  }

  // Reader (socket-reader.js)

  /** @param {Buffer} chunk of the next request @param {import('net').Socket} netSocket */
  received (chunk, netSocket) {
    if (!this.#keeps) return
    this.#next = this.#next === null ? chunk : Buffer.concat([this.#next, chunk])
    netSocket.pause()
  }

  ended () {
    if (this.#closed) return
    this.#closed = true
    this.#connections.lost(this)
    this.#close()
  }

  #close () {
    this.emit('close')
    this.req.close()
  }
}

/** @param {Answer} answer */
const finish = (answer) => answer.finished()
