import { InkcastError, publicError } from '../base/common/errors.js'
import { retryHint } from '../transport/admission/handshake-limit.js'
import { kOwner, listenerOf } from '../transport/engine/link.js'
import { happened } from '../observe/metrics/points.js'
import { deviceIdentity } from '../people/auth/identity.js'
import { useCodec } from '../transport/socketio/codec.js'
import { assignId } from '../transport/socketio/handshake-hooks.js'
import { noteStockListeners } from '../transport/socketio/shared-listeners.js'
import { readAuth, readDocuments } from './handshake-auth.js'
import { NamespaceAdmission } from './namespace-admission.js'
import { openOwner } from './session-owners.js'
import { describeSocket } from './socket-data.js'
import { SocketIoConnection, kConnection } from './socketio-connection.js'

/**
 * The Socket.IO middlewares that admit a client, or refuse it with `err.data = { code, retryable, retryInMs? }`. They
 * run before those of extensions. The first namespace of a client creates its Connection; the main namespace replaces
 * it by a connection that can open documents.
 *
 * @typedef {import('socket.io').Socket} Socket
 *
 * @typedef {object} Admission
 * @property {import('../people/auth/identity.js').Identity} identity whose user is registered
 * @property {ReturnType<typeof readAuth>} auth
 * @property {import('./asked-documents.js').HandshakeParts | undefined} parts to open or refuse once it is connected
 * @property {import('./user-logs.js').Beginning | undefined} since where the reading of the user's log begins
 */
export class Handshake {
  #login
  #users
  #userLogs
  #newConnectionId
  #connectionContext
  #drain
  #metrics
  #log
  #owners
  #namespaces
  /**
   * Parts of handshakes in progress; most have none.
   * @type {WeakMap<SocketIoConnection, import('./asked-documents.js').HandshakeParts>}
   */
  #asked = new WeakMap()
  /**
   * Replaced connection of another namespace, by its successor.
   * @type {WeakMap<SocketIoConnection, SocketIoConnection>}
   */
  #replaced = new WeakMap()

