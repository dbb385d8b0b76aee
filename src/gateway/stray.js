import http from 'node:http'
import net from 'node:net'
import { workerOfSid } from '../wire/session-id.js'

/**
 * Requests that reached the wrong worker. A session id says which worker owns the session, so no table is kept:
 * the request is forwarded, one by one, to the owner's private listener.
 *
 * @typedef {ReturnType<typeof createStrays>} Strays
 */

/** Headers that belong to one hop (RFC 9110, 7.6.1); Node's client sets its own. */
const HOP_HEADERS = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'])
/** An owner on this machine that does not even accept within this time is as good as dead, ms. */
const CONNECT_TIMEOUT = 2000

/**
 * @param {object} dependencies
 * @param {number} dependencies.workerNumber ours
 * @param {(workerNumber: number) => Promise<string | undefined>} dependencies.ownerPath the private listener's unix socket; undefined: no such worker
 * @param {import('../metrics.js').Metrics} dependencies.metrics
 * @param {import('../log.js').Log} dependencies.log
 */
export function createStrays ({ workerNumber, ownerPath, metrics, log }) {
  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 64 })

  /** @param {string} sid */
  async function findOwner (sid) {
    const owner = /** @type {number} */ (workerOfSid(sid))
    try {
      const path = await ownerPath(owner)
      if (path === undefined) metrics.stray_requests.inc({ result: 'unknown' })
      return path
    } catch (error) {
      log.debug({ err: error }, 'owner lookup failed')
      metrics.stray_requests.inc({ result: 'failed' })
      return undefined
    }
  }

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
      const socketPath = await findOwner(sid)
      if (socketPath === undefined) return false
      return new Promise((resolve) => {
        const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !HOP_HEADERS.has(name)))
        const forward = http.request({ socketPath, agent, method: req.method, path: req.url, headers }, (answer) => {
          metrics.stray_requests.inc({ result: 'forwarded' })
          res.writeHead(answer.statusCode ?? 502, withoutHopHeaders(answer.rawHeaders))
          answer.pipe(res)
          answer.on('error', () => res.destroy())
          resolve(true)
        })
        forward.on('error', (error) => {
          metrics.stray_requests.inc({ result: 'failed' })
          log.debug({ err: error }, 'forwarding failed')
          // Part of the body may be gone, so nobody else can answer: what Engine.IO says of an unknown session.
          if (!res.headersSent) res.writeHead(400, { 'content-type': 'application/json' }).end('{"code":1,"message":"Session ID unknown"}')
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
      // nothing may be lost, or break the process, while the owner is looked up and connected
      socket.pause()
      socket.on('error', () => socket.destroy())
      const path = await findOwner(sid)
      if (path === undefined) return false
      return new Promise((resolve) => {
        const owner = net.connect({ path })
        owner.setTimeout(CONNECT_TIMEOUT, () => owner.destroy(new Error('connect timeout')))
        owner.once('connect', () => {
          owner.setTimeout(0)
          metrics.stray_requests.inc({ result: 'forwarded' })
          owner.write(requestHead(req))
          owner.write(head)
          owner.pipe(socket).pipe(owner)
          resolve(true)
        })
        owner.on('error', (error) => {
          if (owner.connecting) metrics.stray_requests.inc({ result: 'failed' })
          log.debug({ err: error }, 'upgrade could not be forwarded')
          socket.destroy()
          resolve(true)
        })
        socket.on('close', () => owner.destroy())
        owner.on('close', () => socket.destroy())
      })
    },

    stop () { agent.destroy() }
  }
}

/** @param {string[]} rawHeaders names and values in turn @returns {string[]} */
function withoutHopHeaders (rawHeaders) {
  return rawHeaders.filter((_, i) => !HOP_HEADERS.has(rawHeaders[i - i % 2].toLowerCase()))
}

/** @param {http.IncomingMessage} req the request's head as it came */
function requestHead (req) {
  const lines = [`${req.method} ${req.url} HTTP/1.1`]
  for (let i = 0; i < req.rawHeaders.length; i += 2) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
