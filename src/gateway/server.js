import { Server } from 'socket.io'
import { createOperationRates, operationRatesOf } from '../transport/admission/operation-rates.js'
import { ratesOf } from '../transport/admission/rate-limit.js'
import { ConnectionLimits } from '../transport/admission/connection-limits.js'
import { HandshakeLimit } from '../transport/admission/handshake-limit.js'
import { InputLimits } from '../transport/admission/input-limits.js'
import { createOrigins } from '../transport/admission/origin.js'
import { FairReads } from '../documents/fair-reads.js'
import { Feeds } from '../documents/feeds.js'
import { withoutRules } from '../documents/rules/rules.js'
import { Engine } from '../transport/engine/engine.js'
import { createHttpServer, notFound } from '../transport/engine/http.js'
import { kOwner } from '../transport/engine/link.js'
import { Heartbeat } from '../transport/heartbeat/heartbeat.js'
import { arriving, delivered } from '../observe/metrics/points.js'
import { Presence } from '../people/presence/presence.js'
import { timesWithPolls } from '../base/process/socket-times.js'
import { Receipts } from '../documents/receipts/receipts.js'
import { parserFor } from '../transport/socketio/codec.js'
import { createUndecoded } from '../transport/socketio/undecoded.js'
import { spareOwnRooms } from '../transport/socketio/own-rooms.js'
import { makeAcksLazily } from '../transport/socketio/shared-listeners.js'
import { Backlogs } from '../documents/delivery/backlogs.js'
import { ConnectionEvents } from './connection-events.js'
import { Delivery } from '../documents/delivery/delivery.js'
import { createDrain } from './leaving/drain.js'
import { createMoves } from './leaving/moves.js'
import { createMemoryMeter, createOverload } from './leaving/overload.js'
import { createExpiry } from './expiry.js'
import { Handshake } from './handshake.js'
import { answerHealth, isHealth } from './health.js'
import { memoryBounds } from './memory-bounds.js'
import { ConnectionListeners } from './connection-listeners.js'
import { createLocalUsers } from './local-users.js'
import { TurnWrites } from '../documents/delivery/turn-writes.js'
import { PresenceDelivery } from '../documents/delivery/presence-delivery.js'
import { createPublicPort } from './public-port.js'
import { UserCommands } from './user-commands.js'
import { createUserLogs } from './user-logs.js'

/** Maximum size of a client's message besides its data, bytes: event name, guid, packet type. */
const PACKET_OVERHEAD = 16_384

/** Engine.IO's error code for clients of Socket.IO 2 and older. */
const UNSUPPORTED_PROTOCOL = 5

/**
 * One Socket.IO worker, assembled from its parts. `parts` lists them in the order of their start; they stop in the
 * reverse order.
 *
 * @param {object} dependencies
 * @param {import('../config/load.js').Config} dependencies.config
 * @param {import('../log/bus/contract.js').Bus} dependencies.bus started and stopped with the gateway
 * @param {import('../people/presence/contract.js').PresenceStore} dependencies.presenceStore started and stopped with
 *   the
 *   gateway
 * @param {import('../log/publish/uplink.js').Uplink} dependencies.uplink started and stopped with the gateway
 * @param {import('../people/sessions/registry.js').Sessions} [dependencies.sessions] started and stopped with the
 *   gateway;
 *   default: sessions are not kept
 * @param {import('./directory.js').Directory} dependencies.directory empty
 * @param {import('../log/publish/publisher.js').Publisher} dependencies.publisher of the same bus
 * @param {ReturnType<typeof import('../people/auth/authenticator.js').createAuthenticator>} dependencies.authenticator
 * @param {ReturnType<typeof import('../documents/access.js').createAccess>} dependencies.access
 * @param {import('../config/tls/certificate.js').Certificate} [dependencies.certificate] started; default: no TLS
 * @param {import('../documents/rules/rules.js').RulesOf} [dependencies.rulesOf] default: no rules
 * @param {() => string} dependencies.newId of sessions and connections
 * @param {import('./redis-parts.js').Rooms} dependencies.rooms Socket.IO's
 * @param {import('./extensions/extensions.js').Extensions} [dependencies.extensions] default: none
 * @param {import('../documents/receipts/redis-receipts.js').ReceiptParts} [dependencies.receiptParts] combines the
 *   parts of
 *   receipts from all workers; default: this worker is the only one
 * @param {import('../transport/peers/misrouted-requests.js').MisroutedRequests} [dependencies.misrouted]
 * @param {() => boolean} [dependencies.mayAct] whether clients may use their rights on this worker now
 *   (people/workers/standing.js); default: always
 * @param {() => boolean} [dependencies.isReady] the answer of the health route; default: ready
 * @param {(req: import('http').IncomingMessage, res: import('http').ServerResponse) => void} [dependencies.fallback]
 *   handles requests that are not for Socket.IO
 * @param {import('./public-port.js').PublicPort} [dependencies.publicPort] default: HOST and PORT
 * @param {boolean} [dependencies.alone] whether no other process takes over connections when this one stops accepting;
 *   default false
 * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 */
