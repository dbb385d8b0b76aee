import { createRequire } from 'node:module'
import { createWholeAddressOf, proxyList } from '../transport/admission/address.js'
import { createOperationRates, operationRatesOf } from '../transport/admission/operation-rates.js'
import { ratesOf } from '../transport/admission/rate-limit.js'
import { FairReads } from '../documents/fair-reads.js'
import { Feeds } from '../documents/feeds.js'
import { withoutRules } from '../documents/rules/rules.js'
import { Engine } from '../transport/engine/engine.js'
import { notFound } from '../transport/engine/http.js'
import { kListener, kOwner } from '../transport/engine/link.js'
import { MAIN } from '../config/listeners.js'
import { Heartbeat } from '../transport/heartbeat/heartbeat.js'
import { delivered } from '../observe/metrics/points.js'
import { Presence } from '../people/presence/presence.js'
import { Receipts } from '../documents/receipts/receipts.js'
import { parserFor } from '../transport/socketio/codec.js'
import { createUndecoded } from '../transport/socketio/undecoded.js'
import { spareOwnRooms } from '../transport/socketio/own-rooms.js'
import { makeAcksLazily } from '../transport/socketio/shared-listeners.js'
import { Backlogs } from '../documents/delivery/backlogs.js'
import { createAdmission } from './admission.js'
import { Arrivals } from './arrivals.js'
import { ConnectionEvents } from './connection-events.js'
import { Delivery } from '../documents/delivery/delivery.js'
import { openDoors } from './doors.js'
import { Drain } from './leaving/drain.js'
import { Moves } from './leaving/moves.js'
import { createMemoryMeter, Overload } from './leaving/overload.js'
import { Expiry } from './expiry.js'
import { Handshake } from './handshake.js'
import { createServers } from './listener-servers.js'
import { memoryBounds } from './memory-bounds.js'
import { ConnectionListeners } from './connection-listeners.js'
import { LocalUsers } from './local-users.js'
import { Login } from './login.js'
import { TurnWrites } from '../documents/delivery/turn-writes.js'
import { PresenceDelivery } from '../documents/delivery/presence-delivery.js'
import { Ports } from './ports.js'
import { SessionOwners } from './session-owners.js'
import { UserCommands } from './user-commands.js'
import { UserLogs } from './user-logs.js'

const require = createRequire(import.meta.url)
const { Server } = require('socket.io')

/** Engine.IO's error code for clients of Socket.IO 2 and older. */
const UNSUPPORTED_PROTOCOL = 5

/**
 * @typedef {import('../observe/services.js').Services} Services
 * @typedef {import('../config/load.js').Config} Config
 *
 * @typedef {object} OptionalRights
 * @property {import('../documents/rules/rules.js').RulesOf} [rulesOf] default: no rules
 * @property {() => boolean} [mayAct] whether clients may use their rights on this worker now
 *   (people/workers/standing.js); default: always
 * @property {import('./login.js').ConnectService} [connect] default: only tokens count
 *
 * @typedef {Pick<import('./session-owners.js').Rights, 'access'> & OptionalRights & {
 *   authenticator: import('../people/auth/authenticator.js').Authenticator,
 *   tenants?: import('../people/tenants/budgets.js').TenantBudgets }} GatewayRights
 *
 * @typedef {object} Door how clients reach the worker
 * @property {() => string} newId of sessions and connections
 * @property {import('../config/tls/certificate.js').Certificate} [certificate] started; default: no TLS
 * @property {import('../transport/peers/misrouted-requests.js').MisroutedRequests} [misrouted]
 * @property {() => boolean} [isReady] the answer of the health route; default: ready
 * @property {(req: import('http').IncomingMessage, res: import('http').ServerResponse) => void} [fallback] handles
 *   requests that are not for Socket.IO
 * @property {ConstructorParameters<typeof Ports>[0]} [ports]
 * @property {import('./doors.js').DoorClasses} [others] classes of doors besides Socket.IO's; default: none
 * @property {boolean} [alone] whether no other process takes over connections when this one stops accepting; default
 *   false
 *
 * @typedef {object} GatewayDependencies
 * @property {Config} config
 * @property {Omit<import('./redis-parts.js').RedisParts, 'sessionStore'>} shared
 * @property {import('../log/publish/uplink.js').Uplink} uplink
 * @property {import('../people/sessions/registry.js').Sessions} [sessions] default: sessions are not kept
 * @property {import('./directory.js').Directory} directory empty
 * @property {GatewayRights} rights
 * @property {Door} door
 * @property {import('./extensions/extensions.js').Extensions} [extensions] default: none
 */

