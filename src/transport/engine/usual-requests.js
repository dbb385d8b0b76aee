import { Answer } from './answer.js'
import { Deadlines } from './deadlines.js'
import { setReader } from './socket-reader.js'

/**
 * Requests of polling clients in the form that browsers and libraries send: a GET, or a POST with one Content-Length,
 * whole in one piece. They are handled without Node's HTTP parser, one after the other on each connection; every other
 * request is passed to Node, where the same limits hold (base/process/socket-times.js).
 */

/** Time for which a date is used again, ms. */
const DATE_TIME = 1000

export class UsualRequests {
  #handle
  #isDraining
  #clock
  #connectionHeaders
  /** Answers that are not read, or not given yet. */
  #busy
  /** Connections between two requests. */
  #kept
  #date = ''
  #dateUntil = -Infinity
  /** @type {import('./socket-reader.js').Reader | null} */
  #next = null

  /**
   * @param {object} options
   * @param {import('../../base/process/socket-times.js').Times} options.times
   * @param {() => boolean} options.isDraining
   * @param {Deadlines} options.closing
   * @param {import('../../base/common/clock.js').Clock} options.clock
   * @param {(request: any, answer: any) => void} handle
   */
  constructor ({ times, isDraining, closing, clock }, handle) {
    this.#handle = handle
    this.#isDraining = isDraining
    this.closing = closing
    this.#clock = clock
    this.#busy = new Deadlines(times.silence, clock)
    this.#kept = new Deadlines(times.keepAlive, clock)
    this.#connectionHeaders = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(times.keepAlive / 1000)}\r\n`
  }

  /** @param {import('./socket-reader.js').Reader} reader of the next request of a connection */
  readNextWith (reader) { this.#next = reader }

  /**
   * @param {import('./request.js').UsualRequest} request
   * @param {import('net').Socket} netSocket
   */
  take (request, netSocket) {
    const answer = new Answer(request, this)
    request.res = answer
    setReader(netSocket, answer)
    this.#handle(request, answer)
    if (!answer.taken) this.#busy.add(answer)
  }

  /** A connection has its next request, or has ended. @param {import('net').Socket} netSocket */
  begun (netSocket) { this.#kept.delete(netSocket) }

  /** Ends connections that have no request. */
  endIdle () { this.#kept.end() }

  endAll () {
    this.#kept.end()
    this.#busy.end()
  }

  // Connections (answer.js)

  get draining () { return this.#isDraining() }

  connectionHeaders () { return this.#connectionHeaders }

  date () {
    const now = this.#clock.now()
    if (now >= this.#dateUntil || now < this.#dateUntil - DATE_TIME) {
      this.#date = new Date(now).toUTCString()
      this.#dateUntil = now - now % DATE_TIME + DATE_TIME
    }
    return this.#date
  }

  /** @param {Answer} answer @param {import('net').Socket} netSocket @param {Buffer | null} next */
  answered (answer, netSocket, next) {
    this.#busy.delete(answer)
    if (netSocket.destroyed) return
    const reader = /** @type {import('./socket-reader.js').Reader} */ (this.#next)
    setReader(netSocket, reader)
    this.#kept.add(netSocket)
    if (next === null) return
    netSocket.resume()
    reader.received(next, netSocket)
  }

  /** @param {Answer} answer */
  lost (answer) { this.#busy.delete(answer) }
}
