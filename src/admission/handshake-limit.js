import { InkcastError, publicError } from '../common/errors.js'
import { endSocket, responseOf } from '../process/socket-times.js'
import { readableByAnyPage } from './origin.js'

/**
 * How many clients a worker begins with per second. A burst of one second's worth is served at once, as many more wait,
 * a second at most, and those beyond are refused below Socket.IO, which stock clients take for a lost transport:
 * they come back by themselves.
 * Why: docs/decisions/0051-storms.md
 */

/** Those who wait are looked at so often, ms. */
const TICK = 20
/**
 * As many begin in one turn of the event loop: a thousand that one connection sends at once would keep all others
 * waiting.
 */
const PER_TURN = 32
/** When to come back, ms, spread over all of it. */
const [EARLIEST, LATEST] = [1000, 5000]

/** @returns {number} ms, another one for each client */
const retryInMs = () => Math.round(EARLIEST + Math.random() * (LATEST - EARLIEST))

/** @param {{ retryable: boolean }} error that a client is told @returns {{ retryInMs?: number }} when to come back */
export const retryHint = ({ retryable }) => retryable ? { retryInMs: retryInMs() } : {}

/**
 * @param {object} dependencies
 * @param {number} dependencies.perSecond
 * @param {Pick<ReturnType<typeof import('./connection-limits.js').createConnectionLimits>, 'admits' | 'opened'>}
 *   dependencies.connections
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export function createHandshakeLimit ({ perSecond, connections, metrics, clock }) {
  let allowed = perSecond
  let at = clock.monotonic()
  /**
   * In the order in which they came; at most perSecond, and those who may begin in the next turns.
   * @type {{ socket: import('stream').Duplex, go: () => void, refuse: () => void }[]}
   */
  const waiting = []
  /** Theirs. @type {Set<import('stream').Duplex>} */
  const sockets = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let stopped = false
  /** Those that have begun in this turn. */
  let begun = 0

  function begin () {
    if (begun++ === 0) setImmediate(nextTurn)
    allowed--
  }

  function nextTurn () {
    begun = 0
    if (waiting.length > 0) look()
  }

  metrics.onCollect(() => metrics.handshakes_waiting.set(waiting.length))

  function look () {
    const now = clock.monotonic()
    allowed = Math.min(perSecond, allowed + (now - at) / 1000 * perSecond)
    at = now
    let count = 0
    while (count < waiting.length && allowed >= 1 && begun < PER_TURN) {
      const { socket, go } = waiting[count++]
      sockets.delete(socket)
      if (socket.destroyed) continue
      begin()
      go()
    }
    waiting.splice(0, count)
    if (waiting.length === 0) {
      clearInterval(timer)
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
    const headers = { 'Retry-After': Math.round(retryInMs() / 1000) }
    if (res === undefined) endSocket(socket, responseOf(503, body, headers))
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
     * @param {import('stream').Duplex} socket of the request that begins a session; answered if it is refused
     * @param {import('http').ServerResponse | undefined} res absent: an upgrade
     * @param {() => void} go called now or within a second, unless the client has gone
     * @param {{ headers: import('http').IncomingHttpHeaders }} req the request
     */
    enter (socket, res, go, req) {
      if (!connections.admits(req, socket, res)) return refuse(socket, res, new InkcastError('too_many_connections'))
      if (waiting.length === 0) look()
      if (waiting.length === 0 && allowed >= 1 && begun < PER_TURN) {
        begin()
        return go()
      }
      // it does not wait for answers, as browsers and proxies do, and each of its requests would be kept
      if (sockets.has(socket)) return void socket.destroy()
      // Node has taken its own listener off an upgrade, and a client that resets would end the process
      const onError = () => { socket.destroy() }
      if (res === undefined) socket.on('error', onError)
      if (stopped || waiting.length - Math.floor(allowed) >= perSecond) return refuse(socket, res)
      sockets.add(socket)
      waiting.push({
        socket,
        go () {
          socket.off('error', onError)
          go()
        },
        refuse () { refuse(socket, res) }
      })
      timer ??= setInterval(look, TICK).unref()
    },

    /** @param {any} session that a request has become, before anything of the request is dropped */
    opened (session) { connections.opened(session) },

    /** Refuses who waits and who would have to. */
    stop () {
      stopped = true
      clearInterval(timer)
      for (const { socket, refuse } of waiting.splice(0)) if (!socket.destroyed) refuse()
    }
  }
}
