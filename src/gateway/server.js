import { Server } from 'socket.io'
import { createFeeds } from '../documents/feeds.js'
import { createHeartbeat } from '../heartbeat/heartbeat.js'
import { createPresence } from '../presence/presence.js'
import { timesWithPolls } from '../process/socket-times.js'
import { parserFor } from '../socketio/codec.js'
import { spareOwnRooms } from '../socketio/rooms.js'
import { Backlogs } from './backlogs.js'
import { createConnectionLimits } from '../admission/connection-limits.js'
import { Delivery } from './delivery.js'
import { drain } from './drain.js'
import { kConnection } from './connection.js'
import { createDirect } from './user-commands.js'
import { createPortDoor } from './public-port.js'
import { createExpiry } from './expiry.js'
import { Engine } from '../engine/engine.js'
import { kOwner } from '../engine/link.js'
import { answerEvent, handleEvent } from './handlers/dispatch.js'
import { leaveDocument } from './handlers/leave.js'
import { createHandshake } from './handshake.js'
import { createHandshakeLimit, retryHint } from '../admission/handshake-limit.js'
import { forgetHandshake, lightenHandshakes } from '../socketio/handshake-hooks.js'
import { InputLimits } from '../admission/input-limits.js'
import { endReason, LifeCycle } from './life-cycle.js'
import { createOrigins } from '../admission/origin.js'
import { Outbox } from './outbox.js'
import { PresenceDelivery } from './presence-delivery.js'
import { createHttpServer, notFound } from '../engine/http.js'
import { RateLimit, ratesOf } from '../admission/rate-limit.js'
import { createReceipts } from '../receipts/receipts.js'
import { createSharedListeners, makeAcksLazily } from '../socketio/shared-listeners.js'
import { createUsers } from './local-users.js'

