import { createRequire } from 'node:module'
import { endSocket, responseOf } from '../../base/process/socket-times.js'
import { acceptedDeflate } from './bytes/compression.js'
import { EngineSocket } from './engine-socket.js'
import { kListener, kOwner } from './link.js'
import { Answer } from './answer.js'
import { PollAnswers } from './poll-answer.js'
import { RELEASE, asksForWebSocket, beginsWebSocket, hasKey, headSize, queryOf } from './request.js'
import { createClosing } from './socket-reader.js'
import { UpgradeResponse, headerLines, isValidHeader } from './upgrade-response.js'
import { Upgrades } from './upgrades.js'

const require = createRequire(import.meta.url)
const { Server: EngineServer } = require('engine.io')

/** Engine.IO's error codes. */
const UNKNOWN_TRANSPORT = 0
const BAD_REQUEST = 3
const FORBIDDEN = 4
const UNSUPPORTED_PROTOCOL_VERSION = 5
/** Methods of clients; RELEASE is for workers only. */
const METHODS = ['GET', 'POST', 'OPTIONS']

/**
 * Passes requests on to the workers that own their sessions. False: no worker owns the session.
 *
 * @typedef {object} MisroutedRequests
 * @property {(sid: string | undefined) => boolean} isMisrouted whether another worker owns the session
 * @property {(sid: string, req: any, res: any) => Promise<boolean>} request
 * @property {(sid: string, req: any, socket: any, head: Buffer) => Promise<boolean>} upgrade
 */

/**
 * Which clients may begin, and the limits of those that have.
 * @typedef {object} Admission
 * @property {import('../admission/origin.js').Origins} origins
 * @property {Pick<import('../admission/connection-limits.js').ConnectionLimits, 'opened' | 'ended'>} connectionLimits
 * @property {import('../admission/handshake-limit.js').HandshakeLimit} handshakeLimit
 * @property {import('../admission/input-limits.js').InputLimits} inputLimits
 */

/**
 * The Engine.IO server of a worker: self-routing session ids, handshake limits, EngineSocket for all sessions. Requests
 * whose sessions belong to other workers are passed on before. Engine.IO itself checks the requests for new sessions,
 * and has the middlewares and events of extensions.
 */
export class Engine extends EngineServer {
  #connectionLimits
  #origins
  #opening
  #pollingOpening
  #compress
  /**
   * By id. Engine.IO has its own in an object, which is slow with ever new keys.
   * @type {Map<string, EngineSocket>}
   */
  #sessions = new Map()

