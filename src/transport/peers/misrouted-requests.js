import { destroyAfter } from '../../base/process/socket-times.js'
import { Answer } from '../engine/answer.js'
import { UsualRequest } from '../engine/request.js'
import { workerOfSid } from '../../wire/session-id.js'
import { createForwarded } from './forwarded.js'
import { handOver } from './handover.js'
import { createOwnerClient, onceOpen } from './owner-client.js'
import { createOwnerRoutes } from './owner-routes.js'
import { forwardedHeaders, requestHead, withoutHopByHop } from './passed-head.js'

/**
 * @typedef {import('./owner-routes.js').Route} Route
 * @typedef {import('http').IncomingMessage} IncomingMessage
 */

/** The owner does not accept connections. */
const UNREACHABLE = Symbol('unreachable')
/** Engine.IO's own response for an unknown session, after which clients reconnect. */
const UNKNOWN_SID = '{"code":1,"message":"Session ID unknown"}'

/**
 * Requests that reached the wrong worker. A session id names the worker that owns the session, so no table is needed:
 * each request is passed on by itself, also on a keep-alive connection of several sessions. An upgrade is handed over
 * with its connection where the launcher supports it; everything else is forwarded to the owner's session listener, or
 * over TCP to its peer listener on another machine. These listeners carry out no command but the release of a session,
 * which needs a proof.
 */
export class MisroutedRequests {
  #routes
  #owners
  #forwarded

  /**
   * @param {object} dependencies
   * @param {number} dependencies.workerNumber of this worker
   * @param {(workerNumber: number) => Promise<Route | undefined>} dependencies.findRoute undefined: no such worker
   * @param {() => string} dependencies.secret for the proof to other machines (request-proof.js)
   * @param {import('../../config/tls/certificate.js').Certificate} [dependencies.certificate] of this machine, for
   *   owners on other machines that require one
   * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {import('../../base/common/log.js').Log} dependencies.log
   * @param {import('../../base/common/clock.js').Clock} dependencies.clock
   * @param {number} [dependencies.lastWords] timeout for a client to read the owner's last bytes and to close, ms; the
   *   same as after a WebSocket close
   */
  constructor ({ workerNumber, findRoute, secret, certificate, metrics, log, clock, lastWords = 30_000 }) {
    this.workerNumber = workerNumber
    this.metrics = metrics
    this.log = log
    this.clock = clock
    this.lastWords = lastWords
    this.#routes = createOwnerRoutes({ findRoute, clock })
    this.#owners = createOwnerClient({ secret, certificate, clock })
    this.#forwarded = createForwarded(this.#owners)
  }

  /** @param {string | undefined} sid @returns {boolean} whether another worker owns the session */
  isMisrouted (sid) {
    if (sid === undefined) return false
    const owner = workerOfSid(sid)
    return owner !== undefined && owner !== this.workerNumber
  }

