import { performServerHandshake } from 'node:http2'
import net from 'node:net'
import tls from 'node:tls'
import { leavePort } from '../../../base/process/leave-port.js'
import { TIMES, destroyAfter } from '../../../base/process/socket-times.js'
import { certificateOf } from '../client-certificate.js'
import { MAX_CONNECTIONS } from '../request-limit.js'

/** Of one connection, streams included. */
const MAX_CALLS = 100
/** Calls without a credential (health) of one connection. */
const MAX_OPEN_CALLS = 10
/**
 * Connections that have not shown a valid credential. Above it the oldest one is closed, so that silent connections
 * never lock callers out.
 */
const MAX_NEW = 500
/** Headers of a call, as with HTTP. */
const MAX_HEADER_BYTES = 16 * 1024
const CHECK_EVERY = 1000

/**
 * The port of the gRPC api: connections, their bounds and their times, which are those of the HTTP listeners. A
 * connection is HTTP/2; what a call means is not known here.
 *
 * @typedef {object} OpenCall
 * @property {(now: number) => void} look ends the call if its time is over
 */
export class GrpcListener {
  /** @type {Map<string, Connection>} by peer */
  #connections = new Map()
  /** Those without a valid credential, oldest first. @type {Set<Connection>} */
  #new = new Set()
  #server
  #settings
  #clock
  #times
  #onCall
  #onLook
  #stopping = new AbortController()