  /**
   * @param {Pick<import('../observe/services.js').Services, 'metrics' | 'log'>} services
   * @param {object} parts
   * @param {import('./session-owners.js').SessionOwners} parts.owners
   * @param {import('./login.js').Login} parts.login
   * @param {import('./local-users.js').LocalUsers} parts.users
   * @param {() => string} parts.newConnectionId
   * @param {import('./connection.js').ConnectionContext} parts.connectionContext
   * @param {import('./user-logs.js').UserLogs} parts.userLogs
   * @param {Pick<import('./leaving/drain.js').Drain, 'active'>} parts.drain
   */
  constructor ({ metrics, log }, {
    owners, login, users, newConnectionId, connectionContext, userLogs, drain
  }) {
    this.#login = login
    this.#users = users
    this.#userLogs = userLogs
    this.#newConnectionId = newConnectionId
    this.#connectionContext = connectionContext
    this.#drain = drain
    this.#metrics = metrics
    this.#log = log
    this.#owners = owners
    this.#namespaces = new NamespaceAdmission({
      login, users, owners, newConnectionId, connectionContext
    })
  }

  /** The middleware of the main namespace. @param {Socket} socket @param {(error?: Error) => void} next */
  middleware = (socket, next) => { this.#answer(socket, this.#admit(socket), next) }

  /** The middleware of all other namespaces. @param {Socket} socket @param {(error?: Error) => void} next */
  namespaceMiddleware = (socket, next) => { this.#answer(socket, this.#admitToNamespace(socket), next) }

  /** @param {Socket} socket @param {Promise<void>} admission @param {(error?: Error) => void} next */
  #answer (socket, admission, next) {
    const listener = listenerOf(socket.conn)
    admission.then(
      () => {
        this.#metrics.handshakes.count('ok', listener)
        next()
      },
      (error) => {
        const { message, ...data } = this.refusal(error, listener)
        next(Object.assign(new Error(message), { data }))
      }
    )
  }

  /** Counts a refused handshake. @param {any} error @param {string} listener */
  refusal (error, listener) {
    const { code, message, retryable } = publicError(error)
    // an application may have any number of codes
    this.#metrics.handshakes.count(error.refusal === undefined ? code : error.code, listener)
    if (code === 'internal') this.#log.error({ err: error }, 'handshake failed')
    return { code, message, retryable, ...retryHint({ retryable }, this.#connectionContext.random) }
  }

  /** @param {Socket} socket @throws {InkcastError} draining */
  #refuseWhileDraining (socket) {
    if (!this.#drain.active) return
    // stock clients reconnect automatically after a lost connection, but not after a refused one
    ;/** @type {any} */ (socket.conn).close()
    throw new InkcastError('draining')
  }

  /** @param {Socket} socket of another namespace */
  async #admitToNamespace (socket) {
    const codec = useCodec(socket.client)
    this.#refuseWhileDraining(socket)
    return this.#namespaces.admit(socket, codec)
  }

  /** @param {Socket} socket */
  async #admit (socket) {
    noteStockListeners(socket)
    const { client, conn } = /** @type {any} */ (socket)
    const { decoder } = client
    // Socket.IO would create a second connection for a CONNECT that arrives while the first is in progress
    if (decoder.taken) throw new InkcastError('bad_request', 'there is a connection already')
    decoder.taken = true
    try {
      const other = this.#namespaces.inProgress(conn)
      if (other !== undefined) await other.catch(() => {})
      await this.#connect(socket)
    } catch (error) {
      decoder.taken = false
      throw error
    } finally {
      this.#namespaces.goOn(conn)
    }
  }

  /** @param {Socket} socket */
  async #connect (socket) {
    const { conn } = /** @type {any} */ (socket)
    const codec = useCodec(socket.client)
    this.#refuseWhileDraining(socket)
    const { identity, auth, parts, since } = await this.admitted(socket)
    assignId(socket, this.#newConnectionId())
    const connection =
      new SocketIoConnection(socket, identity, codec, auth.client ?? undefined, this.#connectionContext)
    connection.acknowledges = auth.acknowledges === true
    describeSocket(socket, connection)
    if (conn[kOwner] !== undefined) this.#replaced.set(connection, conn[kOwner])
    this.#owners.own(connection, !this.#namespaces.has(conn))
    if (parts !== undefined) this.#asked.set(connection, parts)
    if (since !== undefined) this.#userLogs.prepare(connection, since)
  }

  /**
   * Reads what a client asks for, tells which user it is of, and registers that user: the steps of every protocol.
   * The caller releases the user, unless this rejects.
   *
   * @param {import('./session-owners.js').Admitted} socket
   * @returns {Promise<Admission>} rejects with InkcastError
   */
  async admitted (socket) {
    const auth = readAuth(socket.handshake.auth)
    const { token, documents, user, refused } = auth
    if (documents && Object.keys(documents).length > this.#connectionContext.maxDocuments)
      throw new InkcastError('too_many_documents')
    // without a token it would be another anonymous user
    const known = token == null ? openOwner(socket)?.identity : undefined
    const authenticating = known ?? this.#login.identify(socket, token)
    const found = authenticating instanceof Promise ? await authenticating : authenticating
    const identity = (found.anonymous && socket.exclusive && auth.client && deviceIdentity(auth.client)) || found
    // reading documents costs much more than refusing a token, so only authenticated clients may cause it
    const opened = documents && readDocuments(documents)
    const since = user === undefined ? undefined : await this.#userLogs.begin(identity.uid, user)
    try {
      await this.#owners.register(socket, identity, auth.client)
    } catch (error) {
      if (happened.hasSubscribers) {
        const refused = { uid: identity.uid, id: socket.id }
        happened.publish({
          by: this.#metrics, connection: refused, hop: 'refused', event: { reason: publicError(error).code }
        })
      }
      throw error
    }
    const parts = opened || refused !== undefined ? { documents: opened ?? undefined, refused } : undefined
    return { identity, auth, parts, since }
  }

  /**
   * Called when a client is connected: from here on the disconnect handler releases the user.
   * @param {SocketIoConnection} connection
   * @returns {SocketIoConnection | undefined} the connection that it replaces
   */
  connected (connection) {
    this.#owners.keepUser(connection)
    const { conn } = connection
    if (conn[kOwner] === connection) return this.#replaced.get(connection)
    // another namespace of the client was connected meanwhile
    const replaces = conn[kOwner]
    const { client } = /** @type {any} */ (connection.socket)
    conn[kOwner] = client.decoder.connection = connection
    return replaces
  }

  /**
   * @param {SocketIoConnection} connection connected
   * @returns {import('./asked-documents.js').HandshakeParts | undefined} what its handshake asked for, once; undefined:
   *   nothing
   */
  takeParts (connection) {
    const parts = this.#asked.get(connection)
    if (parts !== undefined) this.#asked.delete(connection)
    return parts
  }

  /** @param {Socket} socket admitted to another namespace @returns {SocketIoConnection} see NamespaceAdmission */
  standIn (socket) { return this.#namespaces.standIn(socket) }

  /** Undoes an admission when a middleware of an extension refuses the client. @param {Socket} socket */
  refused (socket) {
    const { conn, client, nsp, [kConnection]: connection } = /** @type {any} */ (socket)
    if (nsp.name === '/') client.decoder.taken = false
    else this.left(conn, nsp.name)
    if (connection === undefined) return
    this.#owners.keepUser(connection)
    this.#users.release(connection.uid)
    if (conn[kOwner] !== connection) return
    const before = this.#replaced.get(connection)
    client.decoder.connection = conn[kOwner] = before?.open || this.#owners.isPending(before) ? before : undefined
    // a client that is connected to other namespaces needs an owner: it reconnects
    if (conn[kOwner] === undefined && client.sockets.size > 0) conn.close()
  }

  /** Lets a client connect to a namespace again. @param {object} conn @param {string} name of the namespace */
  left (conn, name) { this.#namespaces.left(conn, name) }
}
