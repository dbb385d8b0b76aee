import { InkcastError, publicError } from '../base/common/errors.js'
import { retryHint } from '../transport/admission/handshake-limit.js'
import { kOwner } from '../transport/engine/link.js'
import { happened } from '../observe/metrics/points.js'
import { useCodec } from '../transport/socketio/codec.js'
import { assignId } from '../transport/socketio/handshake-hooks.js'
import { noteStockListeners } from '../transport/socketio/shared-listeners.js'
import { Connection, kConnection } from './connection.js'
import { assertMayAct } from './handlers/standing.js'
import { readAuth, readDocuments } from './handshake-auth.js'
import { NamespaceConnection } from './namespace-connection.js'
import { describeSocket } from './socket-data.js'

/** Maximum namespaces per client. */
const MAX_NAMESPACES = 100

/**
 * The Socket.IO middlewares that admit a client, or refuse it with `err.data = { code, retryable, retryInMs? }`. They
 * run before those of extensions. The first namespace of a client creates its Connection; the main namespace replaces
 * it by a connection that can open documents.
 *
 * @typedef {import('socket.io').Socket} Socket
 *
 * @typedef {object} HandshakeParts
 * @property {import('./handshake-auth.js').HandshakeDocuments | undefined} documents to open
 * @property {import('./handshake-auth.js').RefusedPart[] | undefined} refused parts of the handshake
 *
 * @param {object} dependencies
 * @param {ReturnType<typeof import('../people/auth/authenticator.js').createAuthenticator>} dependencies.authenticator
 * @param {ReturnType<typeof import('./local-users.js').createLocalUsers>} dependencies.users
 * @param {number} dependencies.maxPerUser connections; 0: any number
 * @param {() => string} dependencies.newConnectionId
 * @param {import('./connection.js').ConnectionContext} dependencies.connectionContext
 * @param {ReturnType<typeof import('./user-logs.js').createUserLogs>} dependencies.userLogs
 * @param {Pick<import('./leaving/drain.js').Drain, 'active'>} dependencies.drain
 * @param {() => boolean} dependencies.mayAct whether clients may use their rights on this worker now
 * @param {Pick<ReturnType<typeof import('../documents/access.js').createAccess>, 'isBanned'>} dependencies.access
 * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../base/common/log.js').Log} dependencies.log
 */
