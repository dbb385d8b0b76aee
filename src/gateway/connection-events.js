import { InkcastError, publicError } from '../base/common/errors.js'
import { kRefused } from '../transport/admission/rate-limit.js'
import { retryHint } from '../transport/admission/handshake-limit.js'
import { kOwner } from '../transport/engine/link.js'
import { happened } from '../observe/metrics/points.js'
import { forgetHandshake, keepHandshake, keepWhileConnecting, runFirst } from '../transport/socketio/handshake-hooks.js'
import { createSharedListeners } from '../transport/socketio/shared-listeners.js'
import { kConnection } from './connection.js'
import { answerEvent, handleEvent, isKnownEvent } from './handlers/dispatch.js'
import { leaveDocument } from './handlers/leave.js'
import { endReason } from './connection-listeners.js'
import { NamespaceConnection } from './namespace-connection.js'

/**
 * Listeners to Engine.IO and Socket.IO, from the first packet of a connection to its end. All connections share one
 * function per event.
 */

/**
 * @param {object} dependencies
 * @param {import('./handlers/dispatch.js').HandlerContext} dependencies.context
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {ReturnType<typeof import('./local-users.js').createLocalUsers>} dependencies.users
 * @param {import('../transport/heartbeat/heartbeat.js').Heartbeat} dependencies.heartbeat
 * @param {import('../transport/admission/input-limits.js').InputLimits} dependencies.inputLimits
 * @param {Pick<import('./leaving/drain.js').Drain, 'active'>} dependencies.drain
 * @param {ReturnType<typeof import('./handshake.js').createHandshake>} dependencies.handshake
 * @param {ReturnType<typeof import('./user-logs.js').createUserLogs>} dependencies.userLogs
 * @param {boolean} dependencies.extended whether there are extensions, which may read `socket.handshake`
 */
