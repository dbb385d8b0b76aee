import { EventEmitter } from 'node:events'
import { constants } from 'node:http2'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { InkcastError } from '../../../base/common/errors.js'
import { checkFields } from './field-count.js'
import { FrameReader } from './frame-reader.js'
import { OK, RESOURCE_EXHAUSTED, statusFrom } from './status.js'

/** Encodings of `grpc-encoding` that a client may use. @type {Record<string, (bytes: Buffer, max: number) => any>} */
const DECODERS = {
  gzip: (bytes, max) => promisify(gunzip)(bytes, { maxOutputLength: max }),
  deflate: (bytes, max) => promisify(inflate)(bytes, { maxOutputLength: max })
}
const HEADERS = Object.freeze({
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-encoding': 'identity',
  'grpc-accept-encoding': 'identity,deflate,gzip'
})
/** Bytes handed to HTTP/2 at once; the time that a client takes for them shows whether it reads. */
const SLICE = 16 * 1024
/** Bytes that the client has not read, from which on nothing should be written. */
const FULL = 64 * 1024
/** Hours, minutes, seconds, ms, us, ns. @type {Record<string, number>} */
const UNITS = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }

/**
 * @typedef {object} Method of a service, as proto-loader describes it
 * @property {(bytes: Buffer) => any} requestDeserialize
 * @property {(message: any) => Buffer} responseSerialize
 *
 * @typedef {Pick<import('../request-limit.js').Permit, 'grow'>} Bytes what the call has in memory
 *
 * @typedef {object} Endpoint one rpc
 * @property {string} operation its name in metrics
 * @property {Method} method
 * @property {boolean} [open] it needs no credential
 * @property {boolean} [streams] the client sends any number of messages; default: one
 * @property {{ field: number, max: number }} [list] see checkFields
 * @property {number} [maxBytes] of a message
 * @property {(request: any, caller: import('../callers/caller.js').Caller | undefined, permit:
 *   import('../request-limit.js').Permit) => object | Promise<object>} [answer] to the
 *   one message; default: `serve`
 * @property {(call: Call, given: any) => Promise<void>} [serve] resolves when the call is to end. `given` is the one
 *   message; with `streams` the caller and the signal that ends the stream
 */

/**
 * One call: a stream of HTTP/2 with messages in both directions. Nothing of it is read before `read`, so a client that
 * is refused costs its headers only.
 *
 * Events: `arrived` (a message is whole, and decoded unless a listener pauses the call, or throws what the call ends
 * with), `message` (decoded), `end` (the client sends no further message), `refused` (what the client sent cannot be
 * taken; the call has ended with the reason), `drain` (the client has read what was written) and `close`.
 */
export class Call extends EventEmitter {
  #stream
  #method
  #maxBytes
  #times
  #decompressions
  #clock
  /** @type {FrameReader | undefined} */
  #reader
  /** @type {import('./frame-reader.js').Frame[]} */
  #frames = []
  #frameBytes = 0
  /** @type {Bytes | undefined} */
  #bytes
  #caller = ''
  #counted = 0
  #encoding
  /** @type {{ field: number, max: number } | undefined} */
  #list
  #streams = false
  #paused = false
  #working = false
  #halfClosed = false
  #ended = false
  /** When the message that is arriving began. @type {number | undefined} */
  #since
  #deadline = Infinity
  /** @type {Buffer[]} */
  #out = []
  #unread = 0
  #writing = false
  #progressAt = 0
  #finished = false

  /**
   * @param {import('node:http2').ServerHttp2Stream} stream
   * @param {import('node:http2').IncomingHttpHeaders} headers
   * @param {object} options
   * @param {Method} options.method
   * @param {number} options.maxBytes of one message
   * @param {{ request: number, silence: number }} options.times
   * @param {import('../../../base/common/fair-turns.js').FairTurns} options.decompressions of all calls
   * @param {import('../../../base/common/clock.js').Clock} options.clock
   */
  constructor (stream, headers, { method, maxBytes, times, decompressions, clock }) {
    super()
    this.headers = headers
    this.closed = false
    this.#stream = stream
    this.#method = method
    this.#maxBytes = maxBytes
    this.#times = times
    this.#decompressions = decompressions
    this.#clock = clock
    this.#encoding = String(headers['grpc-encoding'] ?? 'identity')
    const [, time, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(headers['grpc-timeout'])) ?? []
    if (unit !== undefined) this.#deadline = clock.monotonic() + Number(time) * UNITS[unit]
    stream.on('close', () => {
      this.closed = true
      this.#frames = []
      this.#out = []
      this.emit('close')
    })
  }