  /**
   * @param {string} sid
   * @param {IncomingMessage | UsualRequest} req
   * @param {import('http').ServerResponse | Answer} res
   * @returns {Promise<boolean>} false: no worker owns the session; the request is unchanged
   */
  async request (sid, req, res) {
    return await this.#passTo(sid, (route) => this.#forward(route, req, res)) ?? false
  }

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
    const passed = await this.#passTo(sid, async (route) => {
      if (socket.destroyed) return true
      if (
        route.handover &&
        handOver({ to: /** @type {number} */ (workerOfSid(sid)), head: requestHead(req, {}), rest: head, socket })
      ) {
        this.metrics.stray_requests.inc({ result: 'handed_over' })
        return true
      }
      return this.#tunnel(route, req, socket, head)
    })
    return passed ?? false
  }

  /** Asks the owners to release what is forwarded to them, a batch at each call, because this worker drains. */
  releaseAll () { this.#forwarded.release() }

  stop () { this.#owners.stop() }

  /**
   * @template T
   * @param {string} sid
   * @param {(route: Route) => Promise<T | typeof UNREACHABLE>} pass leaves the request unchanged if the owner is
   *   unreachable
   * @returns {Promise<T | undefined>} undefined: no worker owns the session
   */
  async #passTo (sid, pass) {
    const owner = /** @type {number} */ (workerOfSid(sid))
    try {
      for (;;) {
        const { route, fresh } = await this.#routes.find(owner)
        const result = route && await pass(route)
        if (result !== undefined && result !== UNREACHABLE) return result
        // The owner was killed, or its number belongs to another process by now.
        this.#routes.forget(owner)
        if (!fresh) continue
        this.metrics.stray_requests.inc({ result: 'unknown' })
        return undefined
      }
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  /** @param {unknown} error */
  #failed (error) {
    this.metrics.stray_requests.inc({ result: 'failed' })
    this.log.debug({ err: error }, 'a misrouted request could not be passed on')
  }

  /**
   * @param {Route} route
   * @param {IncomingMessage | UsualRequest} req
   * @param {import('http').ServerResponse | Answer} res
   * @returns {Promise<true | typeof UNREACHABLE>}
   */
  #forward (route, req, res) {
    // The client disconnected while the owner was looked up; `close` is not emitted again.
    if (res.destroyed) return Promise.resolve(true)
    return new Promise((resolve) => {
      const { headers, hasBody } = forwardedHeaders(req, this.#owners.proof(route, req.method, req.url))
      let connected = false
      const out = this.#owners.request(route, { method: req.method, path: req.url, headers }, (answer) => {
        this.metrics.stray_requests.inc({ result: 'forwarded' })
        if (res instanceof Answer) passAnswer(answer, res)
        else {
          res.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.rawHeaders))
          answer.pipe(res)
        }
        answer.on('error', () => res.destroy())
        resolve(true)
      })
      out.on('socket', (socket) => {
        onceOpen(socket, () => {
          connected = true
          socket.setTimeout(0)
          if (req.method === 'GET') this.#forwarded.add({ route, req, client: res })
          if (!hasBody) out.end()
          else if (req instanceof UsualRequest) out.end(req.body)
          else req.pipe(out)
        })
      })
      out.on('error', (error) => {
        if (!connected && !res.destroyed) return resolve(UNREACHABLE)
        if (!res.destroyed) this.#failed(error)
        // Part of the body may be sent, so the request cannot be passed on again.
        if (!res.headersSent) res.writeHead(400, { 'content-type': 'application/json' }).end(UNKNOWN_SID)
        else res.destroy()
        resolve(true)
      })
      // A client that disconnects must not leave a poll open at the owner. The rest of a body is read and dropped.
      res.on('close', () => {
        out.destroy()
        if (!(req instanceof UsualRequest)) req.unpipe(out).resume()
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
  #tunnel (route, req, socket, head) {
    return new Promise((resolve) => {
      const owner = this.#owners.connect(route)
      owner.setNoDelay(true)
      let connected = false
      const onClose = () => owner.destroy()
      socket.on('close', onClose)
      onceOpen(owner, () => {
        owner.setTimeout(0)
        this.metrics.stray_requests.inc({ result: 'forwarded' })
        connected = true
        this.#forwarded.add({ route, req, client: socket })
        owner.on('close', () => {
          // After the owner's end its last bytes are still being written, and the client may keep its side open.
          if (socket.writableEnded) destroyAfter(socket, this.lastWords, this.clock)
          else socket.destroy()
        })
        owner.write(requestHead(req, this.#owners.proof(route, req.method, req.url)), 'latin1')
        owner.write(head)
        owner.pipe(socket).pipe(owner)
        resolve(true)
      })
      owner.on('error', (error) => {
        if (!connected && !socket.destroyed) {
          socket.off('close', onClose)
          return resolve(UNREACHABLE)
        }
        this.#failed(error)
        socket.destroy()
        resolve(true)
      })
    })
  }
}

/**
 * The answer is as large as one poll's, and is kept until all of it is here: then it goes on in one write.
 * @param {IncomingMessage} answer of the owner
 * @param {Answer} res
 */
function passAnswer (answer, res) {
  const headers = withoutHopByHop(answer.rawHeaders)
  for (let i = 0; i < headers.length; i += 2) {
    // It has its own date, and a length of its own where the owner did not know one.
    if (headers[i].toLowerCase() !== 'date') res.setHeader(headers[i], headers[i + 1])
  }
  res.writeHead(answer.statusCode ?? 502)
  answer.on('data', (part) => { res.write(part) }).on('end', () => { res.end() })
}