export function createGateway ({
  config, bus, presenceStore, uplink, sessions, directory, publisher, authenticator, access, newId, rooms,
  extensions, receiptParts, misrouted, certificate,
  rulesOf = withoutRules(config.history),
  mayAct = () => true,
  isReady = () => true,
  fallback = notFound,
  publicPort = createPublicPort(config.gateway),
  alone = false,
  metrics, log, clock,
  random
}) {
  const { limits, gateway: settings } = config
  const bounds = memoryBounds()
  const pings = config.heartbeat.network
  const receipts = new Receipts({
    settings: { ...limits, ...bounds }, uplink, parts: receiptParts, metrics, log, clock, random
  })
  const feeds = new Feeds({
    bus, metrics, log, clock, random,
    maxReplayBytes: bounds.maxReplayBytes,
    createDelivery ({ publication, epoch, offset, after, receiptId }, replayed = false) {
      metrics.frame_bytes.observe(publication.value.length)
      const receipt = replayed ? null : receipts.open(publication, receiptId)
      const delivery = new Delivery(publication, offset, receipt, after, epoch)
      if (delivered.hasSubscribers) delivered.publish({ by: metrics, delivery })
      return delivery
    }
  })
  const connectionListeners = new ConnectionListeners(sessions === undefined ? [] : [sessions], log)
  const presence = new Presence({ log, metrics, clock, random }, {
    store: presenceStore,
    settings: config.presence,
    createDelivery: (guid, payload) => new PresenceDelivery(guid, payload)
  })
  const rates = ratesOf(limits)
  const users = createLocalUsers({ bus, orders: access.orders, rates, metrics, log, clock })
  const userLogs = createUserLogs({ feeds, bus, metrics, log, clock, random })
  const expiry = createExpiry({ clock, random })
  authenticator.onWithdrawn(() => {
    for (const connection of directory.all()) if (connection.identity.key?.withdrawnAt != null) expiry.watch(connection)
  })
  const heartbeat = new Heartbeat({
    settings: pings,
    tierOf: (conn) => conn[kOwner]?.identity.tier,
    metrics, clock
  })
  const drain = createDrain({
    directory, misrouted, alone, clock,
    port: publicPort,
    server: () => httpServer,
    sessions: () => engine.clientsCount,
    timeout: settings.drainTimeout
  })
  const connectionLimits = new ConnectionLimits({
    limits, metrics, log,
    production: config.production,
    trustedProxies: settings.trustedProxies,
    open: () => publicPort.connections(httpServer)
  })
  const moves = createMoves({ directory, metrics, clock, random })
  const overload = createOverload({
    enabled: config.production,
    memory: createMemoryMeter(settings.workers),
    directory, metrics, log, clock, random
  })
  const handshakeLimit = new HandshakeLimit({
    perSecond: limits.maxHandshakesPerSecond,
    isOverloaded: () => overload.active,
    connections: connectionLimits,
    metrics, clock, random
  })
  const origins = createOrigins({
    allowed: settings.allowedOrigins,
    development: !config.production,
    anonymous: config.auth.allowAnonymous,
    metrics, log, clock
  })
  const maxBytes = limits.maxRecordBytes + PACKET_OVERHEAD
  const inputLimits = new InputLimits({ maxBytes, perSecond: limits.maxHandshakesPerSecond }, metrics, clock)
  const context = {
    feeds, presence, access, rulesOf, authenticator, expiry, connectionListeners, publisher, bus,
    reads: new FairReads(),
    uplink, limits, mayAct,
    operationRates: createOperationRates(operationRatesOf(limits)),
    metrics, clock, random, log
  }
  const engine = new Engine({
    newSessionId: newId,
    admission: { origins, connectionLimits, handshakeLimit, inputLimits },
    maxBytes, misrouted, clock,
    heartbeat: pings,
    compress: config.delivery.compressFrom > 0,
    events: {
      onFrames: (conn, frames) => events.count(conn, frames, 0),
      // the heartbeat would keep the memory of a client that was never admitted until its next check
      onEnded: (conn) => heartbeat.forget(conn)
    }
  })
  const httpServer = createHttpServer({
    engine,
    fallback (req, res) {
      if (isHealth(req)) answerHealth(req, res, isReady() && !drain.active)
      else if (!origins.refuseHost(req, res)) fallback(req, res)
    },
    certificate,
    isDraining: () => drain.active,
    times: timesWithPolls(pings),
    log
  })
  connectionLimits.watch(httpServer)

  const tally = { json: 0, msgpack: 0, bytes: 0 }
  const turnWrites = new TurnWrites(config.delivery, clock)
  const handshake = new Handshake({ metrics, log }, {
    rights: { authenticator, access, mayAct },
    users, userLogs, drain,
    maxPerUser: limits.maxConnectionsPerUser,
    newConnectionId: newId,
    connectionContext: {
      maxDocuments: limits.maxDocumentsPerConnection,
      rates, tally, receipts, metrics, clock, random,
      budgetOf: users.budgetOf,
      turnWrites,
      backlogs: new Backlogs({ ...limits, ...bounds }, metrics, clock),
      listMembers (connection, guid) {
        const document = connection.document(guid)
        if (document !== undefined) presence.refresh(connection, document)
      },
      lastSeenOf: (conn) => clock.now() - heartbeat.silence(conn)
    }
  })
  const events = new ConnectionEvents(context, {
    directory, users, heartbeat, inputLimits, handshake, userLogs, drain, extended: extensions !== undefined
  })
  const userCommands = new UserCommands(context, { directory, receipts, users, userLogs })

  const undecoded = createUndecoded({ metrics, log, clock })
  engine.on('connection_error', ({ code, context }) => {
    if (code === UNSUPPORTED_PROTOCOL) undecoded('protocol', `EIO=${context.protocol}: a client of Socket.IO 2, which needs version 3 or 4`)
  })
  const io = new Server({
    parser: parserFor(limits.maxDocumentsPerConnection, clock, undecoded),
    serveClient: false,
    connectTimeout: 20_000,
    adapter: rooms.adapter,
    // Clients choose the names of dynamic namespaces.
    cleanupEmptyChildNamespaces: true
  })
  spareOwnRooms(io.sockets.adapter)
  makeAcksLazily()
  io.use(handshake.middleware)
  io.bind(engine)
  events.listen(engine, io)
  const emitterMessages = rooms.listenToEmitters(io)

  const ingestedReceived = metrics.stage_seconds.labels('ingested_received')
  const receivedWritten = metrics.stage_seconds.labels('received_written')
  const producedWritten = metrics.stage_seconds.labels('produced_written')
  /** @type {import('../log/bus/contract.js').BusHandlers} */
  const busHandlers = {
    onRecord (record) {
      ingestedReceived.observe(Math.max(0, clock.now() - record.ingestedAt) / 1000)
      const start = clock.monotonic()
      if (arriving.start.hasSubscribers)
        arriving.traceSync(() => feeds.receive(record), { by: metrics, ...record, tally, turnWrites })
      else feeds.receive(record)
      receivedWritten.observe((clock.monotonic() - start) / 1000)
      // clocks of other machines may be ahead
      producedWritten.observe(Math.max(0, clock.now() - record.publication.timestamp) / 1000)
    },
    onDirect (publication, receiptId, at) {
      const carryOut = () => userCommands.onDirect(publication, receiptId, at)
      if (!arriving.start.hasSubscribers) return carryOut()
      return arriving.traceSync(carryOut, { by: metrics, publication, tally, turnWrites })
    },
    onOrders: (uid, known) => userCommands.onOrders(uid, known),
    onOrdersDropped () {
      log.warn({ connections: directory.size }, 'orders were lost: all clients of this worker reconnect')
      for (const connection of [...directory.all()]) connection.giveUp('unavailable, reconnect')
    },
    onReconnect (guids) {
      feeds.check(guids).catch((error) => log.debug({ err: error }, 'documents could not be compared with their logs'))
    }
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
    io, engine, httpServer, bus, sessions, connectionListeners, presence, moves, overload, connectionLimits, users,

    /** @returns {number} the port it listens on */
    port () {
      return /** @type {import('net').AddressInfo} */ (httpServer.address()).port
    },

    get connections () {
      return directory.size
    },

    /**
     * Started in this order and stopped in reverse: the drain begins first, and parts that clients need stop last. The
     * start fails if the port is in use or the bus cannot be reached.
     * @type {import('../base/process/lifecycle.js').Parts}
     */
    parts: {
      bus: { start: () => bus.start(busHandlers), stop: () => bus.stop() },
      uplink: { start: () => uplink.start(), stop: () => uplink.stop() },
      sessions: { start: () => sessions?.start(), stop: () => sessions?.stop() },
      presence: { start: () => presence.start(), stop: () => presence.stop(alone ? 0 : drain.remaining) },
      receipts: { start: () => receipts.start(), stop: () => receipts.stop() },
      'Socket.IO': {
        async stop () {
          await io.close()
          httpServer.closeAllConnections()
        }
      },
      extensions: {
        async start () {
          await extensions?.start(io, (socket) => handshake.refused(socket))
          await rooms.subscribed()
        },
        stop: () => extensions?.stop()
      },
      'emitter messages': emitterMessages,
      heartbeat: { start: () => heartbeat.start(), stop: () => heartbeat.stop() },
      'drain: remaining clients': { stop: () => drain.finish() },
      feeds: { start: () => feeds.start(), stop: () => feeds.stop() },
      'public port': { start: () => publicPort.open(httpServer), stop: () => drain.sendAway() },
      expiry: { start: () => expiry.start(), stop: () => expiry.stop() },
      overload: { start: () => overload.start(), stop: () => overload.stop() },
      'handshake limit': { stop: () => handshakeLimit.stop() },
      moves: { stop: () => moves.stop() },
      drain: { stop: () => drain.begin() }
    }
  }
}
