import http from 'node:http'
import https from 'node:https'
import net, { isIP } from 'node:net'
import tls from 'node:tls'
import { RELEASE } from '../engine/request.js'
import { destroyAfter } from '../process/socket-times.js'
import { workerOfSid } from '../wire/session-id.js'
import { handOver } from './handover.js'
import { PROOF_HEADER, proofFor } from './request-proof.js'
import { createSecureAgent, isSecure } from './secure-agent.js'

/**
 * Requests that reached the wrong worker. A session id names the worker that owns the session, so no table is needed:
 * each request is passed on by itself, also on a keep-alive connection of several sessions. An upgrade is handed over
 * with its connection where the launcher supports it; everything else is forwarded to the owner's private listener, or
 * over TCP to its peer listener on another machine.
 *
 * @typedef {ReturnType<typeof createMisroutedRequests>} MisroutedRequests
 *
 * @typedef {object} Route to an owner
 * @property {boolean} handover whether the launcher hands connections over to it
 * @property {{ path: string } | { host: string, port: number, tls?: boolean }} listener
 */

/** Hop-by-hop headers (RFC 9110, 7.6.1); Node's client sets its own. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])
/** Timeout for a connection to an owner; after it the owner counts as dead, ms. */
const CONNECT_TIMEOUT = 2000
/**
 * Idle timeout of a connection to an owner, ms: shorter than the owner's, which could otherwise close it under a
 * request.
 */
const IDLE_TIME = 30_000
/**
 * Idle timeout of a connection to another machine, ms: a lost machine does not respond on an old connection, and only a
 * new connection detects that.
 */
const PEER_IDLE_TIME = 1000
/** Time for which an owner's route is cached, ms: polls need it several times a second. */
const ROUTE_TIME = 1000
/** The owner does not accept connections. */
const UNREACHABLE = Symbol('unreachable')
/** Requests and WebSockets released at a time while this worker drains. */
const RELEASE_BATCH = 200
/** Engine.IO's own response for an unknown session, after which clients reconnect. */
const UNKNOWN_SID = '{"code":1,"message":"Session ID unknown"}'

/**
 * @param {object} dependencies
 * @param {number} dependencies.workerNumber of this worker
 * @param {(workerNumber: number) => Promise<Route | undefined>} dependencies.findRoute undefined: no such worker
 * @param {() => string} dependencies.secret for the proof to other machines (request-proof.js)
 * @param {import('../tls/certificate.js').Certificate} [dependencies.certificate] of this machine, for owners on other
 *   machines that require one
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {number} [dependencies.lastWords] timeout for a client to read the owner's last bytes and to close, ms; the
 *   same as after a WebSocket close
 */
