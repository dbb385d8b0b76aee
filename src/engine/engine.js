import { ServerResponse } from 'node:http'
import { Server as EngineServer } from 'engine.io'
import { CompressingServer } from './compression.js'
import { extendEngineIoSocket } from './engine-io-socket.js'
import { EngineSocket } from './engine-socket.js'
import { kOwner } from './link.js'
import { deferAddress } from './peer-address.js'
import { PollAnswers } from './poll-answer.js'
import { RELEASE, beginsWebSocket, headSize, queryOf } from './request.js'
import { WebSockets, belongsTo } from './websockets.js'

/** Engine.IO's numbers of errors. */
const BAD_REQUEST = 3
const FORBIDDEN = 4
/** Workers use others among themselves. */
const METHODS = ['GET', 'POST', 'OPTIONS']

/**
 * Passes requests of sessions on to the workers that own them; false: no worker owns the session.
 *
 * @typedef {object} MisroutedRequests
 * @property {(sid: string | undefined) => boolean} isStray whether another worker owns the session
 * @property {(sid: string, req: any, res: any) => Promise<boolean>} request
 * @property {(sid: string, req: any, socket: any, head: Buffer) => Promise<boolean>} upgrade
 */

/**
 * The Engine.IO server of a worker: our session ids, and requests of sessions that live in another worker are
 * passed on before Engine.IO sees them.
 */
export class Engine extends EngineServer {
  #origins
  #opening
  #hooked
  /**
   * Those that began with a WebSocket, by id; Engine.IO's own are in `clients`, an object, which is slow with keys that
   * are all new.
   * @type {Map<string, EngineSocket>}
   */
  #sessions = new Map()

