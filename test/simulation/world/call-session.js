import { EventEmitter } from 'node:events'
import { constants } from 'node:http2'
import { Duplex } from 'node:stream'

/**
 * Calls over one connection, as HTTP/2 carries them, with the parts of Node's classes that inkcast's gRPC uses. Node's
 * own cannot run in a world: it writes between turns, when no process has one.
 *
 * A message on the connection is its length, the number of its call, its kind, and a body.
 */
const HEAD = 9
/** Kinds of messages. */
const KIND = Object.freeze({ headers: 1, data: 2, end: 3, trailers: 4, reset: 5, goaway: 6 })

/** One call. Events beside those of a stream: `headers`, `trailers`, and `wantTrailers`. */
export class CallStream extends Duplex {
  headersSent = false
  #session
  #number
  #waitsForTrailers = false

  /** @param {CallSession} session @param {number} number */
  constructor (session, number) {
    super()
    this.#session = session
    this.#number = number
  }

  /** @param {object} headers @param {{ endStream?: boolean, waitForTrailers?: boolean }} [options] */
  respond (headers, { endStream = false, waitForTrailers = false } = {}) {
    this.headersSent = true
    this.#waitsForTrailers = waitForTrailers
    this.#session.send(this.#number, KIND.headers, Buffer.from(JSON.stringify(headers)))
    if (endStream) this.end()
  }

  /** @param {object} trailers */
  sendTrailers (trailers) { this.#session.send(this.#number, KIND.trailers, Buffer.from(JSON.stringify(trailers))) }

  /** The call is over, whatever is still to come. @param {number} code */
  close (code) {
    if (this.destroyed) return
    this.#session.send(this.#number, KIND.reset, Buffer.from([code]))
    this.destroy()
  }

  /** @param {number} kind @param {Buffer} body that the peer has sent */
  arrived (kind, body) {
    if (kind === KIND.data) this.push(body)
    else if (kind === KIND.end) this.push(null)
    else if (kind === KIND.reset) this.destroy()
    else {
      this.emit(kind === KIND.headers ? 'headers' : 'trailers', JSON.parse(String(body)))
      if (kind === KIND.trailers) this.push(null)
    }
  }

  /** @override */
  _read () {}

  /** @override @param {Buffer} bytes @param {string} _ @param {() => void} done */
  _write (bytes, _, done) { this.#session.send(this.#number, KIND.data, bytes, done) }

  /** @override @param {() => void} done */
  _final (done) {
    if (this.#waitsForTrailers) this.emit('wantTrailers')
    else this.#session.send(this.#number, KIND.end)
    done()
  }

  /** @override @param {Error | null} error @param {(error: Error | null) => void} done */
  _destroy (error, done) {
    this.#session.ended(this.#number)
    done(error)
  }
}

/** One connection. Events: `stream` with a call and its headers, `goaway`, `close`. */
export class CallSession extends EventEmitter {
  /** @type {Map<number, CallStream>} */
  #calls = new Map()
  #last = 0
  #isClosing = false
  #rest = /** @type {Buffer} */ (Buffer.alloc(0))

  /** @param {import('node:net').Socket} socket */
  constructor (socket) {
    super()
    this.socket = socket
    socket.on('data', (bytes) => this.#read(bytes))
    socket.on('close', () => {
      for (const call of [...this.#calls.values()]) call.destroy()
      this.emit('close')
    })
  }

  /** Begins a call. @param {object} headers @returns {CallStream} */
  request (headers) {
    const number = this.#last += 2
    const call = new CallStream(this, number)
    this.#calls.set(number, call)
    this.send(number, KIND.headers, Buffer.from(JSON.stringify(headers)))
    return call
  }

  /** No further calls; the connection ends with the last open one. */
  close () {
    if (this.#isClosing) return
    this.#isClosing = true
    this.send(0, KIND.goaway)
    if (this.#calls.size === 0) this.socket.end()
  }

  ping () {}

  /** @param {number} number @param {number} kind @param {Buffer} [body] @param {() => void} [done] */
  send (number, kind, body = Buffer.alloc(0), done = () => {}) {
    if (!this.socket.writable) return done()
    const head = Buffer.alloc(HEAD)
    head.writeUInt32BE(body.length)
    head.writeUInt32BE(number, 4)
    head[8] = kind
    this.socket.write(Buffer.concat([head, body]), () => done())
  }

  /** @param {number} number of a call */
  ended (number) {
    this.#calls.delete(number)
    if (this.#isClosing && this.#calls.size === 0) this.socket.end()
  }

  /** @param {Buffer} bytes */
  #read (bytes) {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    while (rest.length >= HEAD && rest.length >= HEAD + rest.readUInt32BE(0)) {
      const end = HEAD + rest.readUInt32BE(0)
      this.#arrived(rest.readUInt32BE(4), rest[8], rest.subarray(HEAD, end))
      rest = rest.subarray(end)
    }
    this.#rest = rest
  }

  /** @param {number} number @param {number} kind @param {Buffer} body */
  #arrived (number, kind, body) {
    if (kind === KIND.goaway) return void this.emit('goaway')
    const call = this.#calls.get(number)
    if (call !== undefined) return call.arrived(kind, body)
    // of a call that has ended here
    if (kind !== KIND.headers || number <= this.#last) return
    this.#last = number
    if (this.#isClosing) return this.send(number, KIND.reset, Buffer.from([constants.NGHTTP2_REFUSED_STREAM]))
    const begun = new CallStream(this, number)
    this.#calls.set(number, begun)
    this.emit('stream', begun, JSON.parse(String(body)))
  }
}