export function createConnectionEvents ({
  context, directory, users, heartbeat, inputLimits, handshake, userLogs, drain, extended
}) {
  const { access, expiry, connectionListeners, log } = context

  /**
   * Counts the packets of a client, and closes its session when it exceeds its limits.
   * @param {any} conn Engine.IO's socket
   * @param {number} frames @param {number} bytes
   */
  function count (conn, frames, bytes) {
    /** @type {import('./connection.js').Connection | undefined} */
    const connection = conn[kOwner]
    if (connection !== undefined) return connection.received(bytes, frames)
    inputLimits.received(conn, frames, bytes)
  }

  /** @this {any} Engine.IO's socket @param {{ type: string, data?: string | Buffer }} packet it may be empty */
  function onPacket (packet) {
    heartbeat.heard(this, packet.type)
    count(this, 1, packet.data?.length ?? 0)
  }

  /**
   * Flushes records that were delivered earlier, so that every other packet follows them, and counts packets that are
   * queued.
   * @this {any} Engine.IO's socket
   * @param {{ data?: any, options?: any }} packet
   */
  function onPacketCreate (packet) {
    /** @type {import('./connection.js').Connection} */
    const connection = this[kOwner]
    connection.flush()
    if (connection.backlog !== null || !this.transport.writable) connection.waits(packet)
  }

  /** @this {any} Socket.IO's socket @param {string} event @param {unknown[]} args */
  function onEvent (event, ...args) {
    if (extended && !isKnownEvent(event) && (this.listenerCount(event) > 0 || this.listenersAny().length > 1))
      return context.metrics.client_events.count('extension', 'ok')
    handleEvent(this[kConnection], event, args, context).catch((error) => log.error({ err: error }, 'event failed'))
  }

  /** @this {any} Socket.IO's socket @param {string} reason */
  function onDisconnect (reason) {
    const { client, conn } = this
    /** @type {import('./connection.js').Connection | undefined} */
    const connection = this[kConnection]
    const next = client.sockets.values().next().value
    if (next === undefined) endWithoutNamespace(client, reason)
    if (this.nsp.name === '/') client.decoder.taken = false
    else handshake.left(conn, this.nsp.name)
    // The connection belongs to another namespace of the client.
    if (connection === undefined || !isConnected(connection)) return
    remove(connection)
    const ended = endReason(connection, reason, drain.active)
    if (happened.hasSubscribers)
      connection.tell('closed', { reason: ended, details: { transport: reason } }, connection.documents())
    if (!(connection instanceof NamespaceConnection)) {
      // a client that was disconnected, or that left, is not expected back
      const lost = reason !== 'client namespace disconnect' && reason !== 'server namespace disconnect'
      for (const guid of [...connection.documents()]) leaveDocument(connection, guid, ended, context, lost)
      userLogs.leave(connection)
      connectionListeners.disconnected(connection, ended)
    }
    if (next === undefined || conn.readyState !== 'open' || conn[kOwner] !== connection)
      return users.release(connection.uid)
    const successor = new NamespaceConnection(
      next, connection.identity, connection.codec, connection.client, connection.context
    )
    successor.continue(connection)
    conn[kOwner] = next[kConnection] = client.decoder.connection = successor
    add(successor)
  }

  /**
   * Closes a connection whose client has left its last namespace. Stock clients close it themselves; others would keep
   * it open.
   * @param {any} client Socket.IO's
   * @param {string} reason
   */
  function endWithoutNamespace (client, reason) {
    if (reason === 'client namespace disconnect') client.conn.close()
    // An extension may have disconnected the client, or the namespace only: check once it is done.
    else process.nextTick(() => { if (client.sockets.size === 0) client.conn.close() })
  }

  /** @param {import('./connection.js').Connection | undefined} connection not one that is refused or has ended */
  const isConnected = (connection) =>
    connection !== undefined && directory.connection(connection.id) === connection

  /** @param {import('./connection.js').Connection} connection */
  function add (connection) {
    directory.add(connection)
    expiry.watch(connection)
    heartbeat.replan(connection.conn)
  }

  /** @param {import('./connection.js').Connection} connection */
  function remove (connection) {
    directory.remove(connection)
    expiry.forget(connection)
    heartbeat.forget(connection.conn)
  }

  /**
   * Called when a client is connected to its first namespace, or to the main one.
   * @param {import('./connection.js').Connection} connection
   */
  function admitted (connection) {
    const { conn, socket } = connection
    const replaces = handshake.connected(connection)
    if (replaces === undefined || !isConnected(replaces)) {
      engine.admit(conn)
      conn.on('packetCreate', onPacketCreate)
    } else {
      connection.continue(replaces)
      remove(replaces)
      users.release(replaces.uid)
    }
    if (extended) keepHandshake(socket)
    else forgetHandshake(socket)
    add(connection)
  }

  /** Answers an event that the gateway refused before decoding. @param {any[]} args */
  function onRefused (...args) {
    const acknowledge = args.at(-1)
    if (typeof acknowledge === 'function') acknowledge(args[0])
  }

  const sharedListeners = createSharedListeners({ onPacket, onPacketCreate, onDisconnect })
  /** @type {import('../transport/engine/engine.js').Engine} set by `listen` */
  let engine

  /**
   * @param {import('./connection.js').Connection} connection
   * @param {string} guid
   * @param {object | null} opening the argument of doc:join, without the guid
   * @returns {Promise<boolean>} whether it is open
   */
  async function join (connection, guid, opening) {
    const { ok, ...answer } = await answerEvent(connection, 'doc:join', [{ guid, ...opening }], context)
    if (ok) connection.about(guid, () => connection.socket.emit('doc:joined', answer))
    // not_joined: the document was left meanwhile, and may have been opened again since
    else if (answer.error.code !== 'not_joined')
      connection.socket.emit('doc:refused', { guid, error: { ...answer.error, ...retryHint(answer.error, context.random) } })
    return ok
  }

  /**
   * @param {import('./connection.js').Connection} connection
   * @param {import('./handshake.js').HandshakeParts} parts of its handshake
   */
  function openParts (connection, { documents, refused }) {
    for (const part of refused ?? []) connection.socket.emit('gateway:refused', part)
    for (const [guid, opening] of documents ?? []) {
      if (!(opening instanceof InkcastError)) join(connection, guid, opening)
      else {
        const error = publicError(opening)
        context.metrics.client_events.count('doc:join', error.code)
        connection.socket.emit('doc:refused', { guid, error })
      }
    }
  }

  return {
    count,

    /**
     * Opens a document on a connection whose client has not asked for it.
     * @param {import('./connection.js').Connection} connection
     * @param {string} guid
     */
    open: (connection, guid) => join(connection, guid, null),

    /**
     * @param {import('../transport/engine/engine.js').Engine} ofWorker
     * @param {import('socket.io').Server} io
     */
    listen (ofWorker, io) {
      engine = ofWorker
      engine.on('connection', (conn) => {
        heartbeat.watch(conn)
        conn.on('packet', onPacket)
      })

      // `connect` comes before `connection`: extensions may listen to both.
      io.on('connect', (/** @type {import('socket.io').Socket} */ socket) => {
        /** @type {import('./connection.js').Connection} */
        const connection = /** @type {any} */ (socket)[kConnection]
        admitted(connection)
        socket.onAny(onEvent)
        socket.on('disconnect', onDisconnect)
        sharedListeners.share(connection)
        connectionListeners.connected(connection)
        if (happened.hasSubscribers)
          connection.tell('connected', { details: { transport: connection.transport, codec: connection.codec } })
        if (sentAway(connection)) return
        userLogs.join(connection)
        const parts = handshake.takeParts(connection)
        if (parts !== undefined) openParts(connection, parts)
      })
      watchDocumentRooms(io)

      // Clients of these namespaces have the same limits; extensions handle their events.
      io.on('new_namespace', (namespace) => {
        runFirst(namespace, handshake.namespaceMiddleware)
        keepWhileConnecting(namespace)
        namespace.prependListener('connect', (/** @type {any} */ socket) => {
          socket.on('disconnect', onDisconnect)
          socket.on(kRefused, onRefused)
          if (extended) keepHandshake(socket)
          const isSecond = socket[kConnection] === undefined
          if (isSecond && isConnected(socket.conn[kOwner])) return
          /** @type {import('./connection.js').Connection} */
          const connection = isSecond ? handshake.standIn(socket) : socket[kConnection]
          admitted(connection)
          sentAway(connection)
        })
      })
    }
  }

  /**
   * Sends a client away if its admission was in progress when the drain was announced, or its user banned.
   * @param {import('./connection.js').Connection} connection
   * @returns {boolean}
   */
  function sentAway (connection) {
    if (access.isBanned(connection.uid)) {
      connection.disconnect('banned')
      return true
    }
    if (!drain.active) return false
    connection.tellDraining()
    connection.goAway()
    return true
  }

  /**
   * Each document has a room, `doc:<guid>`. A connection that an extension or another server removes from the room
   * (`socketsLeave`) leaves the document.
   * @param {import('socket.io').Server} io
   */
  function watchDocumentRooms (io) {
    io.of('/').adapter.on('leave-room', (/** @type {string} */ room, /** @type {string} */ id) => {
      if (!room.startsWith('doc:')) return
      const connection = directory.connection(id)
      const guid = room.slice('doc:'.length)
      const document = connection?.document(guid)
      if (connection === undefined || document === undefined) return
      // A closing connection leaves its rooms first: wait for the close.
      process.nextTick(() => {
        if (!connection.open || connection.document(guid) !== document || connection.socket.rooms.has(room)) return
        leaveDocument(connection, guid, 'revoked', context)
        connection.socket.emit('doc:revoked', { guid })
      })
    })
  }
}