  /**
   * @param {object} options
   * @param {() => string} options.newSessionId
   * @param {Admission} options.admission
   * @param {number} options.maxBytes largest message of a client
   * @param {{ max: number, timeout: number }} options.heartbeat ms
   * @param {boolean} options.compress whether compression is offered to clients
   * @param {object} options.events
   * @param {(session: any, frames: number) => void} options.events.onFrames called for received frames that are not
   *   packets: WebSocket pings, pongs and fragments
   * @param {(session: any) => void} options.events.onEnded called when a session has ended; may be called again
   * @param {MisroutedRequests} [options.misrouted] absent with one worker
   * @param {import('../../base/common/clock.js').Clock} options.clock
   */
  constructor ({ newSessionId, admission, maxBytes, heartbeat, compress, events, misrouted, clock }) {
    const { origins } = admission
    super({
      pingInterval: heartbeat.max,
      pingTimeout: heartbeat.timeout,
      maxHttpBufferSize: maxBytes,
      cors: /** @type {any} */ (
        (/** @type {import('http').IncomingMessage} */ req, /** @type {Function} */ done) => {
          done(null, {
            origin: origins.mayConnect(req.headers) ? (req.headers.origin ?? false) : false,
            credentials: true
          })
        }
      )
    })
    this.on('connection', (session) => this.#began(session))
    this.newSessionId = newSessionId
    this.maxBytes = maxBytes
    /** A poll is answered with a ping at the latest; a client that has not read it after the ping timeout is lost. */
    this.answers = new PollAnswers(heartbeat.max + heartbeat.timeout, clock)
    this.#origins = origins
    this.#compress = compress
    const opening = (/** @type {string[]} */ upgrades) => JSON.stringify({
      upgrades,
      pingInterval: heartbeat.max,
      pingTimeout: heartbeat.timeout,
      maxPayload: maxBytes
    }).slice(1)
    this.#opening = opening([])
    this.#pollingOpening = opening(['websocket'])
    this.pendingUpgrades = new Upgrades(clock)
    this.#connectionLimits = admission.connectionLimits
    this.handshakeLimit = admission.handshakeLimit
    this.inputLimits = admission.inputLimits
    this.onFrames = events.onFrames
    this.onEnded = events.onEnded
    this.misrouted = misrouted
    this.clock = clock
    this.closing = createClosing(clock)
  }

  /** @override */
  generateId () {
    return this.newSessionId()
  }

  sessions () { return [...this.#sessions.values()] }

  /** @param {any} session new */
  #began (session) {
    const listener = session.request.socket?.[kListener] ?? session.netSocket?.[kListener]
    if (listener !== undefined) session[kListener] = listener
    this.#connectionLimits.opened(session)
    this.inputLimits.enter(session, headSize(session.request))
    // An extension that sees requests may have added properties to this one.
    session.begin(!this.#extended)
  }

  /** Lifts the limits of a client that is admitted. @param {any} session */
  admit (session) {
    this.inputLimits.admit(session)
    session.admit()
  }

  /** @override */
  close () {
    for (const session of [...this.#sessions.values()]) session.close(true)
    return super.close()
  }

  /**
   * A session id is a credential: an upgrade must not take over a session that is on WebSocket already. A client that
   * polls again before it has read the last response is closed as slow.
   * @override @param {any} req @param {boolean} upgrade @param {any} decide
   */
  verify (req, upgrade, decide) {
    // JSONP ended with protocol 3: any page could load such a script and read it.
    if (req._query.j !== undefined) return decide(BAD_REQUEST, { name: 'JSONP' })
    const client = req._query.sid ? this.sessionOf(req._query.sid) : undefined
    if (client === undefined) return super.verify(req, upgrade, decide)
    if (!upgrade && client.transport.name !== 'polling') return decide(BAD_REQUEST, { name: 'TRANSPORT_MISMATCH' })
    if (this.inputLimits.isEarly(client) && !upgrade) this.#keepHead(client, req)
    // of all early sessions it may be the one that has to go for the bytes of its head
    if (this.sessionOf(req._query.sid) !== client) return super.verify(req, upgrade, decide)
    if (upgrade) {
      if (client.transport.name === 'websocket' || client.upgrading)
        return decide(BAD_REQUEST, { name: 'TRANSPORT_MISMATCH' })
    } else if (req.method === 'GET') {
      // Only an accepted poll replaces the last one.
      return verifyOwn(req, upgrade, (/** @type {unknown[]} */ ...refusal) => {
        if (refusal.length > 0 || this.answers.take(client.polling, req.res)) return decide(...refusal)
        giveUp(client)
        decide(BAD_REQUEST, { name: 'ANSWER_NOT_READ' })
      })
    }
    return verifyOwn(req, upgrade, decide)
  }

  /** Counts the head of a pending poll. @param {any} session of a client that is not admitted @param {any} req */
  #keepHead (session, req) {
    const size = headSize(req)
    this.inputLimits.holds(session, size)
    req.res.once('close', () => this.inputLimits.holds(session, -size))
  }

  /** @param {string} sid @returns {any} an EngineSocket, or undefined */
  sessionOf (sid) { return this.#sessions.get(sid) }

  /**
   * Ends the open poll or WebSocket of a session, because the worker that forwards it drains.
   * @param {string} sid
   * @returns {boolean} false: no poll is open yet
   */
  #release (sid) {
    const session = this.sessionOf(sid)
    if (session === undefined) return true
    if (session.transport.name !== 'websocket') return session.endPoll()
    /** @type {import('./link.js').Owner | undefined} */
    const owner = session[kOwner]
    owner?.tellDraining()
    session.close()
    return true
  }

  /** @override @param {any} req @param {any} res */
  handleRequest (req, res) {
    if (!METHODS.includes(req.method)) return void res.writeHead(405, { allow: METHODS.join(', ') }).end()
    if (this.#refused(req, res)) return
    const sid = sidOf(req)
    if (sid === undefined && req.method === 'GET')
      return this.handshakeLimit.enter(req.socket, res, () => this.#serve(req, res), req)
    if (!this.misrouted?.isMisrouted(sid)) return this.#serve(req, res)
    this.misrouted.request(/** @type {string} */ (sid), req, res).then(
      (forwarded) => {
        if (!forwarded) this.#serve(req, res)
      },
      () => res.destroy()
    )
  }

  /**
   * Handles a request of a session of this worker, or for a new one.
   * @param {any} req with `_query` @param {any} res
   */
  #serve (req, res) {
    req.res = res
    this._applyMiddlewares(req, res, (error) => {
      if (error) return this.#answerError(req, res, BAD_REQUEST, { name: 'MIDDLEWARE_FAILURE' })
      this.verify(req, false, (/** @type {number | undefined} */ code, /** @type {object} */ context) => {
        const { sid } = req._query
        if (code !== undefined) this.#answerError(req, res, code, context)
        else if (sid === undefined) this.#openPolling(req, res)
        else this.sessionOf(sid).polling.take(req, res)
      })
    })
  }

  /** @param {any} req checked @param {any} res */
  #openPolling (req, res) {
    const { EIO } = req._query
    if (EIO !== '4') return this.#answerError(req, res, UNSUPPORTED_PROTOCOL_VERSION, { protocol: 3 })
    const sid = this.newSessionId()
    const session = new EngineSocket(sid, this, req, null)
    this.#enter(session)
    session.openPolling(`{"sid":"${sid}",${this.#pollingOpening}`, req, res)
    this.emit('connection', session)
  }

  /** @param {EngineSocket} session new */
  #enter (session) {
    const server = /** @type {any} */ (this)
    server.clientsCount++
    this.#sessions.set(session.id, session)
  }

  /** @param {any} req @param {number} code Engine.IO's @param {object} context @returns {string} its message */
  #failed (req, code, context) {
    const message = /** @type {any} */ (EngineServer).errorMessages[code]
    this.emit('connection_error', { req, code, message, context })
    return message
  }

  /** Answers as Engine.IO does. @param {any} req @param {any} res @param {number} code @param {object} context */
  #answerError (req, res, code, context) {
    const message = this.#failed(req, code, context)
    res.writeHead(400, { 'Content-Type': 'application/json' }).end(JSON.stringify({ code, message }))
  }

  /**
   * @param {any} req
   * @param {any} to the response, or the socket of an upgrade
   * @returns {boolean} whether it is refused because of its origin
   */
  #refused (req, to) {
    if (!this.#origins.refuse(req, to)) return false
    this.emit('connection_error', {
      req,
      code: FORBIDDEN,
      message: 'Forbidden',
      context: { message: 'this origin is not allowed' }
    })
    return true
  }

  /** Whether an extension reads requests or adds response headers: then Node parses all requests. */
  get #extended () {
    return (
      /** @type {any} */ (this).middlewares.length > 1 ||
      this.listenerCount('initial_headers') > 0 ||
      this.listenerCount('headers') > 0
    )
  }

