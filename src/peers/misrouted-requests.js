import http from 'node:http'
import net from 'node:net'
import { RELEASE } from '../engine/request.js'
import { destroyAfter } from '../process/socket-times.js'
import { workerOfSid } from '../wire/session-id.js'
import { handOver } from './handover.js'
import { PROOF_HEADER, proofFor } from './request-proof.js'

/**
 * Requests that reached the wrong worker. A session id says which worker owns the session, so no table is kept: each
 * request is passed on by itself, also on a kept-alive connection that carries several sessions. An upgrade is handed
 * over with its connection where the launcher can do that; everything else is forwarded to the owner's private
 * listener, or over TCP to its peer listener on another machine.
 *
 * @typedef {ReturnType<typeof createStrays>} Strays
 *
 * @typedef {object} Route how to reach an owner
 * @property {boolean} handover the launcher passes connections on to it
 * @property {{ path: string } | { host: string, port: number }} listener
 */

/** Headers that belong to one hop (RFC 9110, 7.6.1); Node's client sets its own. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])
/** An owner that does not accept within this time is as good as dead, ms. */
const CONNECT_TIMEOUT = 2000
/**
 * How long an unused connection to an owner is kept, ms: less than the owner keeps it, which would close it under a
 * request.
 */
const IDLE_TIME = 30_000
/**
 * The same to another machine, ms: one that has vanished answers nothing on an old connection, and only a new one shows
 * it.
 */
const PEER_IDLE_TIME = 1000
/** How long an owner's route is believed, ms: a poll asks for it several times a second. */
const ROUTE_TIME = 1000
/** Nothing is known of an owner that does not accept connections. */
const UNREACHABLE = Symbol('unreachable')
/** Owners asked at a time to let go of what goes through a worker that drains. */
const RELEASE_BATCH = 200
/** Engine.IO's own answer to a session it does not know; clients connect anew then. */
const UNKNOWN_SID = '{"code":1,"message":"Session ID unknown"}'

/**
 * @param {object} dependencies
 * @param {number} dependencies.workerNumber ours
 * @param {(workerNumber: number) => Promise<Route | undefined>} dependencies.findRoute undefined: no such worker
 * @param {() => string} dependencies.secret proves to other machines who we are
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {number} [dependencies.lastWords] how long a client may take to read what its owner said last and to close,
 *   ms: as long as after a WebSocket's close
 */
