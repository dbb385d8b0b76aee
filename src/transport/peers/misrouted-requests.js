import { destroyAfter } from '../../base/process/socket-times.js'
import { workerOfSid } from '../../wire/session-id.js'
import { createForwarded } from './forwarded.js'
import { handOver } from './handover.js'
import { createOwnerClient, onceOpen } from './owner-client.js'
import { createOwnerRoutes } from './owner-routes.js'
import { PROOF_HEADER } from './request-proof.js'

/**
 * Requests that reached the wrong worker. A session id names the worker that owns the session, so no table is needed:
 * each request is passed on by itself, also on a keep-alive connection of several sessions. An upgrade is handed over
 * with its connection where the launcher supports it; everything else is forwarded to the owner's session listener, or
 * over TCP to its peer listener on another machine. These listeners carry out no command but the release of a session,
 * which needs a proof.
 *
 * @typedef {ReturnType<typeof createMisroutedRequests>} MisroutedRequests
 * @typedef {import('./owner-routes.js').Route} Route
 * @typedef {import('http').IncomingMessage} IncomingMessage
 */

/** Headers of one hop: those of RFC 9110, 7.6.1, and an expectation that is met already. Node's client sets its own. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])
/** Headers that are never taken from a client. */
const OURS = new Set([PROOF_HEADER, 'content-length'])
/** The owner does not accept connections. */
const UNREACHABLE = Symbol('unreachable')
/** @type {Record<string, string>} */
const NO_BODY = Object.freeze({})
/** Engine.IO's own response for an unknown session, after which clients reconnect. */
const UNKNOWN_SID = '{"code":1,"message":"Session ID unknown"}'

/**
 * @param {object} dependencies
 * @param {number} dependencies.workerNumber of this worker
 * @param {(workerNumber: number) => Promise<Route | undefined>} dependencies.findRoute undefined: no such worker
 * @param {() => string} dependencies.secret for the proof to other machines (request-proof.js)
 * @param {import('../../config/tls/certificate.js').Certificate} [dependencies.certificate] of this machine, for owners
 *   on other
 *   machines that require one
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {number} [dependencies.lastWords] timeout for a client to read the owner's last bytes and to close, ms; the
 *   same as after a WebSocket close
 */