  /** Whether usual requests are handled without Node's objects: no extension sees them. */
  get takesUsual () { return !this.#extended }

  /**
   * Lets extensions add headers to a response, as Engine.IO does. Invalid ones are reported and left out: Node would
   * throw when the response is sent, which may be in a delivery.
   * @param {Record<string, any>} headers @param {any} req
   */
  addHeaders (headers, req) {
    if (!this.#extended) return
    if (req._query.sid === undefined) this.emit('initial_headers', headers, req)
    this.emit('headers', headers, req)
    for (const header of Object.keys(headers)) {
      if (isValidHeader(header, headers[header])) continue
      delete headers[header]
      this.#failed(req, BAD_REQUEST, { name: 'INVALID_HEADER', header })
    }
  }

  /**
   * Opens a session that begins with a WebSocket, if its request is usual and no extension sees it.
   * @param {import('./request.js').Upgrade} request
   * @param {import('net').Socket} netSocket
   * @param {Buffer} rest bytes after the request
   * @returns {boolean} false: Node parses it
   */
  takeWebSocket (request, netSocket, rest) {
    if (!beginsWebSocket(request) || this.#extended) return false
    if (!this.#origins.mayConnect(request.headers)) return false
    this.handshakeLimit.enter(netSocket, undefined, () => this.#openWebSocket(request, netSocket, rest), request)
    return true
  }

  /**
   * @param {import('./request.js').Upgrade} request checked
   * @param {import('net').Socket} netSocket
   * @param {Buffer} rest
   * @param {string} [lines] headers of extensions
   */
  #openWebSocket (request, netSocket, rest, lines) {
    if (netSocket.destroyed) return
    const sid = this.newSessionId()
    const session = new EngineSocket(sid, this, request, netSocket)
    this.#enter(session)
    session.open(`{"sid":"${sid}",${this.#opening}`, this.#agreed(session, request, lines))
    this.emit('connection', session)
    if (rest.length > 0) session.received(Buffer.from(rest))
  }

  /**
   * @param {EngineSocket} session
   * @param {import('./request.js').Upgrade} request of its WebSocket
   * @param {string} [lines] headers of extensions
   * @returns {string} lines of the response: what was negotiated as well
   */
  #agreed (session, { headers }, lines = '') {
    const accepted = this.#compress ? acceptedDeflate(headers['sec-websocket-extensions']) : undefined
    session.deflates = accepted !== undefined
    return accepted === undefined ? lines : `Sec-WebSocket-Extensions: ${accepted}\r\n${lines}`
  }

  /** @param {any} session that has ended; may be called again */
  ended (session) {
    this.#connectionLimits.ended(session)
    this.inputLimits.leave(session)
    this.onEnded(session)
    const own = /** @type {any} */ (this)
    if (this.#sessions.delete(session.id)) own.clientsCount--
  }

  /** @override @param {any} req @param {any} socket @param {Buffer} head */
  handleUpgrade (req, socket, head) {
    if (this.#refused(req, socket)) return
    const sid = sidOf(req)
    if (sid === undefined)
      return this.handshakeLimit.enter(socket, undefined, () => this.#serveUpgrade(req, socket, head), req)
    if (!this.misrouted?.isMisrouted(sid)) return this.#serveUpgrade(req, socket, head)
    this.misrouted.upgrade(/** @type {string} */ (sid), req, socket, head).then(
      (forwarded) => {
        if (!forwarded) this.#serveUpgrade(req, socket, head)
      },
      () => socket.destroy()
    )
  }

  /**
   * Handles a request to upgrade a session of this worker, or for a new one.
   * @param {any} req with `_query` @param {any} socket @param {Buffer} head
   */
  #serveUpgrade (req, socket, head) {
    const refuse = (/** @type {number} */ code, /** @type {object} */ context) => {
      const message = this.#failed(req, code, context)
      endSocket(socket, responseOf(400, JSON.stringify({ code, message })), this.clock)
    }
    if (!hasKey(req) || !asksForWebSocket(req)) return refuse(BAD_REQUEST, { name: 'TRANSPORT_HANDSHAKE_ERROR' })
    this.#headersOf(req, socket, (/** @type {unknown} */ error, /** @type {Record<string, any>} */ headers) => {
      if (error) return refuse(BAD_REQUEST, { name: 'MIDDLEWARE_FAILURE' })
      this.verify(req, true, (/** @type {number | undefined} */ code, /** @type {object} */ context) => {
        const { sid, EIO, transport } = req._query
        if (code !== undefined) return refuse(code, context)
        if (transport !== 'websocket') return refuse(BAD_REQUEST, { name: 'TRANSPORT_MISMATCH', transport })
        if (EIO !== '4') return refuse(UNSUPPORTED_PROTOCOL_VERSION, { protocol: 3 })
        this.addHeaders(headers, req)
        const lines = headerLines(headers)
        if (sid === undefined) return this.#openWebSocket(req, socket, head, lines)
        const session = this.sessionOf(sid)
        session.upgrade(req, socket, head, this.#agreed(session, req, lines))
      })
    })
  }

  /**
   * Runs the middlewares of extensions on a request to upgrade.
   * @param {any} req @param {any} socket @param {Function} done called with an error, or the headers that they have set
   */
  #headersOf (req, socket, done) {
    // Engine.IO's own is for CORS. The origin of a WebSocket is checked (RFC 6455, 10.2), clients ignore these headers.
    if (/** @type {any} */ (this).middlewares.length === 1) return done(undefined, {})
    const response = new UpgradeResponse(socket, this.clock)
    // Node has removed its own listener: while a middleware works, a reset would end the process.
    const onError = () => { socket.destroy() }
    socket.on('error', onError)
    this._applyMiddlewares(req, response, (error) => {
      socket.off('error', onError)
      if (socket.writable) done(error, { ...response.getHeaders() })
    })
  }

  /**
   * Answers usual requests without the package cors: the same headers.
   * @param {any} req @param {any} res @param {(error?: unknown) => void} done
   */
  _applyMiddlewares (req, res, done) {
    if (!(res instanceof Answer))
      return /** @type {any} */ (EngineServer.prototype)._applyMiddlewares.call(this, req, res, done)
    // The origin was checked.
    const { origin } = req.headers
    if (origin !== undefined) {
      res.setHeader('Access-Control-Allow-Origin', origin)
      res.setHeader('Vary', 'Origin')
      res.setHeader('Access-Control-Allow-Credentials', 'true')
    }
    done()
  }

  /**
   * Handles a request of the private listener. It is never passed on again.
   * @param {any} req
   * @param {any} res
   */
  handleOwnRequest (req, res) {
    if (req.method === RELEASE) res.writeHead(this.#release(sidOf(req) ?? '') ? 204 : 404).end()
    else {
      sidOf(req)
      this.#serve(req, res)
    }
  }

  /** @param {any} req @param {any} socket @param {Buffer} head */
  handleOwnUpgrade (req, socket, head) {
    sidOf(req)
    this.#serveUpgrade(req, socket, head)
  }
}

/**
 * Parses the query once; Engine.IO uses `_query` if it exists.
 * @param {any} req
 * @returns {string | undefined}
 */
function sidOf (req) {
  req._query = queryOf(req.url)
  return req._query.sid
}

/**
 * Checks a request for an EngineSocket on polling, as Engine.IO does.
 * @param {any} req @param {boolean} upgrade @param {any} decide
 */
function verifyOwn ({ _query: { transport, EIO } }, upgrade, decide) {
  if (transport !== 'polling' && transport !== 'websocket') return decide(UNKNOWN_TRANSPORT, { transport })
  if (transport !== (upgrade ? 'websocket' : 'polling'))
    return decide(BAD_REQUEST, { name: 'TRANSPORT_MISMATCH', transport, previousTransport: 'polling' })
  if (EIO !== '4') return decide(BAD_REQUEST, { name: 'PROTOCOL_MISMATCH', protocol: 3, previousProtocol: 4 })
  decide()
}

/** @param {any} session of a slow client */
function giveUp (session) {
  /** @type {import('./link.js').Owner | undefined} */
  const owner = session[kOwner]
  if (owner === undefined) session.close(true)
  else owner.tooSlow()
}