/** A client's message is its data and a little more: event name, guid, packet type. */
const PACKET_OVERHEAD = 16_384
/** Of an Engine.IO socket whose client is in namespaces of extensions only: what it may send. */
const kRateLimit = Symbol('rate limit')
/**
 * Assembles one Socket.IO worker: what its connections, documents and handlers need, and what happens to a connection.
 *
 * @param {object} dependencies
 * @param {import('../config/load.js').Config} dependencies.config
 * @param {import('./directory.js').Directory} dependencies.directory of this worker's connections, empty
 * @param {import('../bus/contract.js').Bus} dependencies.bus
 * @param {import('../publish/publisher.js').Publisher} dependencies.publisher over that bus
 * @param {import('../presence/contract.js').PresenceStore} dependencies.presenceStore
 * @param {import('../uplink/contract.js').Uplink} dependencies.uplink
 * @param {ReturnType<typeof import('../auth/authenticator.js').createAuthenticator>} dependencies.authenticator
 * @param {ReturnType<typeof import('../documents/access.js').createAccess>} dependencies.access
 * @param {() => string} dependencies.newId of sessions and connections
 * @param {import('../sessions/registry.js').Sessions} [dependencies.sessions] default: none are kept
 * @param {any} [dependencies.adapter] Socket.IO adapter; default: in memory
 * @param {import('../receipts/redis-receipts.js').ReceiptParts} [dependencies.receiptParts] where workers put their
 *   parts of receipts together; default: this one is alone
 * @param {import('../peers/misrouted-requests.js').Strays} [dependencies.strays]
 * @param {(req: import('http').IncomingMessage, res: import('http').ServerResponse) => void} [dependencies.fallback]
 *   what is not Socket.IO
 * @param {import('./public-port.js').Door} [dependencies.door] default: HOST and PORT
 * @param {boolean} dependencies.hooked whether private hooks (hooks.js) may be used; self-test.js knows
 * @param {boolean} [dependencies.alone] no other process takes the connections that this one no longer takes; default
 *   false
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export function createGateway ({
  config, directory, bus, publisher, presenceStore, sessions, uplink, authenticator, access, newId, hooked, adapter,
  receiptParts, strays, fallback = notFound,
  door = createPortDoor(config.gateway),
  alone = false, metrics, log, clock
}) {
  const { limits, gateway: settings } = config
  const tally = { json: 0, msgpack: 0, bytes: 0 }
  const ingestedReceived = metrics.stage_milliseconds.labels('ingested_received')
  const receivedWritten = metrics.stage_milliseconds.labels('received_written')
  const producedWritten = metrics.stage_milliseconds.labels('produced_written')
  let draining = false

  /** @type {import('../bus/contract.js').BusHandlers} */
  const busHandlers = {
    onRecord: (record) => {
      ingestedReceived.observe(Math.max(0, clock.now() - record.ingestedAt))
      const start = clock.monotonic()
      feeds.receive(record)
      receivedWritten.observe(clock.monotonic() - start)
      // clocks of other machines may be ahead of ours
      producedWritten.observe(Math.max(0, clock.now() - record.publication.timestamp))
    },
    onDirect: (publication, receiptId, at) => direct.onDirect(publication, receiptId, at),
    onOrders: (uid, orders) => direct.onOrders(uid, orders),
    onReconnect: (guids) => {
      feeds.check(guids).catch((error) => log.debug({ err: error }, 'documents were not compared with their logs'))
    }
  }
  const feeds = createFeeds({
    bus, metrics, log, clock,
    maxReplayBytes: limits.maxReplayBytes,
    createDelivery: (record, replayed) => makeDelivery(record, replayed)
  })
  const receipts = createReceipts({ settings: limits, uplink, parts: receiptParts, metrics, log, clock })
  const lifeCycle = new LifeCycle(sessions === undefined ? [] : [sessions], log)
  const presence = createPresence({
    store: presenceStore,
    settings: config.presence,
    createDelivery: (guid, payload) => new PresenceDelivery(guid, payload),
    metrics,
    log,
    clock
  })
  const users = createUsers({ bus, orders: access.orders, metrics, log })
  const direct = createDirect({ directory, feeds, receipts, lifeCycle, presence, users, orders: access.orders })
  const expiry = createExpiry({ clock })
  authenticator.onWithdrawn(() => {
    for (const connection of directory.all()) if (connection.identity.key?.withdrawnAt != null) expiry.watch(connection)
  })
  /** Without it Engine.IO's own goes on. */
  const heartbeat = hooked
    ? createHeartbeat({
        settings: config.heartbeat,
        tierOf: (conn) => conn[kOwner]?.identity.tier,
        metrics
      })
    : null

  /** @param {import('../bus/contract.js').BusRecord} record @param {boolean} [replayed] */
  function makeDelivery ({ publication, offset, receiptId }, replayed = false) {
    metrics.frame_bytes.observe(publication.value.length)
    return new Delivery(publication, offset, replayed ? null : receipts.open(publication, receiptId))
  }

  const connectionLimits = createConnectionLimits({
    limits,
    trustedProxies: settings.trustedProxies,
    open: () => door.connections(httpServer),
    metrics
  })
  const handshakeLimit = createHandshakeLimit({
    perSecond: limits.maxHandshakesPerSecond,
    connections: connectionLimits,
    metrics,
    clock
  })
  const origins = createOrigins({
    allowed: settings.allowedOrigins,
    development: !config.production,
    anonymous: config.auth.allowAnonymous,
    metrics,
    log
  })
  const maxBytes = limits.maxRecordBytes + PACKET_OVERHEAD
  const rates = ratesOf(limits)
  const inputLimits = new InputLimits({ maxBytes, perSecond: limits.maxHandshakesPerSecond }, metrics, clock)
  const engine = new Engine({
    newSessionId: newId,
    origins,
    maxBytes,
    heartbeat: config.heartbeat,
    compress: hooked && config.delivery.compressFrom > 0,
    hooked,
    handshakeLimit,
    inputLimits,
    onFrames: (conn, frames) => count(conn, frames, 0),
    // of a client that was not admitted the heartbeat would keep everything until its next look
    onEnded: (conn) => heartbeat?.forget(conn),
    strays
  })
  const tls =
    settings.tlsCertFile && settings.tlsKeyFile
      ? { certFile: settings.tlsCertFile, keyFile: settings.tlsKeyFile }
      : undefined
  /** @type {import('http').RequestListener} */
  const others = (req, res) => {
    if (!origins.refuseHost(req, res)) fallback(req, res)
  }
  const httpServer = createHttpServer({
    engine,
    fallback: others,
    tls,
    isDraining: () => draining,
    times: timesWithPolls(config.heartbeat)
  })
  const io = new Server({
    parser: parserFor(limits.maxDocumentsPerConnection),
    serveClient: false,
    connectTimeout: 20_000,
    ...(adapter ? { adapter } : {})
  })

  const context = {
    feeds, presence, access, authenticator, expiry, lifeCycle, bus, publisher, uplink, limits, metrics, clock, log
  }

  const handshake = createHandshake({
    authenticator,
    users,
    maxPerUser: limits.maxConnectionsPerUser,
    newConnectionId: newId,
    connectionContext: {
      maxDocuments: limits.maxDocumentsPerConnection,
      rates,
      tally,
      outbox: new Outbox(config.delivery),
      receipts,
      backlogs: new Backlogs(limits, metrics, clock),
      listMembers,
      clock,
      lastSeenOf: (conn) => (heartbeat ? clock.now() - heartbeat.silence(conn) : clock.now()),
      spliced: hooked
    },
    isDraining: () => draining,
    metrics,
    log
  })
  if (hooked) {
    spareOwnRooms(io.sockets.adapter)
    lightenHandshakes()
    makeAcksLazily()
  }
  io.use(handshake.middleware)
  io.bind(engine)

  // One function for all connections, not one for each.
  /** @this {any} Engine.IO's socket @param {{ type: string, data?: string | Buffer }} packet it may be empty */
  function onPacket (packet) {
    heartbeat?.heard(this, packet.type)
    count(this, 1, packet.data?.length ?? 0)
  }

  /**
   * Whatever a client sends counts, and too much of it ends its session.
   * @param {any} conn Engine.IO's socket
   * @param {number} frames @param {number} bytes
   */
  function count (conn, frames, bytes) {
    /** @type {import('./connection.js').Connection | undefined} */
    const connection = conn[kOwner]
    if (connection !== undefined) return connection.received(bytes, frames)
    if (conn[kRateLimit] === undefined) return inputLimits.received(conn, frames, bytes)
    if (!conn[kRateLimit].packet(bytes, clock.monotonic(), frames)) conn.terminate()
  }
  connectionLimits.watch(httpServer)
  engine.on('connection', (conn) => {
    heartbeat?.watch(conn)
    conn.on('packet', onPacket)
  })

  /**
   * Whatever else is written comes after the records that were delivered before it, and counts where it has to wait.
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
    handleEvent(this[kConnection], event, args, context).catch((error) => log.error({ err: error }, 'event failed'))
  }

  /** @this {any} Socket.IO's socket @param {string} reason */
  function onDisconnect (reason) {
    /** @type {import('./connection.js').Connection} */
    const connection = this[kConnection]
    // stock clients close it themselves; nothing would end it when they don't
    if (reason === 'client namespace disconnect') connection.conn.close()
    directory.remove(connection)
    expiry.forget(connection)
    heartbeat?.forget(connection.conn)
    users.release(connection.uid)
    const ended = endReason(connection, reason, draining)
    // who is told to go, or says so, does not come back
    const lost = reason !== 'client namespace disconnect' && reason !== 'server namespace disconnect'
    for (const guid of [...connection.documents()]) leaveDocument(connection, guid, ended, context, lost)
    lifeCycle.disconnected(connection, ended)
  }

  const sharedListeners = hooked ? createSharedListeners({ onPacket, onPacketCreate, onDisconnect }) : null
  io.on('connection', (socket) => {
    /** @type {import('./connection.js').Connection} */
    const connection = /** @type {any} */ (socket)[kConnection]
    handshake.connected(connection)
    engine.admit(connection.conn)
    if (hooked) forgetHandshake(socket)
    directory.add(connection)
    expiry.watch(connection)
    heartbeat?.replan(connection.conn)
    connection.conn.on('packetCreate', onPacketCreate)
    socket.onAny(onEvent)
    socket.on('disconnect', onDisconnect)
    sharedListeners?.share(connection)
    lifeCycle.connected(connection)
    if (draining) {
      // it was being admitted when the others were told
      connection.tellDraining()
      connection.goAway()
      return
    }
    const documents = /** @type {import('./handshake.js').HandshakeDocuments | undefined} */ (socket.data.documents)
    if (documents !== undefined) {
      delete socket.data.documents
      for (const [guid, opening] of documents) joinAtHandshake(connection, guid, opening)
    }
  })

  // who is in a namespace of an extension is that one's matter, but for the amount
  io.on('new_namespace', (namespace) => {
    namespace.on('connection', ({ conn }) => {
      if (/** @type {any} */ (conn)[kOwner] !== undefined) return
      engine.admit(conn)
      Object.assign(conn, { [kRateLimit]: new RateLimit(rates, clock.monotonic()) })
    })
  })

  /**
   * @param {import('./connection.js').Connection} connection
   * @param {string} guid
   * @param {object | null} opening the argument of doc:join, without the guid
   */
  async function joinAtHandshake (connection, guid, opening) {
    const { ok, ...answer } = await answerEvent(connection, 'doc:join', [{ guid, ...opening }], context)
    if (ok) connection.socket.emit('doc:joined', answer)
    // not_joined: it was left meanwhile. Whoever did that knows, and the guid may be open again by now
    else if (answer.error.code !== 'not_joined')
      connection.socket.emit('doc:refused', { guid, error: { ...answer.error, ...retryHint(answer.error) } })
  }

  /** @param {import('./connection.js').Connection} connection @param {string} guid */
  function listMembers (connection, guid) {
    const document = connection.document(guid)
    if (document !== undefined) presence.refresh(connection, document)
  }

  metrics.onCollect(() => {
    metrics.deliveries.inc({ codec: 'json' }, tally.json)
    metrics.deliveries.inc({ codec: 'msgpack' }, tally.msgpack)
    metrics.delivered_bytes.inc(tally.bytes)
    tally.json = tally.msgpack = tally.bytes = 0
    const transports = { websocket: 0, polling: 0 }
    for (const connection of directory.all())
      transports[/** @type {keyof typeof transports} */ (connection.transport)]++
    metrics.connections.set({ transport: 'websocket' }, transports.websocket)
    metrics.connections.set({ transport: 'polling' }, transports.polling)
    metrics.documents.set(feeds.size)
  })

  return {
    io,
    engine,
    httpServer,
    bus,
    busHandlers,
    lifeCycle,
    presence,

    /** @returns {number} the port it listens on */
    port () {
      return /** @type {import('net').AddressInfo} */ (httpServer.address()).port
    },

    get connections () {
      return directory.size
    },

    /** @throws {Error} if the port is taken or the bus cannot be reached */
    async start () {
      expiry.start()
      receipts.start()
      heartbeat?.start()
      await uplink.start()
      await bus.start(busHandlers)
      sessions?.start()
      feeds.start()
      await presence.start()
      await door.open(httpServer)
    },

    /** Tells clients to go elsewhere, closes their connections batch by batch, and ends within DRAIN_TIMEOUT. */
    async stop () {
      draining = true
      handshakeLimit.stop()
      expiry.stop()
      const timeout = settings.drainTimeout
      const deadline = await drain({ httpServer, engine, door, directory, feeds, strays, alone, timeout, clock })
      heartbeat?.stop()
      await io.close()
      httpServer.closeAllConnections()
      await receipts.stop()
      await presence.stop(alone ? 0 : Math.max(0, deadline - clock.monotonic()))
      await sessions?.stop()
      await uplink.stop()
      await bus.stop()
    }
  }
}