/** One Socket.IO worker, assembled from its parts: `parts` lists them in the order of their start. */
export class Gateway {
  /** Deliveries and their bytes since the last collection of metrics. */
  #tally = { json: 0, msgpack: 0, bytes: 0 }
  #listeners
  #events
  #arrivals

  /** @param {Services} services @param {GatewayDependencies} dependencies */
  constructor (services, { config, shared, uplink, sessions, directory, rights, door, extensions }) {
    const { log, metrics, clock } = services
    const { limits } = config
    const { bus, publisher } = shared
    const {
      authenticator, access, rulesOf = withoutRules(config.history), mayAct = () => true, connect, tenants
    } = rights
    const { newId, misrouted, alone = false } = door
    const bounds = memoryBounds()
    const rates = ratesOf(limits)
    this.#listeners = config.gateway.listeners
    this.bus = bus
    this.uplink = uplink
    this.sessions = sessions
    this.directory = directory
    this.extensions = extensions
    this.rooms = shared.rooms
    this.ports = new Ports(door.ports)
    this.alone = alone

    this.receipts = new Receipts({
      ...services, settings: { ...limits, ...bounds }, uplink, parts: shared.receiptParts
    })
    this.feeds = new Feeds({
      ...services, bus, maxReplayBytes: bounds.maxReplayBytes, createDelivery: deliveryWith(this.receipts, metrics)
    })
    this.presence = new Presence(services, {
      store: shared.presenceStore, settings: config.presence,
      createDelivery: (guid, payload) => new PresenceDelivery(guid, payload)
    })
    this.connectionListeners = new ConnectionListeners(sessions === undefined ? [] : [sessions], log)
    this.users = new LocalUsers({ ...services, bus, orders: access.orders, rates, tenants })
    const userLogs = new UserLogs({ ...services, feeds: this.feeds, bus })
    this.expiry = new Expiry(services)
    authenticator.onWithdrawn(() => this.#keyWithdrawn())
    this.heartbeat = new Heartbeat({ ...services, settings: config.heartbeat.network, tierOf: createTierOf(config) })
    this.moves = new Moves({ ...services, directory })
    this.overload = new Overload({
      ...services, enabled: config.production, memory: createMemoryMeter(config.gateway.workers), directory
    })
    this.drain = new Drain({
      directory, misrouted, alone, clock, ports: this.ports, timeout: config.gateway.drainTimeout,
      sessions: () => this.doors.reduce((sum, { size }) => sum + size, this.engine.clientsCount)
    })
    const admission = createAdmission(services, {
      config, isOverloaded: () => this.overload.active, open: () => this.ports.connections
    })
    this.connectionLimits = admission.connectionLimits
    this.handshakeLimit = admission.handshakeLimit
    this.engine = new Engine({
      newSessionId: newId, admission, maxBytes: admission.maxBytes, misrouted, clock,
      heartbeat: config.heartbeat.network,
      compress: config.delivery.compressFrom > 0,
      events: {
        onFrames: (conn, frames) => this.#events.count(conn, frames, 0),
        // the heartbeat would keep the memory of a client that was never admitted until its next check
        onEnded: (conn) => this.heartbeat.forget(conn)
      }
    })
    const turnWrites = new TurnWrites(config.delivery, clock)
    const login = new Login({
      authenticator, connect, cookie: config.auth.cookie,
      addressOf: createWholeAddressOf(proxyList(config.gateway.trustedProxies))
    })
    const backlogs = new Backlogs({ ...limits, ...bounds }, metrics, clock)
    const connectionContext = this.#connectionContext(services, { limits, rates, tenants, turnWrites, backlogs })
    const owners = new SessionOwners({
      users: this.users, directory, maxPerUser: limits.maxConnectionsPerUser, rights: { access, mayAct, login }, metrics
    })
    this.handshake = new Handshake(services, {
      owners, login, users: this.users, userLogs, drain: this.drain, newConnectionId: newId, connectionContext
    })
    const context = {
      ...services,
      feeds: this.feeds, presence: this.presence, expiry: this.expiry, connectionListeners: this.connectionListeners,
      access, rulesOf, login, publisher, bus, uplink, limits, mayAct,
      reads: new FairReads(),
      operationRates: createOperationRates(operationRatesOf(limits))
    }
    this.#events = new ConnectionEvents(context, {
      directory, owners, heartbeat: this.heartbeat, inputLimits: admission.inputLimits,
      handshake: this.handshake, userLogs, drain: this.drain, extended: extensions !== undefined
    })
    const undecoded = createUndecoded({ metrics, log, clock })
    this.doors = openDoors(config.gateway.listeners, door.others ?? new Map(), context, {
      newId, admission, connectionContext, events: this.#events, userLogs, undecoded,
      clientSessions: shared.clientSessions,
      handshake: this.handshake, users: this.users, heartbeat: this.heartbeat, drain: this.drain
    })
    this.servers = this.#createServers(services, { config, door, origins: admission.origins })
    this.#arrivals = new Arrivals(services, {
      feeds: this.feeds,
      userCommands: new UserCommands(context, { directory, receipts: this.receipts, users: this.users, userLogs }),
      directory, tally: this.#tally, turnWrites
    })
    this.io = this.#createServer(undecoded, config)
    this.emitterMessages = this.rooms.listenToEmitters(this.io)
    metrics.onCollect(() => this.#collect(metrics))
  }

  /**
   * @param {Services} services
   * @param {Pick<import('./listener-servers.js').ListenerParts, 'config' | 'origins'> & { door: Door }} parts
   */
  #createServers (services, { config, origins, door: { certificate, isReady = () => true, fallback = notFound } }) {
    const servers = createServers(services, {
      config, origins, certificate, isReady, fallback,
      engine: this.engine, doors: this.doors, isDraining: () => this.drain.active
    })
    for (const { address, server } of servers.all) {
      this.ports.add(address, server)
      this.connectionLimits.watch(server)
    }
    return servers
  }

  /**
   * @param {Services} services
   * @param {Pick<import('./connection.js').ConnectionContext, 'rates' | 'tenants' | 'turnWrites' | 'backlogs'>
   *   & { limits: Config['limits'] }} parts
   * @returns {import('./connection.js').ConnectionContext}
   */
  #connectionContext ({ metrics, clock, random }, { limits, rates, tenants, turnWrites, backlogs }) {
    return {
      maxDocuments: limits.maxDocumentsPerConnection,
      rates, tenants, tally: this.#tally, receipts: this.receipts, metrics, clock, random,
      budgetOf: (uid) => this.users.budgetOf(uid),
      turnWrites, backlogs,
      listMembers: (connection, guid) => {
        const document = connection.document(guid)
        if (document !== undefined) this.presence.refresh(connection, document)
      },
      lastSeenOf: (conn) => clock.now() - this.heartbeat.silence(conn)
    }
  }

  /** @param {ReturnType<typeof createUndecoded>} undecoded @param {Config} config */
  #createServer (undecoded, { limits: { maxDocumentsPerConnection }, gateway: { socketPath } }) {
    this.engine.on('connection_error', ({ code, context }) => {
      if (code === UNSUPPORTED_PROTOCOL)
        undecoded('protocol', `EIO=${context.protocol}: a client of Socket.IO 2, which needs version 3 or 4`)
    })
    const io = new Server({
      // requests are routed by the HTTP server: this is what `io.path()` says to extensions
      path: socketPath,
      parser: parserFor(maxDocumentsPerConnection, this.engine.clock, undecoded),
      serveClient: false,
      connectTimeout: 20_000,
      adapter: this.rooms.adapter,
      // Clients choose the names of dynamic namespaces.
      cleanupEmptyChildNamespaces: true
    })
    spareOwnRooms(io.sockets.adapter)
    makeAcksLazily()
    io.use(this.handshake.middleware)
    io.bind(this.engine)
    this.#events.listen(this.engine, io)
    return io
  }

  /** Connections of a key that its issuer has withdrawn end. */
  #keyWithdrawn () {
    for (const connection of this.directory.all())
      if (connection.identity.key?.withdrawnAt != null) this.expiry.watch(connection)
  }

  /** @param {Services['metrics']} metrics */
  #collect (metrics) {
    const tally = this.#tally
    metrics.deliveries.inc({ codec: 'json' }, tally.json)
    metrics.deliveries.inc({ codec: 'msgpack' }, tally.msgpack)
    metrics.delivered_bytes.inc(tally.bytes)
    tally.json = tally.msgpack = tally.bytes = 0
    for (const [listener, transports] of Object.entries(this.connectionsByListener()))
      for (const [transport, count] of Object.entries(transports))
        metrics.connections.set({ transport, listener }, count)
    metrics.documents.set(this.feeds.size)
  }

  get httpServer () { return this.servers.main }

  /** @param {string} [name] of a listener; default: PORT @returns {number} the port it listens on */
  port (name) { return this.ports.portOf(name) }

  get connections () { return this.directory.size }

  /** @returns {Record<string, Record<string, number>>} numbers by listener and transport, also 0 */
  connectionsByListener () {
    /** @type {Record<string, Record<string, number>>} */
    const counts = { [MAIN]: { websocket: 0, polling: 0 } }
    for (const { name, protocol, over } of this.#listeners)
      counts[name] = protocol === 'socketio' ? { websocket: 0, polling: 0 } : { [over]: 0 }
    for (const { listener, transport } of this.directory.all())
      counts[listener][transport] = (counts[listener][transport] ?? 0) + 1
    return counts
  }

  /**
   * Started in this order and stopped in reverse: the drain begins first, and parts that clients need stop last. The
   * start fails if the port is in use or the bus cannot be reached.
   * @returns {import('../base/process/lifecycle.js').Parts}
   */
  get parts () {
    const { bus, presence, io, doors, extensions, ports, drain } = this
    return {
      bus: { start: () => bus.start(this.#arrivals), stop: () => bus.stop() },
      uplink: this.uplink,
      sessions: this.sessions,
      presence: { start: () => presence.start(), stop: () => presence.stop(this.alone ? 0 : drain.remaining) },
      receipts: this.receipts,
      'Socket.IO': {
        async stop () {
          await io.close()
          for (const door of doors) door.close()
          ports.closeAllConnections()
        }
      },
      extensions: {
        start: async () => {
          await extensions?.start(io, (socket) => this.handshake.refused(socket))
          await this.rooms.subscribed()
        },
        stop: () => extensions?.stop()
      },
      'emitter messages': this.emitterMessages,
      heartbeat: this.heartbeat,
      'drain: remaining clients': { stop: () => drain.finish() },
      feeds: this.feeds,
      'public ports': { start: () => ports.open(), stop: () => drain.sendAway() },
      expiry: this.expiry,
      overload: this.overload,
      'handshake limit': this.handshakeLimit,
      moves: this.moves,
      drain: { stop: () => drain.begin() }
    }
  }
}

/**
 * @param {Config} config
 * @returns {(conn: any) => string | undefined} tier of a session's user, or else of its listener; undefined: none, or
 *   not known yet
 */
function createTierOf ({ gateway: { listeners } }) {
  const tiers = new Map(listeners.map(({ name, tier }) => [name, tier]))
  return (conn) => conn[kOwner]?.identity.tier ?? tiers.get(conn[kListener])
}

/**
 * @param {import('../documents/receipts/receipts.js').Receipts} receipts
 * @param {Services['metrics']} metrics
 * @returns {ConstructorParameters<typeof Feeds>[0]['createDelivery']}
 */
const deliveryWith = (receipts, metrics) =>
  ({ publication, epoch, offset, after, receiptId }, replayed = false) => {
    metrics.frame_bytes.observe(publication.value.length)
    const receipt = replayed ? null : receipts.open(publication, receiptId)
    const delivery = new Delivery(publication, offset, receipt, after, epoch)
    if (delivered.hasSubscribers) delivered.publish({ by: metrics, delivery })
    return delivery
  }