export function createHandshake ({
  authenticator, users, maxPerUser, newConnectionId, connectionContext, userLogs, drain, mayAct, access, metrics, log
}) {
  const standing = { mayAct }
  /** Parts of handshakes in progress; most have none. @type {WeakMap<Connection, HandshakeParts>} */
  const asked = new WeakMap()
  /** Replaced connection of another namespace, by its successor. @type {WeakMap<Connection, Connection>} */
  const replaced = new WeakMap()
  /**
   * Namespaces besides the main one that a client is in or connects to, by Engine.IO's socket.
   * @type {WeakMap<object, Set<string>>}
   */
  const namespaces = new WeakMap()
  /**
   * First admissions outside the main namespace that are in progress, by Engine.IO's socket.
   * @type {WeakMap<object, Promise<unknown>>}
   */
  const admitting = new WeakMap()
  /** Admissions to other namespaces that wait for the main one. @type {Map<object, (() => void)[]>} */
  const waiting = new Map()

  /** Owners by socket of another namespace, as of its admission. @type {WeakMap<Socket, Connection>} */
  const owners = new WeakMap()
  /** Listeners to the end of sessions that have several namespaces. @type {WeakMap<Connection, () => void>} */
  const releases = new WeakMap()

  /** @this {any} Engine.IO's socket, of a client that is in the main namespace only */
  function releaseUser () {
    users.release(this[kOwner].uid)
  }

  /**
   * Releases the user of a connection that ends before it is connected: a middleware of an extension may refuse it.
   * @param {Connection} connection
   */
  function releaseAtEnd (connection) {
    const { conn } = connection
    if (!namespaces.has(conn)) return conn.on('close', releaseUser)
    const release = () => users.release(connection.uid)
    releases.set(connection, release)
    conn.on('close', release)
  }

  /** @param {Connection | undefined} connection outside the main namespace */
  const isPending = (connection) => connection !== undefined && releases.has(connection)

  /** @param {Connection} connection that is connected or refused */
  function keepUser (connection) {
    connection.conn.off('close', releases.get(connection) ?? releaseUser)
    releases.delete(connection)
  }

  /**
   * @param {Pick<Socket, 'conn'>} socket
   * @returns {Connection | undefined} the connection of another namespace of the same client that is connected
   */
  function openOwner ({ conn }) {
    /** @type {Connection | undefined} */
    const owner = /** @type {any} */ (conn)[kOwner]
    return owner?.open ? owner : undefined
  }

  /** @param {Socket} socket @throws {InkcastError} draining */
  function refuseWhileDraining (socket) {
    if (!drain.active) return
    // stock clients reconnect automatically after a lost connection, but not after a refused one
    ;/** @type {any} */ (socket.conn).close()
    throw new InkcastError('draining')
  }

  /**
   * Registers the user of a new connection.
   * @param {Socket} socket
   * @param {string} uid
   */
  async function registerUser ({ conn }, uid) {
    const owner = openOwner({ conn })
    if (owner !== undefined && owner.uid !== uid)
      throw new InkcastError('forbidden', 'the connection belongs to another user')
    // the namespaces of one client are one connection
    const isAnother = /** @type {any} */ (conn)[kOwner]?.uid !== uid
    if (maxPerUser > 0 && isAnother && users.count(uid) >= maxPerUser) {
      metrics.connections_refused.inc({ reason: 'user' })
      throw new InkcastError('too_many_connections')
    }
    assertMayAct(standing)
    await users.register(uid)
    const isOpen = /** @type {any} */ (conn).readyState === 'open'
    if (isOpen && !access.isBanned(uid)) return
    users.release(uid)
    throw isOpen ? new InkcastError('banned') : new InkcastError('unavailable', 'the connection has gone')
  }

  /**
   * Makes a connection the owner of its session.
   * @param {Connection} connection
   */
  function own (connection) {
    const { socket, conn } = connection
    Object.assign(socket, { [kConnection]: connection })
    conn[kOwner] = connection
    const { decoder } = /** @type {any} */ (socket.client)
    decoder.connection = connection
    releaseAtEnd(connection)
  }

  /** @param {Socket} socket */
  async function admit (socket) {
    noteStockListeners(socket)
    const { client, conn } = /** @type {any} */ (socket)
    const { decoder } = client
    // Socket.IO would create a second connection for a CONNECT that arrives while the first is in progress
    if (decoder.taken) throw new InkcastError('bad_request', 'there is a connection already')
    decoder.taken = true
    try {
      if (admitting.has(conn)) await admitting.get(conn)?.catch(() => {})
      await connect(socket)
    } catch (error) {
      decoder.taken = false
      throw error
    } finally {
      if (waiting.size > 0) tellWaiting(conn)
    }
  }

  /** @param {object} conn */
  function tellWaiting (conn) {
    for (const resolve of waiting.get(conn) ?? []) resolve()
    waiting.delete(conn)
  }

  /** @param {Socket} socket */
  async function connect (socket) {
    const codec = useCodec(socket.client)
    refuseWhileDraining(socket)
    const { token, client, documents, user, refused } = readAuth(socket.handshake.auth)
    if (documents && Object.keys(documents).length > connectionContext.maxDocuments)
      throw new InkcastError('too_many_documents')
    // without a token it would be another anonymous user
    const known = token == null ? openOwner(socket)?.identity : undefined
    const authenticating = known ?? authenticator.authenticate(token ?? undefined)
    const identity = authenticating instanceof Promise ? await authenticating : authenticating
    // reading documents costs much more than refusing a token, so only authenticated clients may cause it
    const opened = documents && readDocuments(documents)
    const since = user === undefined ? undefined : await userLogs.begin(identity.uid, user)
    try {
      await registerUser(socket, identity.uid)
    } catch (error) {
      if (happened.hasSubscribers) {
        const refused = { uid: identity.uid, id: socket.id }
        happened.publish({ by: metrics, connection: refused, hop: 'refused', event: { reason: publicError(error).code } })
      }
      throw error
    }
    assignId(socket, newConnectionId())
    const connection = new Connection(socket, identity, codec, client ?? undefined, connectionContext)
    describeSocket(socket, connection)
    const { [kOwner]: owner } = /** @type {any} */ (socket.conn)
    if (owner !== undefined) replaced.set(connection, owner)
    own(connection)
    if (opened || refused !== undefined) asked.set(connection, { documents: opened ?? undefined, refused })
    if (since !== undefined) userLogs.prepare(connection, since)
  }

  /** @param {Socket} socket of another namespace */
  async function admitToNamespace (socket) {
    const { conn, client } = /** @type {any} */ (socket)
    const codec = useCodec(client)
    refuseWhileDraining(socket)
    let names = namespaces.get(conn)
    if (names === undefined) namespaces.set(conn, names = new Set())
    const { name } = socket.nsp
    if (names.has(name)) throw new InkcastError('bad_request', 'there is a connection to this namespace already')
    if (names.size >= MAX_NAMESPACES)
      throw new InkcastError('bad_request', `a client may connect to ${MAX_NAMESPACES} namespaces`)
    names.add(name)
    try {
      assignId(socket, newConnectionId())
      if (conn[kOwner] === undefined) await becomeFirst(socket, codec)
      owners.set(socket, conn[kOwner])
      describeSocket(socket, conn[kOwner])
    } catch (error) {
      names.delete(name)
      throw error
    }
  }

  /**
   * Admits a client that is in no namespace yet. If another admission of the client is in progress, waits for that one.
   * @param {Socket} socket
   * @param {import('../transport/socketio/codec.js').Codec} codec
   */
  async function becomeFirst (socket, codec) {
    const { conn, client } = /** @type {any} */ (socket)
    if (client.decoder.taken) {
      await new Promise((resolve) => {
        const others = waiting.get(conn)
        if (others === undefined) waiting.set(conn, [() => resolve(undefined)])
        else others.push(() => resolve(undefined))
      })
    }
    while (admitting.has(conn)) await admitting.get(conn)?.catch(() => {})
    if (conn[kOwner] !== undefined) return
    const admission = makeFirst(socket, codec)
    admitting.set(conn, admission)
    try {
      await admission
    } finally {
      admitting.delete(conn)
    }
  }

  /** @param {Socket} socket @param {import('../transport/socketio/codec.js').Codec} codec */
  async function makeFirst (socket, codec) {
    const { token, client } = readAuth(socket.handshake.auth)
    const identity = await authenticator.authenticate(token ?? undefined)
    await registerUser(socket, identity.uid)
    // the main namespace has admitted the client meanwhile
    if (/** @type {any} */ (socket.conn)[kOwner] !== undefined) users.release(identity.uid)
    else own(new NamespaceConnection(socket, identity, codec, client ?? undefined, connectionContext))
  }

  /**
   * @param {(socket: Socket) => Promise<void>} admission
   * @returns {(socket: Socket, next: (error?: Error) => void) => void}
   */
  const middleware = (admission) => (socket, next) => {
    admission(socket).then(
      () => {
        metrics.handshakes.count('ok')
        next()
      },
      (error) => {
        const { code, message, retryable } = publicError(error)
        metrics.handshakes.count(code)
        if (code === 'internal') log.error({ err: error }, 'handshake failed')
        const hint = retryHint({ retryable }, connectionContext.random)
        next(Object.assign(new Error(message), { data: { code, retryable, ...hint } }))
      }
    )
  }

  return {
    /** The middleware of the main namespace. */
    middleware: middleware(admit),

    /** The middleware of all other namespaces. */
    namespaceMiddleware: middleware(admitToNamespace),

    /**
     * Called when a client is connected: from here on the disconnect handler releases the user.
     * @param {Connection} connection
     * @returns {Connection | undefined} the connection that it replaces
     */
    connected (connection) {
      keepUser(connection)
      const { conn } = connection
      if (conn[kOwner] === connection) return replaced.get(connection)
      // another namespace of the client was connected meanwhile
      const replaces = conn[kOwner]
      const { client } = /** @type {any} */ (connection.socket)
      conn[kOwner] = client.decoder.connection = connection
      return replaces
    },

    /**
     * @param {Connection} connection connected
     * @returns {HandshakeParts | undefined} what its handshake asked for, once; undefined: nothing
     */
    takeParts (connection) {
      const parts = asked.get(connection)
      if (parts !== undefined) asked.delete(connection)
      return parts
    },

    /**
     * The first namespace of a client is not connected yet, and may be refused: this one, which is connected, gets a
     * connection of its own.
     * @param {Socket} socket admitted to another namespace
     * @returns {Connection}
     */
    standIn (socket) {
      const { identity, codec, client } = /** @type {Connection} */ (owners.get(socket))
      const registering = users.register(identity.uid)
      const connection = new NamespaceConnection(socket, identity, codec, client, connectionContext)
      Object.assign(socket, { [kConnection]: connection })
      registering.catch(() => connection.giveUp('unavailable, reconnect'))
      return connection
    },

    /** Undoes an admission when a middleware of an extension refuses the client. @param {Socket} socket */
    refused (socket) {
      const { conn, client, nsp } = /** @type {any} */ (socket)
      const { [kConnection]: connection } = /** @type {any} */ (socket)
      if (nsp.name === '/') client.decoder.taken = false
      else this.left(conn, nsp.name)
      if (connection === undefined) return
      keepUser(connection)
      users.release(connection.uid)
      if (conn[kOwner] !== connection) return
      const before = replaced.get(connection)
      client.decoder.connection = conn[kOwner] = before?.open || isPending(before) ? before : undefined
      // a client that is connected to other namespaces needs an owner: it reconnects
      if (conn[kOwner] === undefined && client.sockets.size > 0) conn.close()
    },

    /** Lets a client connect to a namespace again. @param {object} conn @param {string} name of the namespace */
    left (conn, name) { namespaces.get(conn)?.delete(name) }
  }
}