  /**
   * @param {object} options
   * @param {Readonly<{ host: string, grpcPort?: number }>} options.settings
   * @param {import('../../../config/tls/certificate.js').Certificate} [options.certificate] started; default: no TLS
   * @param {(stream: import('node:http2').ServerHttp2Stream, headers: import('node:http2').IncomingHttpHeaders,
   *   connection: Connection) => OpenCall | undefined} options.onCall
   * @param {() => void} [options.onLook] once per second
   * @param {import('../../../base/common/clock.js').Clock} options.clock
   * @param {typeof TIMES} [options.times]
   */
  constructor ({ settings, certificate, onCall, onLook = () => {}, clock, times = TIMES }) {
    this.#settings = settings
    this.#clock = clock
    this.#times = times
    this.#onCall = onCall
    this.#onLook = onLook
    this.#server = certificate === undefined
      ? net.createServer({ noDelay: true })
      : tls.createServer({
          ...certificate.serverOptions(), handshakeTimeout: this.#times.handshake, ALPNProtocols: ['h2'], noDelay: true
        })
    this.#server.maxConnections = MAX_CONNECTIONS
    // of TLS as well: before the handshake
    this.#server.on('connection', (socket) => this.#accept(socket))
    if (this.#server instanceof tls.Server) {
      certificate?.serve(this.#server)
      // Node only reports a handshake that fails or takes too long
      this.#server.on('tlsClientError', (_error, socket) => socket.destroy())
      this.#server.on('secureConnection', (socket) => this.#secured(socket))
    }
  }

  get port () { return /** @type {net.AddressInfo} */ (this.#server.address()).port }

  /** @throws {Error} if the port is taken */
  async start () {
    await new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host: this.#settings.host, port: this.#settings.grpcPort }, () => resolve(undefined))
    })
    this.#watch()
  }

  leave () { return leavePort(/** @type {any} */ (this.#server)) }

  /**
   * No further connections and calls. Resolves when the open calls have ended.
   * @param {number} ms after this the rest is closed
   */
  async stop (ms) {
    this.#stopping.abort()
    const closed = new Promise((resolve) => {
      if (this.#server.listening) this.#server.close(resolve)
      else if (this.#connections.size === 0) resolve(undefined)
      else this.#onEmpty = () => resolve(undefined)
    })
    const late = this.#clock.timer(ms, () => { for (const { socket } of this.#connections.values()) socket.destroy() })
    for (const connection of this.#connections.values()) connection.leave(ms)
    await closed
    late.stop()
  }

  #onEmpty = () => {}

  /** Ends what has used up its time. */
  async #watch () {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(CHECK_EVERY, signal)
      } catch {
        return
      }
      const now = this.#clock.monotonic()
      for (const connection of this.#connections.values()) connection.look(now)
      this.#onLook()
    }
  }

  /** @param {net.Socket} socket */
  #accept (socket) {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`
    const connection = new Connection(peer, socket, {
      times: this.#times, clock: this.#clock, onCall: this.#onCall, onAdmitted: () => this.#new.delete(connection)
    })
    this.#connections.set(peer, connection)
    this.#new.add(connection)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      this.#connections.delete(peer)
      this.#new.delete(connection)
      if (this.#connections.size === 0) this.#onEmpty()
    })
    if (this.#new.size > MAX_NEW) {
      const [oldest] = this.#new
      this.#new.delete(oldest)
      oldest.socket.destroy()
    }
    if (!(this.#server instanceof tls.Server)) connection.begin(socket)
  }

  /** @param {tls.TLSSocket} socket after the handshake */
  #secured (socket) {
    socket.on('error', () => socket.destroy())
    const connection = this.#connections.get(`${socket.remoteAddress}:${socket.remotePort}`)
    if (connection === undefined || socket.alpnProtocol !== 'h2') socket.destroy()
    else connection.begin(socket)
  }
}

/** One connection of a client, with its calls. */
export class Connection {
  #since
  #times
  #clock
  #onCall
  #onAdmitted
  /** @type {import('node:http2').ServerHttp2Session | undefined} */
  #session
  /** @type {Set<OpenCall>} */
  #calls = new Set()
  #openCalls = 0
  #hadCall = false
  #idleSince = 0
  #read = 0
  #heardAt
  #pinged = false

  /**
   * @param {string} peer
   * @param {net.Socket} socket
   * @param {object} options
   * @param {typeof TIMES} options.times
   * @param {import('../../../base/common/clock.js').Clock} options.clock
   * @param {ConstructorParameters<typeof GrpcListener>[0]['onCall']} options.onCall
   * @param {() => void} options.onAdmitted
   */
  constructor (peer, socket, { times, clock, onCall, onAdmitted }) {
    this.address = socket.remoteAddress
    this.peer = peer
    /** The raw one: to destroy it ends TLS as well. */
    this.socket = socket
    /** Of the client. @type {import('../callers/credentials.js').Certificate | undefined} */
    this.certificate = undefined
    this.#times = times
    this.#clock = clock
    this.#onCall = onCall
    this.#onAdmitted = onAdmitted
    this.#since = this.#heardAt = clock.monotonic()
  }

  /** @param {net.Socket} socket that carries HTTP/2 */
  begin (socket) {
    this.certificate = certificateOf(socket)
    const session = this.#session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: MAX_CALLS, maxHeaderListSize: MAX_HEADER_BYTES }
    })
    session.on('error', () => this.socket.destroy())
    session.on('stream', (stream, headers) => {
      stream.on('error', () => {})
      this.#hadCall = true
      const call = this.#onCall(stream, headers, this)
      const look = call ?? { look () {} }
      this.#calls.add(look)
      stream.once('close', () => {
        this.#calls.delete(look)
        if (this.#calls.size === 0) this.#idleSince = this.#clock.monotonic()
      })
    })
  }

  /** A caller has shown a valid credential. */
  admit () { this.#onAdmitted() }

  /**
   * Counts a call without a credential.
   * @param {import('./call.js').Call} call
   * @returns {boolean} false: there are too many
   */
  open (call) {
    if (this.#openCalls >= MAX_OPEN_CALLS) return false
    this.#openCalls++
    call.once('close', () => { this.#openCalls-- })
    return true
  }

  /** No further calls. @param {number} ms until the open ones must have ended */
  leave (ms) {
    if (this.#session === undefined) this.socket.destroy()
    else {
      this.#session.close()
      destroyAfter(this.socket, ms, this.#clock)
    }
  }

  /** @param {number} now ms, monotonic */
  look (now) {
    const { headers, keepAlive, silence, linger } = this.#times
    for (const call of this.#calls) call.look(now)
    if (!this.#hadCall) {
      // with TLS the handshake has its own time
      if (now - this.#since >= headers) this.socket.destroy()
      return
    }
    const { bytesRead } = this.socket
    if (bytesRead !== this.#read) {
      this.#read = bytesRead
      this.#heardAt = now
      this.#pinged = false
    }
    if (this.#calls.size === 0) {
      if (now - this.#idleSince >= keepAlive) this.leave(linger)
    } else if (now - this.#heardAt >= silence) this.socket.destroy()
    else if (!this.#pinged && now - this.#heardAt >= silence / 2) {
      // a stream may be idle for days; its client answers
      this.#pinged = true
      this.#session?.ping(() => {})
    }
  }
}
