import { InkcastError, publicError } from '../../base/common/errors.js'
import { TokenBucket } from '../../base/common/token-bucket.js'
import { endSocket, responseOf } from '../../base/process/socket-times.js'
import { listenerOf } from '../engine/link.js'
import { readableByAnyPage } from './origin.js'

/**
 * @typedef {import('../../base/common/random.js').Random} Random
 *
 * @typedef {import('http').ServerResponse | ((error: InkcastError) => void) | undefined} Answer where a refusal goes: a
 *   response, a function for what is not HTTP, or undefined: the socket of an upgrade
 */

/** Interval at which the queue is served, ms. */
const TICK = 20
/**
 * Handshakes per turn of the event loop: a thousand pipelined requests of one connection would block all others.
 */
export const PER_TURN = 32
/** Range of the retry delay, ms. */
const [EARLIEST, LATEST] = [1000, 5000]

/** @param {Pick<Random, 'number'>} random @returns {number} random delay, ms */
const retryInMs = (random) => Math.round(EARLIEST + random.number() * (LATEST - EARLIEST))

/**
 * @param {{ retryable: boolean }} error for a client
 * @param {Pick<Random, 'number'>} random
 * @returns {{ retryInMs?: number }}
 */
export const retryHint = ({ retryable }, random) => retryable ? { retryInMs: retryInMs(random) } : {}

/**
 * Limits the handshakes of a worker per second. A burst of one second's worth is served at once, the same number is
 * queued for up to a second, and the rest is refused below Socket.IO: stock clients treat this as a lost transport and
 * reconnect.
 * Why: docs/internals/decisions/0051-many-clients-at-once.md
 */
export class HandshakeLimit {
  #bucket
  /**
   * Queued requests, oldest first: perSecond at most, plus those served in the next turns.
   * @type {{ socket: import('stream').Duplex, go: () => void, refuse: () => void }[]}
   */
  #waiting = []
  /** Sockets of the queued requests. @type {Set<import('stream').Duplex>} */
  #sockets = new Set()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #stopped = false
  /** Handshakes in this turn. */
  #begun = 0

  /**
   * @param {object} dependencies
   * @param {number} dependencies.perSecond
   * @param {Pick<import('./connection-limits.js').ConnectionLimits, 'admits'>} dependencies.connections
   * @param {() => boolean} [dependencies.isOverloaded] whether this worker takes no new clients; default: never
   * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {import('../../base/common/clock.js').Clock} dependencies.clock
   * @param {Pick<Random, 'number'>} dependencies.random
   */
  constructor ({ perSecond, connections, isOverloaded = () => false, metrics, clock, random }) {
    this.perSecond = perSecond
    this.connections = connections
    this.isOverloaded = isOverloaded
    this.metrics = metrics
    this.clock = clock
    this.random = random
    this.#bucket = new TokenBucket({ perSecond, burst: perSecond }, clock.monotonic())
    metrics.onCollect(() => metrics.handshakes_waiting.set(this.#waiting.length))
  }

  /**
   * @param {import('stream').Duplex} socket of a request for a new session; gets the response if refused
   * @param {Answer} res
   * @param {() => void} go called now or within a second, unless the client has disconnected
   * @param {{ headers: import('http').IncomingHttpHeaders }} req the request
   */
  enter (socket, res, go, req) {
    if (this.isOverloaded()) {
      this.metrics.connections_refused.inc({ reason: 'overload' })
      return this.#refuse(socket, res, new InkcastError('overloaded'))
    }
    if (!this.connections.admits(req, socket, typeof res === 'function' ? undefined : res))
      return this.#refuse(socket, res, new InkcastError('too_many_connections'))
    const waiting = this.#waiting
    if (waiting.length === 0) this.#look()
    if (waiting.length === 0 && this.#bucket.left >= 1 && this.#begun < PER_TURN) {
      this.#begin()
      return go()
    }
    // A client that pipelines requests, unlike browsers and proxies, would fill the queue.
    if (this.#sockets.has(socket)) return void socket.destroy()
    // Node has removed its own listener from an upgrade: without one a reset would end the process.
    const onError = () => { socket.destroy() }
    if (res === undefined) socket.on('error', onError)
    if (this.#stopped || waiting.length - Math.floor(this.#bucket.left) >= this.perSecond)
      return this.#refuse(socket, res)
    this.#sockets.add(socket)
    waiting.push({
      socket,
      go () {
        socket.off('error', onError)
        go()
      },
      refuse: () => this.#refuse(socket, res)
    })
    this.#timer ??= this.clock.every(TICK, () => this.#look()).unref()
  }

  /** Refuses all queued requests, and those that would be queued from now on. */
  stop () {
    this.#stopped = true
    this.#timer?.stop()
    for (const { socket, refuse } of this.#waiting.splice(0)) if (!socket.destroyed) refuse()
  }

  #begin () {
    if (this.#begun++ === 0) this.clock.soon(() => this.#nextTurn())
    this.#bucket.take(this.clock.monotonic())
  }

  #nextTurn () {
    this.#begun = 0
    if (this.#waiting.length > 0) this.#look()
  }

  #look () {
    this.#bucket.refill(this.clock.monotonic())
    let count = 0
    while (count < this.#waiting.length && this.#bucket.left >= 1 && this.#begun < PER_TURN) {
      const { socket, go } = this.#waiting[count++]
      this.#sockets.delete(socket)
      if (socket.destroyed) continue
      this.#begin()
      go()
    }
    this.#waiting.splice(0, count)
    if (this.#waiting.length === 0) {
      this.#timer?.stop()
      this.#timer = undefined
    }
  }

  /**
   * @param {import('stream').Duplex} socket
   * @param {Answer} [res]
   * @param {InkcastError} [error]
   */
  #refuse (socket, res, error = new InkcastError('unavailable', 'too many clients at the moment')) {
    this.metrics.handshakes.inc({ result: 'refused', listener: listenerOf(socket) })
    if (typeof res === 'function') return res(error)
    const { code, message, retryable } = publicError(error)
    const body = JSON.stringify({ code, message, retryable })
    const headers = { 'Retry-After': Math.round(retryInMs(this.random) / 1000) }
    if (res === undefined) endSocket(socket, responseOf(503, body, headers), this.clock)
    else
      res
        .writeHead(503, {
          ...headers,
          'Content-Type': 'application/json',
          'Content-Length': body.length,
          Connection: 'close',
          ...readableByAnyPage(res.req.headers.origin),
          'Access-Control-Expose-Headers': 'Retry-After'
        })
        .end(body)
  }
}