  /**
   * Reads messages from now on.
   * @param {object} options
   * @param {Bytes} options.bytes
   * @param {boolean} [options.streams] the client sends any number of messages; default: one, which is kept to the end
   *   of the call
   * @param {{ field: number, max: number }} [options.list] see checkFields
   * @param {string} [options.caller] its name
   */
  read ({ bytes, streams = false, list, caller = '' }) {
    this.#bytes = bytes
    this.#caller = caller
    this.#streams = streams
    this.#list = list
    this.#reader = new FrameReader(this.#maxBytes)
    if (!streams) this.#since = this.#clock.monotonic()
    this.#stream.on('data', (/** @type {Buffer} */ chunk) => this.#received(chunk))
    this.#stream.on('end', () => {
      this.#halfClosed = true
      this.#work()
    })
  }

  pause () {
    this.#paused = true
    this.#stream.pause()
  }

  resume () {
    if (!this.#paused) return
    this.#paused = false
    if (this.#since !== undefined) this.#since = this.#clock.monotonic()
    this.#work()
  }

  isPaused () { return this.#paused }

  /**
   * @param {object} message
   * @param {(bytes: number) => void} [count] throws if there is no room for the message
   * @returns {boolean} false: the client has not read what was written before; `drain` follows
   */
  write (message, count) {
    if (this.closed || this.#finished) return true
    const body = this.#method.responseSerialize(message)
    count?.(body.length)
    const head = Buffer.alloc(5)
    head.writeUInt32BE(body.length, 1)
    this.#open()
    if (this.#unread === 0) this.#progressAt = this.#clock.monotonic()
    this.#unread += head.length + body.length
    this.#out.push(head, body)
    this.#flush()
    return this.#unread < FULL
  }

  /** @param {unknown} [error] default: the call has succeeded */
  finish (error) {
    this.#finishWith(error === undefined ? OK : statusFrom(error))
  }

  /** @param {import('node:http2').OutgoingHttpHeaders} trailers */
  #finishWith (trailers) {
    if (this.closed || this.#finished) return
    this.#finished = true
    this.#frames = []
    // what still comes is dropped, or the stream would never end
    this.#stream.removeAllListeners('data').resume()
    if (!this.#stream.headersSent) {
      this.#stream.respond({ ...HEADERS, ...trailers }, { endStream: true })
      // otherwise a client could send on without an end
      this.#stream.close(constants.NGHTTP2_NO_ERROR)
      return
    }
    this.#stream.once('wantTrailers', () => {
      this.#stream.sendTrailers(trailers)
      // a reset at once would overtake the trailers
      this.#clock.soon(() => this.#stream.close(constants.NGHTTP2_NO_ERROR))
    })
    this.#flush()
  }

  /**
   * Ends the call if its time is over: its deadline, a message that does not arrive, or an answer that the client does
   * not read.
   * @param {number} now ms, monotonic
   */
  look (now) {
    const { request, silence } = this.#times
    if (this.#unread > 0 && now - this.#progressAt >= silence) this.#stream.close(constants.NGHTTP2_CANCEL)
    else if (now >= this.#deadline) this.finish(new InkcastError('timeout'))
    else if (this.#since !== undefined && !this.#paused && now - this.#since >= request)
      this.finish(new InkcastError('bad_request', 'the message did not arrive in time'))
  }

  /** @param {Buffer} chunk */
  #received (chunk) {
    const reader = /** @type {FrameReader} */ (this.#reader)
    let frames
    try {
      frames = reader.read(chunk)
      for (const { bytes } of frames) this.#frameBytes += bytes.length
      this.#count()
    } catch (error) {
      return this.#refuse(error)
    }
    this.#frames.push(...frames)
    if (this.#streams && !reader.begun) this.#since = undefined
    else if (this.#streams && (frames.length > 0 || this.#since === undefined)) this.#since = this.#clock.monotonic()
    this.#work()
  }

  /** Counts what is in memory. */
  #count () {
    const now = this.#frameBytes + /** @type {FrameReader} */ (this.#reader).held
    const more = now - this.#counted
    this.#counted = now
    if (more !== 0) this.#bytes?.grow(more)
  }

  /** Hands out messages, one after the other, while the call takes them. */
  async #work () {
    if (this.#working) return
    this.#working = true
    try {
      for (;;) {
        if (this.#paused || this.#finished || this.closed) return
        if (this.#frames.length === 0) break
        this.emit('arrived')
        if (this.#paused || this.#finished || this.closed) return
        const frame = /** @type {import('./frame-reader.js').Frame} */ (this.#frames.shift())
        const bytes = frame.compressed ? await this.#decompress(frame.bytes) : frame.bytes
        if (this.#finished || this.closed) return
        if (this.#streams) this.#frameBytes -= frame.bytes.length
        else this.#frameBytes += bytes.length - frame.bytes.length
        this.#count()
        this.emit('message', this.#decode(bytes))
      }
      if (this.#halfClosed && !this.#ended) {
        this.#ended = true
        this.#since = undefined
        this.emit('end')
      } else if (this.#stream.isPaused()) this.#stream.resume()
    } catch (error) {
      this.#refuse(error)
    } finally {
      this.#working = false
    }
  }

  /** @param {Buffer} bytes @returns {Promise<Buffer>} */
  async #decompress (bytes) {
    const decode = DECODERS[this.#encoding]
    if (decode === undefined) throw new InkcastError('bad_request', 'grpc-encoding is not one of gzip and deflate')
    this.#stream.pause()
    try {
      // of a call that has gone, nothing is decompressed in its turn
      return await this.#decompressions.run(this.#caller, async () =>
        this.closed || this.#finished ? bytes : decode(bytes, this.#maxBytes))
    } catch (error) {
      if (error instanceof InkcastError) throw error
      if (/** @type {any} */ (error).code === 'ERR_BUFFER_TOO_LARGE')
        throw new InkcastError('value_too_large', `the message has more than ${this.#maxBytes} bytes`)
      throw new InkcastError('bad_request', 'the message cannot be decompressed')
    }
  }

  /** @param {Buffer} bytes */
  #decode (bytes) {
    checkFields(bytes, this.#list)
    try {
      return this.#method.requestDeserialize(bytes)
    } catch {
      throw new InkcastError('bad_request', 'the message is not well formed')
    }
  }

  /** @param {unknown} error of what the client has sent */
  #refuse (error) {
    const { code } = /** @type {{ code?: string }} */ (error)
    // as other servers of gRPC answer a message that is too large
    this.#finishWith(statusFrom(error, code === 'value_too_large' ? RESOURCE_EXHAUSTED : undefined))
    this.emit('refused', error)
  }

  #open () {
    if (!this.#stream.headersSent) this.#stream.respond(HEADERS, { waitForTrailers: true })
  }

  #flush () {
    if (this.#writing || this.closed) return
    if (this.#out.length === 0) {
      if (this.#finished && this.#stream.headersSent) this.#stream.end()
      return
    }
    const bytes = this.#slice()
    this.#writing = true
    this.#stream.write(bytes, () => {
      this.#writing = false
      this.#unread -= bytes.length
      this.#progressAt = this.#clock.monotonic()
      this.#flush()
      if (this.#unread === 0 && !this.closed) this.emit('drain')
    })
  }

  /** @returns {Buffer} the next bytes: small messages together, large ones in slices */
  #slice () {
    const parts = []
    let length = 0
    while (this.#out.length > 0 && length < SLICE) {
      const [first] = this.#out
      const part = first.subarray(0, SLICE - length)
      if (part.length === first.length) this.#out.shift()
      else this.#out[0] = first.subarray(part.length)
      parts.push(part)
      length += part.length
    }
    return Buffer.concat(parts, length)
  }
}
