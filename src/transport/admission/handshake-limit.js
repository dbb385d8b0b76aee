import { InkcastError, publicError } from '../../base/common/errors.js'
import { TokenBucket } from '../../base/common/token-bucket.js'
import { endSocket, responseOf } from '../../base/process/socket-times.js'
import { readableByAnyPage } from './origin.js'

/**
 * Limits the handshakes of a worker per second. A burst of one second's worth is served at once, the same number is
 * queued for up to a second, and the rest is refused below Socket.IO: stock clients treat this as a lost transport and
 * reconnect.
 * Why: docs/decisions/0051-many-clients-at-once.md
 *
 * @typedef {import('../../base/common/random.js').Random} Random
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
 * @param {object} dependencies
 * @param {number} dependencies.perSecond
 * @param {Pick<import('./connection-limits.js').ConnectionLimits, 'admits'>} dependencies.connections
 * @param {() => boolean} [dependencies.isOverloaded] whether this worker takes no new clients; default: never
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<Random, 'number'>} dependencies.random
 */
export function createHandshakeLimit ({
  perSecond, connections, isOverloaded = () => false, metrics, clock, random
}) {
  const bucket = new TokenBucket({ perSecond, burst: perSecond }, clock.monotonic())
  /**
   * Queued requests, oldest first: perSecond at most, plus those served in the next turns.
   * @type {{ socket: import('stream').Duplex, go: () => void, refuse: () => void }[]}
   */
  const waiting = []
  /** Sockets of the queued requests. @type {Set<import('stream').Duplex>} */
  const sockets = new Set()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  let stopped = false
  /** Handshakes in this turn. */
  let begun = 0

  function begin () {
    if (begun++ === 0) clock.soon(nextTurn)
    bucket.take(clock.monotonic())
  }

  function nextTurn () {
    begun = 0
    if (waiting.length > 0) look()
  }

  metrics.onCollect(() => metrics.handshakes_waiting.set(waiting.length))

  function look () {
    bucket.refill(clock.monotonic())
    let count = 0
    while (count < waiting.length && bucket.left >= 1 && begun < PER_TURN) {
      const { socket, go } = waiting[count++]
      sockets.delete(socket)
      if (socket.destroyed) continue
      begin()
      go()
    }
    waiting.splice(0, count)
    if (waiting.length === 0) {
      timer?.stop()
      timer = undefined
    }
  }

  /**
   * @param {import('stream').Duplex} socket
   * @param {import('http').ServerResponse} [res] absent: an upgrade
   * @param {InkcastError} [error]
   */
  function refuse (socket, res, error = new InkcastError('unavailable', 'too many clients at the moment')) {
    metrics.handshakes.inc({ result: 'refused' })
    const { code, message, retryable } = publicError(error)
    const body = JSON.stringify({ code, message, retryable })
    const headers = { 'Retry-After': Math.round(retryInMs(random) / 1000) }
    if (res === undefined) endSocket(socket, responseOf(503, body, headers), clock)
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

  return {
    /**
     * @param {import('stream').Duplex} socket of a request for a new session; gets the response if refused
     * @param {import('http').ServerResponse | undefined} res absent: an upgrade
     * @param {() => void} go called now or within a second, unless the client has disconnected
     * @param {{ headers: import('http').IncomingHttpHeaders }} req the request
     */
    enter (socket, res, go, req) {
      if (isOverloaded()) {
        metrics.connections_refused.inc({ reason: 'overload' })
        return refuse(socket, res, new InkcastError('overloaded'))
      }
      if (!connections.admits(req, socket, res)) return refuse(socket, res, new InkcastError('too_many_connections'))
      if (waiting.length === 0) look()
      if (waiting.length === 0 && bucket.left >= 1 && begun < PER_TURN) {
        begin()
        return go()
      }
      // A client that pipelines requests, unlike browsers and proxies, would fill the queue.
      if (sockets.has(socket)) return void socket.destroy()
      // Node has removed its own listener from an upgrade: without one a reset would end the process.
      const onError = () => { socket.destroy() }
      if (res === undefined) socket.on('error', onError)
      if (stopped || waiting.length - Math.floor(bucket.left) >= perSecond) return refuse(socket, res)
      sockets.add(socket)
      waiting.push({
        socket,
        go () {
          socket.off('error', onError)
          go()
        },
        refuse () { refuse(socket, res) }
      })
      timer ??= clock.every(TICK, look).unref()
    },

    /** Refuses all queued requests, and those that would be queued from now on. */
    stop () {
      stopped = true
      timer?.stop()
      for (const { socket, refuse } of waiting.splice(0)) if (!socket.destroyed) refuse()
    }
  }
}