export function createMisroutedRequests ({
  workerNumber, findRoute, secret, certificate, metrics, log, clock, lastWords = 30_000
}) {
  const routes = createOwnerRoutes({ findRoute, clock })
  const owners = createOwnerClient({ secret, certificate, clock })
  const forwarded = createForwarded(owners)

  /**
   * @template T
   * @param {string} sid
   * @param {(route: Route) => Promise<T | typeof UNREACHABLE>} pass leaves the request unchanged if the owner is
   *   unreachable
   * @returns {Promise<T | undefined>} undefined: no worker owns the session
   */
  async function passTo (sid, pass) {
    const owner = /** @type {number} */ (workerOfSid(sid))
    try {
      for (;;) {
        const { route, fresh } = await routes.find(owner)
        const result = route && await pass(route)
        if (result !== undefined && result !== UNREACHABLE) return result
        // The owner was killed, or its number belongs to another process by now.
        routes.forget(owner)
        if (!fresh) continue
        metrics.stray_requests.inc({ result: 'unknown' })
        return undefined
      }
    } catch (error) {
      failed(error)
      return undefined
    }
  }

  /** @param {unknown} error */
  function failed (error) {
    metrics.stray_requests.inc({ result: 'failed' })
    log.debug({ err: error }, 'a misrouted request could not be passed on')
  }

  return {
    /** @param {string | undefined} sid @returns {boolean} whether another worker owns the session */
    isMisrouted (sid) {
      if (sid === undefined) return false
      const owner = workerOfSid(sid)
      return owner !== undefined && owner !== workerNumber
    },

    /**
     * @param {string} sid
     * @param {IncomingMessage} req
     * @param {import('http').ServerResponse} res
     * @returns {Promise<boolean>} false: no worker owns the session; the request is unchanged
     */
    async request (sid, req, res) {
      return await passTo(sid, (route) => forward(route, req, res)) ?? false
    },

    /**
     * @param {string} sid
     * @param {IncomingMessage} req
     * @param {import('net').Socket} socket
     * @param {Buffer} head
     * @returns {Promise<boolean>} false: no worker owns the session
     */
    async upgrade (sid, req, socket, head) {
      // During the lookup no byte may be lost, and no error may end the process.
      socket.pause()
      socket.on('error', () => socket.destroy())
      const passed = await passTo(sid, async (route) => {
        if (socket.destroyed) return true
        if (
          route.handover &&
          handOver({ to: /** @type {number} */ (workerOfSid(sid)), head: requestHead(req, {}), rest: head, socket })
        ) {
          metrics.stray_requests.inc({ result: 'handed_over' })
          return true
        }
        return tunnel(route, req, socket, head)
      })
      return passed ?? false
    },

    /** Asks the owners to release what is forwarded to them, a batch at each call, because this worker drains. */
    releaseAll () { forwarded.release() },

    stop () { owners.stop() }
  }

  /**
   * @param {Route} route
   * @param {IncomingMessage} req
   * @param {import('http').ServerResponse} res
   * @returns {Promise<true | typeof UNREACHABLE>}
   */
  function forward (route, req, res) {
    // The client disconnected while the owner was looked up; `close` is not emitted again.
    if (res.destroyed) return Promise.resolve(true)
    return new Promise((resolve) => {
      const framing = framingOf(req)
      const headers = {
        ...Object.fromEntries(
          Object.entries(req.headers).filter(([name]) => !HOP_BY_HOP.has(name) && !OURS.has(name))
        ),
        ...framing,
        ...owners.proof(route, req.method, req.url)
      }
      let connected = false
      const out = owners.request(route, { method: req.method, path: req.url, headers }, (answer) => {
        metrics.stray_requests.inc({ result: 'forwarded' })
        res.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.rawHeaders))
        answer.pipe(res)
        answer.on('error', () => res.destroy())
        resolve(true)
      })
      out.on('socket', (socket) => {
        onceOpen(socket, () => {
          connected = true
          socket.setTimeout(0)
          if (req.method === 'GET') forwarded.add({ route, req, client: res })
          if (framing === NO_BODY) out.end()
          else req.pipe(out)
        })
      })
      out.on('error', (error) => {
        if (!connected && !res.destroyed) return resolve(UNREACHABLE)
        if (!res.destroyed) failed(error)
        // Part of the body may be sent, so the request cannot be passed on again.
        if (!res.headersSent) res.writeHead(400, { 'content-type': 'application/json' }).end(UNKNOWN_SID)
        else res.destroy()
        resolve(true)
      })
      // A client that disconnects must not leave a poll open at the owner. The rest of a body is read and dropped.
      res.on('close', () => {
        out.destroy()
        req.unpipe(out).resume()
      })
    })
  }

  /**
   * @param {Route} route
   * @param {IncomingMessage} req
   * @param {import('net').Socket} socket
   * @param {Buffer} head
   * @returns {Promise<true | typeof UNREACHABLE>}
   */
  function tunnel (route, req, socket, head) {
    return new Promise((resolve) => {
      const owner = owners.connect(route)
      owner.setNoDelay(true)
      let connected = false
      const onClose = () => owner.destroy()
      socket.on('close', onClose)
      onceOpen(owner, () => {
        owner.setTimeout(0)
        metrics.stray_requests.inc({ result: 'forwarded' })
        connected = true
        forwarded.add({ route, req, client: socket })
        owner.on('close', () => {
          // After the owner's end its last bytes are still being written, and the client may keep its side open.
          if (socket.writableEnded) destroyAfter(socket, lastWords, clock)
          else socket.destroy()
        })
        owner.write(requestHead(req, owners.proof(route, req.method, req.url)), 'latin1')
        owner.write(head)
        owner.pipe(socket).pipe(owner)
        resolve(true)
      })
      owner.on('error', (error) => {
        if (!connected && !socket.destroyed) {
          socket.off('close', onClose)
          return resolve(UNREACHABLE)
        }
        failed(error)
        socket.destroy()
        resolve(true)
      })
    })
  }
}

/**
 * The header that frames the body of a request on its way. Without one, Node's client would write the body of a GET as
 * it is, and the owner would read it as the next request.
 * @param {IncomingMessage} req
 * @returns {Record<string, string>}
 */
function framingOf ({ method, headers }) {
  if (headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' }
  const length = headers['content-length']
  if (length !== undefined && Number(length) > 0) return { 'content-length': length }
  return method === 'POST' ? { 'content-length': '0' } : NO_BODY
}

/** @param {string[]} rawHeaders names and values in turn @returns {string[]} */
function withoutHopByHop (rawHeaders) {
  return rawHeaders.filter((_, i) => !HOP_BY_HOP.has(rawHeaders[i - i % 2].toLowerCase()))
}

/**
 * The request's head, unchanged except for inkcast's own headers, which replace a client's of the same names.
 * @param {IncomingMessage} req
 * @param {Record<string, string>} ours
 */
function requestHead (req, ours) {
  const lines = [`${req.method} ${req.url} HTTP/1.1`]
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    if (req.rawHeaders[i].toLowerCase() !== PROOF_HEADER) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`)
  }
  for (const [name, value] of Object.entries(ours)) lines.push(`${name}: ${value}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
