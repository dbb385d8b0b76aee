import { kRefused } from '../transport/admission/rate-limit.js'
import { kOwner } from '../transport/engine/link.js'
import { happened } from '../observe/metrics/points.js'
import { forgetHandshake, keepHandshake, keepWhileConnecting, runFirst } from '../transport/socketio/handshake-hooks.js'
import { createSharedListeners } from '../transport/socketio/shared-listeners.js'
import { openAsked } from './asked-documents.js'
import { watchDocumentRooms } from './document-rooms.js'
import { handleEvent, isKnownEvent } from './handlers/dispatch.js'
import { leaveDocument } from './handlers/leave.js'
import { endReason } from './connection-listeners.js'
import { NamespaceConnection } from './namespace-connection.js'
import { kConnection } from './socketio-connection.js'

/**
 * @typedef {import('./socketio-connection.js').SocketIoConnection} Connection
 * @typedef {import('./connection.js').Connection} AnyConnection of any protocol
 */

/**
 * Listeners to Engine.IO and Socket.IO, from the first packet of a connection to its end. All connections share one
 * function per event.
 */
export class ConnectionEvents {
  #context
  #directory
  #owners
  #heartbeat
  #inputLimits
  #handshake
  #userLogs
  #drain
  /** Whether there are extensions, which may read `socket.handshake`. */
  #extended
  #listeners
  /** @type {import('../transport/engine/engine.js').Engine} set by `listen` */
  #engine = /** @type {any} */ (undefined)

  /**
   * @param {import('./handlers/context.js').HandlerContext} context
   * @param {object} parts
   * @param {import('./directory.js').Directory} parts.directory
   * @param {import('./session-owners.js').SessionOwners} parts.owners
   * @param {import('../transport/heartbeat/heartbeat.js').Heartbeat} parts.heartbeat
   * @param {import('../transport/admission/input-limits.js').InputLimits} parts.inputLimits
   * @param {Pick<import('./leaving/drain.js').Drain, 'active'>} parts.drain
   * @param {import('./handshake.js').Handshake} parts.handshake
   * @param {import('./user-logs.js').UserLogs} parts.userLogs
   * @param {boolean} parts.extended
   */
  constructor (context, { directory, owners, heartbeat, inputLimits, handshake, userLogs, drain, extended }) {
    this.#context = context
    this.#directory = directory
    this.#owners = owners
    this.#heartbeat = heartbeat
    this.#inputLimits = inputLimits
    this.#handshake = handshake
    this.#userLogs = userLogs
    this.#drain = drain
    this.#extended = extended
    this.#listeners = this.#createListeners()
  }

  /** Their `this` is a socket: Engine.IO's for packets, Socket.IO's for events. */
  #createListeners () {
    const events = this
    return {
      /** @this {any} @param {{ type: string, data?: string | Buffer }} packet it may be empty */
      onPacket (packet) {
        events.#heartbeat.heard(this, packet.type)
        events.count(this, 1, packet.data?.length ?? 0)
      },

      /** @this {any} @param {{ data?: any, options?: any }} packet */
      onPacketCreate (packet) { this[kOwner].writes(packet) },

      /** @this {any} @param {string} event @param {unknown[]} args */
      onEvent (event, ...args) {
        const context = events.#context
        if (events.#extended && !isKnownEvent(event) &&
          (this.listenerCount(event) > 0 || this.listenersAny().length > 1))
          return context.metrics.client_events.count('extension', 'ok')
        handleEvent(this[kConnection], event, args, context)
          .catch((error) => context.log.error({ err: error }, 'event failed'))
      },

      /** @this {any} @param {string} reason */
      onDisconnect (reason) { events.#disconnected(this, reason) },

      /** Answers an event that the gateway refused before decoding. @param {any[]} args */
      onRefused (...args) {
        const acknowledge = args.at(-1)
        if (typeof acknowledge === 'function') acknowledge(args[0])
      }
    }
  }

