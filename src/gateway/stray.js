import http from 'node:http'
import net from 'node:net'
import { workerOfSid } from '../wire/session-id.js'
import { handOver } from './handover.js'
import { HOP_HEADER, hopProof } from './hop.js'

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
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'])
/** An owner that does not accept within this time is as good as dead, ms. */
const CONNECT_TIMEOUT = 2000
/** How long an unused connection to an owner is kept, ms: less than the owner keeps it, which would close it under a request. */
const IDLE_TIME = 30_000
/** How long an owner's route is believed, ms: a poll asks for it several times a second. */
const ROUTE_TIME = 1000
/** Engine.IO's own answer to a session it does not know; clients connect anew then. */
const UNKNOWN_SID = '{"code":1,"message":"Session ID unknown"}'

/**
 * @param {object} dependencies
 * @param {number} dependencies.workerNumber ours
 * @param {(workerNumber: number) => Promise<Route | undefined>} dependencies.findRoute undefined: no such worker
 * @param {() => string} dependencies.secret proves to other machines who we are
 * @param {import('../metrics.js').Metrics} dependencies.metrics
 * @param {import('../log.js').Log} dependencies.log
 * @param {import('../clock.js').Clock} dependencies.clock
 */
export function createStrays ({ workerNumber, findRoute, secret, metrics, log, clock }) {
  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 64, timeout: IDLE_TIME })
  /** @type {Map<number, { route: Promise<Route | undefined>, until: number }>} bounded by the worker numbers there are */
  const routes = new Map()

  /** @param {string} sid @returns {Promise<Route | undefined>} undefined: nobody owns it */
  async function routeOf (sid) {
    const owner = /** @type {number} */ (workerOfSid(sid))
    let known = routes.get(owner)
    if (known === undefined || known.until <= clock.now()) routes.set(owner, known = { route: findRoute(owner), until: clock.now() + ROUTE_TIME })
    try {
      const route = await known.route
      if (route === undefined) metrics.stray_requests.inc({ result: 'unknown' })
      return route
    } catch (error) {
      routes.delete(owner)
      failed(error)
      return undefined
    }
  }

  /** @param {unknown} error */
  function failed (error) {
    metrics.stray_requests.inc({ result: 'failed' })
    log.debug({ err: error }, 'a stray request could not be passed on')
  }

  /** @param {Route} route @param {http.IncomingMessage} req @returns {Record<string, string>} */
  const proof = ({ listener }, req) => 'host' in listener ? { [HOP_HEADER]: hopProof(secret(), req.method ?? '', req.url ?? '', clock.now()) } : {}

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
      const route = await routeOf(sid)
      if (route === undefined) return false
      return new Promise((resolve) => {
        const headers = { ...Object.fromEntries(Object.entries(req.headers).filter(([name]) => !HOP_BY_HOP.has(name) && name !== HOP_HEADER)), ...proof(route, req) }
        const options = 'path' in route.listener ? { socketPath: route.listener.path } : route.listener
        const forward = http.request({ ...options, agent, method: req.method, path: req.url, headers }, (answer) => {
          metrics.stray_requests.inc({ result: 'forwarded' })
          res.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.rawHeaders))
          answer.pipe(res)
          answer.on('error', () => res.destroy())
          resolve(true)
        })
        forward.on('socket', (socket) => {
          if (socket.connecting) socket.setTimeout(CONNECT_TIMEOUT, () => { if (socket.connecting) socket.destroy(new Error('connect timeout')) })
          socket.once('connect', () => socket.setTimeout(0))
        })
        forward.on('error', (error) => {
          if (!res.destroyed) failed(error)
          // Part of the body may be gone, so nobody else can answer.
          if (!res.headersSent) res.writeHead(400, { 'content-type': 'application/json' }).end(UNKNOWN_SID)
          else res.destroy()
          resolve(true)
        })
        // a client that gives up must not leave a poll open at the owner
        res.on('close', () => forward.destroy())
        req.pipe(forward)
      })
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
      const onError = () => socket.destroy()
      socket.on('error', onError)
      const route = await routeOf(sid)
      if (route === undefined || socket.destroyed) return socket.destroyed
      const owner = /** @type {number} */ (workerOfSid(sid))
      if (route.handover && handOver({ to: owner, head: requestHead(req, {}), rest: head, socket })) {
        metrics.stray_requests.inc({ result: 'handed_over' })
        return true
      }
      return tunnel(route, req, socket, head)
    },

    stop () { agent.destroy() }
  }

  /**
   * @param {Route} route
   * @param {http.IncomingMessage} req
   * @param {net.Socket} socket
   * @param {Buffer} head
   * @returns {Promise<boolean>}
   */
  function tunnel (route, req, socket, head) {
    return new Promise((resolve) => {
      const owner = net.connect(route.listener)
      owner.setNoDelay(true)
      owner.setTimeout(CONNECT_TIMEOUT, () => owner.destroy(new Error('connect timeout')))
      owner.once('connect', () => {
        owner.setTimeout(0)
        metrics.stray_requests.inc({ result: 'forwarded' })
        owner.write(requestHead(req, proof(route, req)), 'latin1')
        owner.write(head)
        owner.pipe(socket).pipe(owner)
        resolve(true)
      })
      owner.on('error', (error) => {
        failed(error)
        const body = 'Session ID unknown'
        if (socket.writable && socket.bytesWritten === 0) socket.end(`HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
        else socket.destroy()
        resolve(true)
      })
      socket.on('close', () => owner.destroy())
      owner.on('close', () => { if (!socket.writableEnded) socket.destroy() })
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
    if (req.rawHeaders[i].toLowerCase() !== HOP_HEADER) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`)
  }
  for (const [name, value] of Object.entries(ours)) lines.push(`${name}: ${value}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
