import { ServerResponse } from 'node:http'
import { Server as EngineServer } from 'engine.io'
import { CompressingServer } from './compression.js'
import { kConnection } from './connection.js'
import { deferAddress } from './hooks.js'
import { createOriginCheck } from './origin.js'
import { LET_GO } from './stray.js'

/**
 * The Engine.IO server of a worker: our session ids, and requests of sessions that live in another worker are
 * passed on before Engine.IO sees them.
 */
export class Engine extends EngineServer {
  /**
   * @param {object} options
   * @param {() => string} options.newSessionId
   * @param {readonly string[]} options.allowedOrigins
   * @param {number} options.maxBytes largest message of a client
   * @param {{ max: number, timeout: number }} options.heartbeat ms
   * @param {boolean} options.compress whether clients are offered compression
   * @param {ReturnType<typeof import('./handshake-limit.js').createHandshakeLimit>} options.handshakeLimit
   * @param {import('./stray.js').Strays} [options.strays] absent: there is only one worker
   */
  constructor ({ newSessionId, allowedOrigins, maxBytes, heartbeat, compress, handshakeLimit, strays }) {
    const mayConnect = createOriginCheck(allowedOrigins)
    super({
      pingInterval: heartbeat.max,
      pingTimeout: heartbeat.timeout,
      maxHttpBufferSize: maxBytes,
      ...compress ? { wsEngine: CompressingServer } : {},
      allowRequest: (req, decide) => {
        const ok = mayConnect(req.headers.origin, req.headers.host)
        decide(ok ? null : 'this origin is not allowed', ok)
      },
      cors: /** @type {any} */ ((/** @type {import('http').IncomingMessage} */ req, /** @type {Function} */ done) => {
        done(null, { origin: mayConnect(req.headers.origin, req.headers.host) ? req.headers.origin ?? false : false, credentials: true })
      })
    })
    // A connection that begins as a WebSocket: the answer to the upgrade and Engine.IO's first packet leave in one write.
    this.on('initial_headers', (_, { _query, socket }) => { if (_query.transport === 'websocket' && _query.EIO === '4') socket.cork() })
    this.on('connection', ({ request }) => { request.socket.uncork() })
    this.newSessionId = newSessionId
    this.handshakeLimit = handshakeLimit
    this.strays = strays
  }

  /** @override */
  generateId () { return this.newSessionId() }

  /**
   * A session id is a credential: an upgrade that names a session which is on WebSocket already would take it over.
   * @override @param {any} req @param {boolean} upgrade @param {any} decide
   */
  verify (req, upgrade, decide) {
    const client = upgrade && req._query.sid ? this.sessionOf(req._query.sid) : undefined
    if (client !== undefined && (client.transport.name === 'websocket' || client.upgrading)) {
      // Engine.IO's BAD_REQUEST
      return decide(3, { name: 'TRANSPORT_MISMATCH' })
    }
    return super.verify(req, upgrade, decide)
  }

  /** @param {string} sid @returns {any} Engine.IO's socket */
  sessionOf (sid) {
    const clients = /** @type {Record<string, any>} */ (/** @type {any} */ (this).clients)
    return Object.hasOwn(clients, sid) ? clients[sid] : undefined
  }

  /**
   * The worker that a session's requests come through drains, and would cut what is open.
   * @param {string} sid
   * @returns {boolean} false: there is nothing to end yet
   */
  #letGo (sid) {
    const session = this.sessionOf(sid)
    if (session === undefined) return true
    if (session.transport.name === 'websocket') {
      /** @type {import('./connection.js').Connection | undefined} */
      const connection = session[kConnection]
      connection?.tellDraining()
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
    const sid = sidOf(req)
    if (sid === undefined && req.method === 'GET') return this.handshakeLimit.enter(req.socket, res, () => super.handleRequest(req, res))
    if (!this.strays?.isStray(sid)) return super.handleRequest(req, res)
    this.strays.request(/** @type {string} */ (sid), req, res).then((forwarded) => { if (!forwarded) super.handleRequest(req, res) }, () => res.destroy())
  }

  /** @override @param {any} req @param {any} socket @param {Buffer} head */
  handleUpgrade (req, socket, head) {
    const sid = sidOf(req)
    if (sid === undefined) {
      deferAddress(socket)
      return this.handshakeLimit.enter(socket, undefined, () => super.handleUpgrade(req, socket, head))
    }
    if (!this.strays?.isStray(sid)) return super.handleUpgrade(req, socket, head)
    this.strays.upgrade(/** @type {string} */ (sid), req, socket, head).then((forwarded) => { if (!forwarded) super.handleUpgrade(req, socket, head) }, () => socket.destroy())
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

  /** For the private listener: what arrives there is ours or nobody's, and is never passed on again. @param {any} req @param {any} res */
  handleOwnRequest (req, res) {
    if (req.method === LET_GO) res.writeHead(this.#letGo(sidOf(req) ?? '') ? 204 : 404).end()
    else super.handleRequest(req, res)
  }

  /** @param {any} req @param {any} socket @param {Buffer} head */
  handleOwnUpgrade (req, socket, head) { super.handleUpgrade(req, socket, head) }
}

/**
 * Reads the query once, for us and for Engine.IO, which takes `_query` when it is there.
 * @param {any} req
 * @returns {string | undefined}
 */
function sidOf (req) {
  const at = req.url.indexOf('?')
  req._query = Object.fromEntries(new URLSearchParams(at === -1 ? '' : req.url.slice(at + 1)))
  return req._query.sid
}