export function createMisroutedRequests ({
  workerNumber, findRoute, secret, certificate, metrics, log, clock, lastWords = 30_000
}) {
  const agents = {
    path: new http.Agent({ keepAlive: true, maxFreeSockets: 64, timeout: IDLE_TIME }),
    host: new http.Agent({ keepAlive: true, maxFreeSockets: 64, timeout: PEER_IDLE_TIME })
  }
  const secure = createSecureAgent(certificate)
  /**
   * @type {Map<number, { route: Promise<Route | undefined>, until: number }>} bounded by the number of workers
   */
  const routes = new Map()

  /**
   * Polls and WebSockets that are forwarded to their owners.
   * @typedef {{ route: Route, req: http.IncomingMessage, client: import('stream').Writable }} Passing
   * @type {Set<Passing>} bounded by the number of connections
   */
  const passing = new Set()

  /** @param {Passing} one */
  function keep (one) {
    passing.add(one)
    one.client.once('close', () => passing.delete(one))
  }

  /**
   * @param {number} owner
   * @returns {Promise<{ route: Route | undefined, fresh: boolean }>} undefined: no worker has that number; fresh: it
   *   was looked up for this request
   */
  async function routeTo (owner) {
    const known = routes.get(owner)
    if (known !== undefined && known.until > clock.monotonic()) return { route: await known.route, fresh: false }
    // If Redis is unavailable or has lost its data, the known route is tried: a worker that has ended does not accept.
    const route = findRoute(owner).then((found) => found ?? known?.route, (error) => {
      if (known === undefined) throw error
      return known.route
    })
    routes.set(owner, { route, until: clock.monotonic() + ROUTE_TIME })
    try {
      // A free number may be leased the next moment, and then its sessions must be found.
      if (await route === undefined) routes.delete(owner)
      return { route: await route, fresh: true }
    } catch (error) {
      routes.delete(owner)
      throw error
    }
  }

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
        const { route, fresh } = await routeTo(owner)
        const result = route && await pass(route)
        if (result !== undefined && result !== UNREACHABLE) return result
        // The owner was killed, or its number belongs to another process by now.
        routes.delete(owner)
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

  /**
   * @param {Route} route
   * @param {string | undefined} method
   * @param {http.IncomingMessage} req
   * @returns {Record<string, string>}
   */
  const proof = ({ listener }, method, { url }) =>
    'host' in listener ? { [PROOF_HEADER]: proofFor(secret(), method ?? '', url ?? '', clock.now()) } : {}

  /** @param {Route} route @returns {https.RequestOptions} */
  const address = ({ listener }) => {
    if ('path' in listener) return { socketPath: listener.path, agent: agents.path }
    const { host, port } = listener
    if (!isSecure(listener)) return { host, port, agent: agents.host }
    // by default Node checks the certificate against the client's header Host
    return { host, port, servername: isIP(host) ? '' : host, agent: secure.agent() }
  }

  /** @param {Route} route */
  const requestTo = ({ listener }) => isSecure(listener) ? https.request : http.request

  return {
    /** @param {string | undefined} sid @returns {boolean} whether another worker owns the session */
    isMisrouted (sid) {
      if (sid === undefined) return false
      const owner = workerOfSid(sid)
      return owner !== undefined && owner !== workerNumber
    },

    /**
     * @param {string} sid
     * @param {http.IncomingMessage} req
     * @param {http.ServerResponse} res
     * @returns {Promise<boolean>} false: no worker owns the session; the request is unchanged
     */
    async request (sid, req, res) {
      return await passTo(sid, (route) => forward(route, req, res)) ?? false
    },

    /**
     * @param {string} sid
     * @param {http.IncomingMessage} req
     * @param {net.Socket} socket
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

    /**
     * Asks the owners to release forwarded polls and WebSockets, a batch at each call, because this worker drains. A
     * polling client sends its next poll through another worker and keeps its session; a WebSocket client reconnects.
     */
    releaseAll () {
      for (const one of [...passing].slice(0, RELEASE_BATCH)) {
        passing.delete(one)
        const { route, req, client } = one
        // The poll may reach its owner after this request: then ask again.
        const again = () => { if (!client.destroyed) passing.add(one) }
        const asked = requestTo(route)(
          {
            ...address(route),
            method: RELEASE,
            path: req.url,
            headers: proof(route, RELEASE, req),
            timeout: CONNECT_TIMEOUT
          },
          (answer) => {
            answer.resume()
            if (answer.statusCode !== 204) again()
          }
        )
        asked.on('timeout', () => asked.destroy()).on('error', again).end()
      }
    },

    stop () {
      for (const agent of Object.values(agents)) agent.destroy()
      secure.stop()
    }
  }

  /**
   * @param {Route} route
   * @param {http.IncomingMessage} req
   * @param {http.ServerResponse} res
   * @returns {Promise<true | typeof UNREACHABLE>}
   */
  function forward (route, req, res) {
    // The client disconnected while the owner was looked up; `close` is not emitted again.
    if (res.destroyed) return Promise.resolve(true)
    return new Promise((resolve) => {
      const headers = {
        ...Object.fromEntries(
          Object.entries(req.headers).filter(([name]) => !HOP_BY_HOP.has(name) && name !== PROOF_HEADER)
        ),
        ...proof(route, req.method, req)
      }
      let connected = false
      const out = requestTo(route)({ ...address(route), method: req.method, path: req.url, headers }, (answer) => {
        metrics.stray_requests.inc({ result: 'forwarded' })
        res.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.rawHeaders))
        answer.pipe(res)
        answer.on('error', () => res.destroy())
        resolve(true)
      })
      out.on('socket', (socket) => {
        const onConnect = () => {
          connected = true
          socket.setTimeout(0)
          if (req.method === 'GET') keep({ route, req, client: res })
          req.pipe(out)
        }
        if (isOpen(socket)) return onConnect()
        socket.setTimeout(CONNECT_TIMEOUT, () => {
          if (!isOpen(socket)) socket.destroy(new Error('connect timeout'))
        })
        socket.once(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', onConnect)
      })
      out.on('error', (error) => {
        if (!connected && !res.destroyed) return resolve(UNREACHABLE)
        if (!res.destroyed) failed(error)
        // Part of the body may be sent, so the request cannot be passed on again.
        if (!res.headersSent) res.writeHead(400, { 'content-type': 'application/json' }).end(UNKNOWN_SID)
        else res.destroy()
        resolve(true)
      })
      // A client that disconnects must not leave a poll open at the owner.
      res.on('close', () => out.destroy())
    })
  }

  /**
   * @param {Route} route
   * @param {http.IncomingMessage} req
   * @param {net.Socket} socket
   * @param {Buffer} head
   * @returns {Promise<true | typeof UNREACHABLE>}
   */
  function tunnel (route, req, socket, head) {
    return new Promise((resolve) => {
      const owner = isSecure(route.listener) ? secure.connect(route.listener) : net.connect(route.listener)
      owner.setNoDelay(true)
      owner.setTimeout(CONNECT_TIMEOUT, () => owner.destroy(new Error('connect timeout')))
      let connected = false
      const onClose = () => owner.destroy()
      socket.on('close', onClose)
      owner.once(owner instanceof tls.TLSSocket ? 'secureConnect' : 'connect', () => {
        owner.setTimeout(0)
        metrics.stray_requests.inc({ result: 'forwarded' })
        connected = true
        keep({ route, req, client: socket })
        owner.on('close', () => {
          // After the owner's end its last bytes are still being written, and the client may keep its side open.
          if (socket.writableEnded) destroyAfter(socket, lastWords)
          else socket.destroy()
        })
        owner.write(requestHead(req, proof(route, req.method, req)), 'latin1')
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

/** @param {net.Socket} socket @returns {boolean} it is connected, with TLS after the handshake */
const isOpen = (socket) => !socket.connecting && /** @type {any} */ (socket).secureConnecting !== true

/** @param {string[]} rawHeaders names and values in turn @returns {string[]} */
function withoutHopByHop (rawHeaders) {
  return rawHeaders.filter((_, i) => !HOP_BY_HOP.has(rawHeaders[i - i % 2].toLowerCase()))
}

/**
 * The request's head, unchanged except for inkcast's own headers, which replace a client's of the same names.
 * @param {http.IncomingMessage} req
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