  /**
   * @param {object} options
   * @param {() => string} options.newSessionId
   * @param {import('../admission/origin.js').Origins} options.origins
   * @param {number} options.maxBytes largest message of a client
   * @param {{ max: number, timeout: number }} options.heartbeat ms
   * @param {boolean} options.compress whether clients are offered compression
   * @param {boolean} options.hooked whether sessions that begin with a WebSocket may be ours
   *   (websocket/engine-socket.js) in the place of Engine.IO's
   * @param {ReturnType<typeof import('../admission/handshake-limit.js').createHandshakeLimit>} options.handshakeLimit
   * @param {import('../admission/input-limits.js').InputLimits} options.inputLimits
   * @param {(session: any, frames: number) => void} options.onFrames frames have come that are no packets: WebSocket's
   *   pings and pongs, fragments
   * @param {(session: any) => void} options.onEnded a session has ended; may be called again for it
   * @param {MisroutedRequests} [options.strays] absent: there is only one worker
   */
  constructor ({
    newSessionId, origins, maxBytes, heartbeat, compress, hooked, handshakeLimit, inputLimits, onFrames, onEnded, strays
  }) {
    super({
      pingInterval: heartbeat.max,
      pingTimeout: heartbeat.timeout,
      maxHttpBufferSize: maxBytes,
      wsEngine: /** @type {any} */ (compress ? CompressingServer : WebSockets),
      cors: /** @type {any} */ (
        (/** @type {import('http').IncomingMessage} */ req, /** @type {Function} */ done) => {
          done(null, {
            origin: origins.mayConnect(req.headers) ? (req.headers.origin ?? false) : false,
            credentials: true
          })
        }
      )
    })
    extendEngineIoSocket()
    // A connection that begins as a WebSocket: the answer to the upgrade and Engine.IO's first packet leave in one
    // write.
    this.on('initial_headers', (_, { _query, socket }) => {
      if (_query.transport === 'websocket' && _query.EIO === '4') socket.cork()
    })
    this.on('connection', ({ request }) => {
      request.socket.uncork()
    })
    this.on('connection', (session) => this.#began(session))
    this.newSessionId = newSessionId
    this.maxBytes = maxBytes
    /** A poll is answered with a ping at the latest, and whoever has not read that by then is no client any more. */
    this.answers = new PollAnswers(heartbeat.max + heartbeat.timeout)
    this.#origins = origins
    /** ws is who knows compression. */
    this.usesEngineSocket = hooked && !compress
    this.#opening = JSON.stringify({
      upgrades: [],
      pingInterval: heartbeat.max,
      pingTimeout: heartbeat.timeout,
      maxPayload: maxBytes
    }).slice(1)
    this.#hooked = hooked
    this.handshakeLimit = handshakeLimit
    this.inputLimits = inputLimits
    this.onFrames = onFrames
    this.onEnded = onEnded
    this.strays = strays
  }

  /** @override */
  generateId () {
    return this.newSessionId()
  }

  /** @returns {any[]} Engine.IO's sockets, then those that are ours */
  sessions () {
    return [...Object.values(/** @type {any} */ (this).clients), ...this.#sessions.values()]
  }

  /** @param {any} session that has just begun */
  #began (session) {
    this.handshakeLimit.opened(session)
    this.inputLimits.enter(session, headSize(session.request))
    // an extension that sees requests may have put something on this one
    session.begin(this.#hooked, this.#hooked && !this.#extended)
  }

  /** Its client is admitted. @param {any} session */
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
   * A session id is a credential: an upgrade that names a session which is on WebSocket already would take it over. And
   * a client that polls again and has not read the last answer is given up.
   * @override @param {any} req @param {boolean} upgrade @param {any} decide
   */
  verify (req, upgrade, decide) {
    // JSONP, which clients gave up with protocol 3: any page may load a script, and read it
    if (req._query.j !== undefined) return decide(BAD_REQUEST, { name: 'JSONP' })
    const client = req._query.sid ? this.sessionOf(req._query.sid) : undefined
    if (client === undefined) return super.verify(req, upgrade, decide)
    // Engine.IO lets those in that say so themselves, and its WebSocket transport answers no request
    if (!upgrade && client.transport.name !== 'polling') return decide(BAD_REQUEST, { name: 'TRANSPORT_MISMATCH' })
    if (this.inputLimits.isEarly(client) && !upgrade) this.#keepHead(client, req)
    if (upgrade) {
      if (client.transport.name === 'websocket' || client.upgrading)
        return decide(BAD_REQUEST, { name: 'TRANSPORT_MISMATCH' })
    } else if (req.method === 'GET') {
      // only a poll that is let in takes the place of the last one
      return super.verify(req, upgrade, (/** @type {unknown[]} */ ...refusal) => {
        if (refusal.length > 0 || this.answers.take(client, req.res)) return decide(...refusal)
        giveUp(client)
        decide(BAD_REQUEST, { name: 'ANSWER_NOT_READ' })
      })
    }
    return super.verify(req, upgrade, decide)
  }

  /** Polls wait, with their heads. @param {any} session of a client that is not admitted @param {any} req */
  #keepHead (session, req) {
    const size = headSize(req)
    this.inputLimits.holds(session, size)
    req.res.once('close', () => this.inputLimits.holds(session, -size))
  }

  /** @param {string} sid @returns {any} Engine.IO's socket */
  sessionOf (sid) {
    const own = this.#sessions.get(sid)
    if (own !== undefined) return own
    const clients = /** @type {Record<string, any>} */ (/** @type {any} */ (this).clients)
    return Object.hasOwn(clients, sid) ? clients[sid] : undefined
  }

  /**
   * The worker that a session's requests come through drains, and would cut what is open.
   * @param {string} sid
   * @returns {boolean} false: there is nothing to end yet
   */
  #release (sid) {
    const session = this.sessionOf(sid)
    if (session === undefined) return true
    if (session.transport.name === 'websocket') {
      /** @type {import('./link.js').Owner | undefined} */
      const owner = session[kOwner]
      owner?.tellDraining()
      session.close()
    } else {
      if (!session.transport.writable) return false
      // ends the poll and nothing else, as Engine.IO does before an upgrade
      session.transport.send([{ type: 'noop' }])
    }
    return true
  }

  /** @override @param {any} req @param {any} res */
  handleRequest (req, res) {
    if (!METHODS.includes(req.method)) return void res.writeHead(405, { allow: METHODS.join(', ') }).end()
    if (this.#refused(req, res)) return
    const sid = sidOf(req)
    if (sid === undefined && req.method === 'GET')
      return this.handshakeLimit.enter(req.socket, res, () => super.handleRequest(req, res), req)
    if (!this.strays?.isStray(sid)) return super.handleRequest(req, res)
    this.strays.request(/** @type {string} */ (sid), req, res).then(
      (forwarded) => {
        if (!forwarded) super.handleRequest(req, res)
      },
      () => res.destroy()
    )
  }

  /**
   * @param {any} req
   * @param {any} to the response, or the socket of an upgrade
   * @returns {boolean} whether it comes from a page that may not connect
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

  /** Extensions that want to see requests, or to add headers to answers, get Engine.IO's own. */
  get #extended () {
    return (
      /** @type {any} */ (this).middlewares.length > 1 ||
      this.listenerCount('initial_headers') > 1 ||
      this.listenerCount('headers') > 0
    )
  }

  /**
   * Opens a session that begins with a WebSocket, if there is nothing to refuse and nobody else has a say in it.
   * @param {import('./request.js').Upgrade} request
   * @param {import('net').Socket} netSocket
   * @param {Buffer} rest what came after the request
   * @returns {boolean} false: it is for Engine.IO
   */
  takeWebSocket (request, netSocket, rest) {
    if (!this.usesEngineSocket || !beginsWebSocket(request) || this.#extended) return false
    if (!this.#origins.mayConnect(request.headers)) return false
    this.handshakeLimit.enter(
      netSocket,
      undefined,
      () => {
        if (netSocket.destroyed) return
        const sid = this.newSessionId()
        const session = new EngineSocket(sid, this, request, netSocket)
        const server = /** @type {any} */ (this)
        this.#sessions.set(sid, session)
        server.clientsCount++
        session.open(`{"sid":"${sid}",${this.#opening}`)
        this.emit('connection', session)
        if (rest.length > 0) session.received(Buffer.from(rest))
      },
      request
    )
    return true
  }

  /** @param {EngineSocket} session that has ended */
  forget (session) {
    this.inputLimits.leave(session)
    this.onEnded(session)
    if (this.#sessions.delete(session.id)) /** @type {any} */ (this).clientsCount--
  }

  /** @override @param {any} req @param {any} socket @param {Buffer} head */
  handleUpgrade (req, socket, head) {
    if (this.#refused(req, socket)) return
    const sid = sidOf(req)
    if (sid === undefined) {
      if (this.takeWebSocket(req, socket, head)) return
      if (this.#hooked) deferAddress(socket)
      return this.handshakeLimit.enter(socket, undefined, () => super.handleUpgrade(req, socket, head), req)
    }
    if (!this.strays?.isStray(sid)) return super.handleUpgrade(req, socket, head)
    this.strays.upgrade(/** @type {string} */ (sid), req, socket, head).then(
      (forwarded) => {
        if (!forwarded) super.handleUpgrade(req, socket, head)
      },
      () => socket.destroy()
    )
  }

  /** @override @param {any} name @param {any} req that begins a session, or upgrades one */
  createTransport (name, req) {
    const session = req._query.sid && this.sessionOf(req._query.sid)
    if (session && req.websocket) belongsTo(req.websocket, session)
    return super.createTransport(name, req)
  }

  /**
   * CORS is no matter of WebSockets (RFC 6455, section 10.2): their origin is checked, and nothing reads the headers.
   * @param {any} req @param {any} res @param {(error?: unknown) => void} done
   */
  _applyMiddlewares (req, res, done) {
    // the first one is Engine.IO's own; there are more if an extension has added some
    if (!(res instanceof ServerResponse) && /** @type {any} */ (this).middlewares.length === 1) done()
    else /** @type {any} */ (EngineServer.prototype)._applyMiddlewares.call(this, req, res, done)
  }

  /**
   * For the private listener: what arrives there is ours or nobody's, and is never passed on again.
   * @param {any} req
   * @param {any} res
   */
  handleOwnRequest (req, res) {
    if (req.method === RELEASE) res.writeHead(this.#release(sidOf(req) ?? '') ? 204 : 404).end()
    else super.handleRequest(req, res)
  }

  /** @param {any} req @param {any} socket @param {Buffer} head */
  handleOwnUpgrade (req, socket, head) {
    super.handleUpgrade(req, socket, head)
  }
}

/**
 * Reads the query once, for us and for Engine.IO, which takes `_query` when it is there.
 * @param {any} req
 * @returns {string | undefined}
 */
function sidOf (req) {
  req._query = queryOf(req.url)
  return req._query.sid
}

/** @param {any} session of a slow client */
function giveUp (session) {
  /** @type {import('./link.js').Owner | undefined} */
  const owner = session[kOwner]
  if (owner === undefined) session.close(true)
  else owner.tooSlow()
}