export function createStrays ({ workerNumber, findRoute, secret, metrics, log, clock, lastWords = 30_000 }) {
  const agents = {
    path: new http.Agent({ keepAlive: true, maxFreeSockets: 64, timeout: IDLE_TIME }),
    host: new http.Agent({ keepAlive: true, maxFreeSockets: 64, timeout: PEER_IDLE_TIME })
  }
  /**
   * @type {Map<number, { route: Promise<Route | undefined>, until: number }>} bounded by the worker numbers there are
   */
  const routes = new Map()

  /**
   * Polls and WebSockets that go through here to their owners.
   * @typedef {{ route: Route, req: http.IncomingMessage, client: import('stream').Writable }} Passing
   * @type {Set<Passing>} bounded by the connections there are
   */
  const passing = new Set()

  /** @param {Passing} one */
  function keep (one) {
    passing.add(one)
    one.client.once('close', () => passing.delete(one))
  }

  /**
   * @param {number} owner
   * @returns {Promise<{ route: Route | undefined, fresh: boolean }>} undefined: nobody has that number; fresh: it was
   *   looked up for this request
   */
  async function routeTo (owner) {
    const known = routes.get(owner)
    if (known !== undefined && known.until > clock.monotonic()) return { route: await known.route, fresh: false }
    // A Redis that is away, or has lost its data, knows nothing; who was there before is asked, and does not accept
    // where it has gone.
    const route = findRoute(owner).then((found) => found ?? known?.route, (error) => {
      if (known === undefined) throw error
      return known.route
    })
    routes.set(owner, { route, until: clock.monotonic() + ROUTE_TIME })
    try {
      // a number that nobody has may be taken the next moment, and then its sessions must be found
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
   * @param {(route: Route) => Promise<T | typeof UNREACHABLE>} pass not touching anything when the owner cannot be
   *   reached
   * @returns {Promise<T | undefined>} undefined: nobody owns it
   */
  async function passTo (sid, pass) {
    const owner = /** @type {number} */ (workerOfSid(sid))
    try {
      for (;;) {
        const { route, fresh } = await routeTo(owner)
        const result = route && await pass(route)
        if (result !== undefined && result !== UNREACHABLE) return result
        // it was killed, or its number has passed to another process meanwhile
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
    log.debug({ err: error }, 'a stray request could not be passed on')
  }

  /**
   * @param {Route} route
   * @param {string | undefined} method
   * @param {http.IncomingMessage} req
   * @returns {Record<string, string>}
   */
  const proof = ({ listener }, method, { url }) =>
    'host' in listener ? { [PROOF_HEADER]: proofFor(secret(), method ?? '', url ?? '', clock.now()) } : {}

  /** @param {Route} route @returns {http.RequestOptions} */
  const address = ({ listener }) =>
    'path' in listener ? { socketPath: listener.path, agent: agents.path } : { ...listener, agent: agents.host }

  return {
    /** @param {string | undefined} sid @returns {boolean} whether the session lives in another worker */
    isStray (sid) {
      if (sid === undefined) return false
      const owner = workerOfSid(sid)
      return owner !== undefined && owner !== workerNumber
    },

    /**
     * @param {string} sid
     * @param {http.IncomingMessage} req
     * @param {http.ServerResponse} res
     * @returns {Promise<boolean>} false: nobody owns it; the request has not been touched
     */
    async request (sid, req, res) {
      return await passTo(sid, (route) => forward(route, req, res)) ?? false
    },

    /**
     * @param {string} sid
     * @param {http.IncomingMessage} req
     * @param {net.Socket} socket
     * @param {Buffer} head
     * @returns {Promise<boolean>} false: nobody owns it
     */
    async upgrade (sid, req, socket, head) {
      // nothing may be lost, or end the process, while the owner is looked up
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
     * Asks the owners to let go of what goes through here, some of it at each call: a client that waits with a poll
     * then sends its next one elsewhere, and keeps its session; one on WebSocket is told to connect anew.
     */
    releaseAll () {
      for (const one of [...passing].slice(0, RELEASE_BATCH)) {
        passing.delete(one)
        const { route, req, client } = one
        // a poll may reach its owner after this, which is asked again then
        const again = () => { if (!client.destroyed) passing.add(one) }
        const asked = http.request(
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

    stop () { for (const agent of Object.values(agents)) agent.destroy() }
  }

  /**
   * @param {Route} route
   * @param {http.IncomingMessage} req
   * @param {http.ServerResponse} res
   * @returns {Promise<true | typeof UNREACHABLE>}
   */
  function forward (route, req, res) {
    // it has gone while its owner was looked for, and will not say so again
    if (res.destroyed) return Promise.resolve(true)
    return new Promise((resolve) => {
      const headers = {
        ...Object.fromEntries(
          Object.entries(req.headers).filter(([name]) => !HOP_BY_HOP.has(name) && name !== PROOF_HEADER)
        ),
        ...proof(route, req.method, req)
      }
      let connected = false
      const out = http.request({ ...address(route), method: req.method, path: req.url, headers }, (answer) => {
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
        if (!socket.connecting) return onConnect()
        socket.setTimeout(CONNECT_TIMEOUT, () => {
          if (socket.connecting) socket.destroy(new Error('connect timeout'))
        })
        socket.once('connect', onConnect)
      })
      out.on('error', (error) => {
        if (!connected && !res.destroyed) return resolve(UNREACHABLE)
        if (!res.destroyed) failed(error)
        // part of the body may be gone, so nobody else can answer
        if (!res.headersSent) res.writeHead(400, { 'content-type': 'application/json' }).end(UNKNOWN_SID)
        else res.destroy()
        resolve(true)
      })
      // a client that gives up must not leave a poll open at the owner
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
      const owner = net.connect(route.listener)
      owner.setNoDelay(true)
      owner.setTimeout(CONNECT_TIMEOUT, () => owner.destroy(new Error('connect timeout')))
      let connected = false
      const onClose = () => owner.destroy()
      socket.on('close', onClose)
      owner.once('connect', () => {
        owner.setTimeout(0)
        metrics.stray_requests.inc({ result: 'forwarded' })
        connected = true
        keep({ route, req, client: socket })
        owner.on('close', () => {
          // what it has said last is still on its way when it has ended by itself, and the client may keep its side
          // open
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

/** @param {string[]} rawHeaders names and values in turn @returns {string[]} */
function withoutHopByHop (rawHeaders) {
  return rawHeaders.filter((_, i) => !HOP_BY_HOP.has(rawHeaders[i - i % 2].toLowerCase()))
}

/**
 * The request's head as it came, with headers of ours in the place of what a client may have sent under their names.
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