  /**
   * @param {import('../transport/engine/engine.js').Engine} engine
   * @param {import('socket.io').Server} io
   */
  listen (engine, io) {
    this.#engine = engine
    const { onPacket, onPacketCreate, onEvent, onDisconnect } = this.#listeners
    const sharedListeners = createSharedListeners({ onPacket, onPacketCreate, onDisconnect })
    engine.on('connection', (conn) => {
      this.#heartbeat.watch(conn)
      conn.on('packet', onPacket)
    })

    // `connect` comes before `connection`: extensions may listen to both.
    io.on('connect', (/** @type {import('socket.io').Socket} */ socket) => {
      /** @type {Connection} */
      const connection = /** @type {any} */ (socket)[kConnection]
      this.#admitted(connection)
      socket.onAny(onEvent)
      socket.on('disconnect', onDisconnect)
      sharedListeners.share(connection)
      this.#context.connectionListeners.connected(connection)
      if (happened.hasSubscribers)
        connection.tell('connected', { details: { transport: connection.transport, codec: connection.codec } })
      if (this.sentAway(connection)) return
      this.#userLogs.join(connection)
      const parts = this.#handshake.takeParts(connection)
      if (parts !== undefined) openAsked(connection, parts, this.#context)
    })
    watchDocumentRooms(io, this.#directory, this.#context)
    io.on('new_namespace', (namespace) => this.#listenTo(namespace))
  }

  /**
   * Clients of these namespaces have the same limits; extensions handle their events.
   * @param {import('socket.io').Namespace} namespace of an extension
   */
  #listenTo (namespace) {
    const { onDisconnect, onRefused } = this.#listeners
    runFirst(namespace, this.#handshake.namespaceMiddleware)
    keepWhileConnecting(namespace)
    namespace.prependListener('connect', (/** @type {any} */ socket) => {
      socket.on('disconnect', onDisconnect)
      socket.on(kRefused, onRefused)
      if (this.#extended) keepHandshake(socket)
      const isSecond = socket[kConnection] === undefined
      if (isSecond && this.#isConnected(socket.conn[kOwner])) return
      /** @type {Connection} */
      const connection = isSecond ? this.#handshake.standIn(socket) : socket[kConnection]
      this.#admitted(connection)
      this.sentAway(connection)
    })
  }

  /**
   * Counts the packets of a client, and closes its session when it exceeds its limits.
   * @param {any} conn Engine.IO's socket
   * @param {number} frames @param {number} bytes
   */
  count (conn, frames, bytes) {
    /** @type {Connection | undefined} */
    const connection = conn[kOwner]
    if (connection !== undefined) return connection.received(bytes, frames)
    this.#inputLimits.received(conn, frames, bytes)
  }

  /**
   * Called when a client is connected to its first namespace, or to the main one.
   * @param {Connection} connection
   */
  #admitted (connection) {
    const { conn, socket } = connection
    const replaces = this.#handshake.connected(connection)
    if (replaces === undefined || !this.#isConnected(replaces)) {
      this.#engine.admit(conn)
      conn.on('packetCreate', this.#listeners.onPacketCreate)
    } else {
      connection.continue(replaces)
      this.#remove(replaces)
      this.#owners.release(replaces)
    }
    if (this.#extended) keepHandshake(socket)
    else forgetHandshake(socket)
    this.add(connection)
  }

  /**
   * Sends a client away if its admission was in progress when the drain was announced, or its user banned or kicked.
   * @param {AnyConnection} connection
   * @returns {boolean}
   */
  sentAway (connection) {
    const { access, login } = this.#context
    if (access.isBanned(connection.uid)) {
      connection.disconnect('banned')
      return true
    }
    if (login.endedBy(connection.identity, access.orders.kickedAt(connection.uid))) {
      connection.disconnect('kicked')
      return true
    }
    if (!this.#drain.active) return false
    connection.tellDraining()
    connection.goAway()
    return true
  }

  /** @param {any} socket Socket.IO's @param {string} reason */
  #disconnected (socket, reason) {
    const { client, conn } = socket
    /** @type {Connection | undefined} */
    const connection = socket[kConnection]
    const next = client.sockets.values().next().value
    if (next === undefined) endWithoutNamespace(client, reason)
    if (socket.nsp.name === '/') client.decoder.taken = false
    else this.#handshake.left(conn, socket.nsp.name)
    // The connection belongs to another namespace of the client.
    if (connection === undefined || !this.#isConnected(connection)) return
    // a client that was disconnected, or that left, is not expected back
    const lost = reason !== 'client namespace disconnect' && reason !== 'server namespace disconnect'
    this.ended(connection, reason, lost)
    if (next === undefined || conn.readyState !== 'open' || conn[kOwner] !== connection)
      return this.#owners.release(connection)
    const successor = new NamespaceConnection(
      next, connection.identity, connection.codec, connection.client, connection.context
    )
    successor.continue(connection)
    this.#owners.passOn(connection, successor)
    conn[kOwner] = next[kConnection] = client.decoder.connection = successor
    this.add(successor)
  }

  /**
   * Leaves the documents of a connection that has ended. The user is released by the caller.
   * @param {AnyConnection} connection
   * @param {string} reason of its session's end
   * @param {boolean} lost whether the client is expected back
   */
  ended (connection, reason, lost) {
    this.#remove(connection)
    const ended = endReason(connection, reason, this.#drain.active)
    if (happened.hasSubscribers)
      connection.tell('closed', { reason: ended, details: { transport: reason } }, connection.documents())
    if (connection instanceof NamespaceConnection) return
    for (const guid of [...connection.documents()]) leaveDocument(connection, guid, ended, this.#context, lost)
    this.#userLogs.leave(connection)
    this.#context.connectionListeners.disconnected(connection, ended)
  }

  /** @param {Connection | undefined} connection not one that is refused or has ended */
  #isConnected (connection) {
    return connection !== undefined && this.#directory.connection(connection.id) === connection
  }

  /** @param {AnyConnection} connection admitted */
  add (connection) {
    this.#directory.add(connection)
    this.#context.expiry.watch(connection)
    this.#heartbeat.replan(connection.conn)
  }

  /** @param {AnyConnection} connection */
  #remove (connection) {
    this.#directory.remove(connection)
    this.#context.expiry.forget(connection)
    this.#heartbeat.forget(connection.conn)
  }
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
