import path from 'node:path'
import { isWebhookAlone, streamGroups } from '../../config/load.js'
import { createAuthenticator } from '../../people/auth/authenticator.js'
import { createAccess } from '../../documents/access.js'
import { createPublicPort, createSlotPort } from '../../gateway/public-port.js'
import { createHandovers } from '../../transport/peers/handover.js'
import { createSessionListener } from '../../transport/peers/session-listener.js'
import { Directory } from '../../gateway/directory.js'
import { loadDoors } from '../../gateway/doors.js'
import { Gateway } from '../../gateway/server.js'
import { createMoveRoute } from '../../gateway/leaving/moves.js'
import { QUICK, THOROUGH, warmUp } from '../../gateway/rehearsal/warm-up.js'
import { ConnectService } from '../../services/connect/connect.js'
import { createLoopbackUplink } from '../../services/uplink/loopback.js'
import { createKafkaUplink } from '../../services/uplink/kafka-uplink.js'
import { createRuledUplink } from '../../services/uplink/ruled-uplink.js'
import { createStreamUplink } from '../../services/uplink/stream-uplink.js'
import { createRedisStream } from '../../services/uplink/stream/redis-stream.js'
import { createNullRedis } from '../../gateway/rehearsal/null-redis.js'
import { createRedisParts, createWorkerSessions } from '../../gateway/redis-parts.js'
import { createExtensions } from '../../gateway/extensions/extensions.js'
import { createOrphans } from '../../documents/receipts/orphans.js'
import { createCleaning } from '../../people/sessions/cleaning.js'
import { Standing } from '../../people/workers/standing.js'
import { WorkerWatch, incarnationName } from '../../people/workers/worker-watch.js'
import { timesWithPolls } from '../../base/process/socket-times.js'
import { gatewayCertificate, peerCertificate, startCertificates } from '../../config/tls/listeners.js'
import { createSessionIds } from '../../wire/session-id.js'
import { loadDemo } from './demo.js'
import { createServices } from './services.js'
import { createLease, createMisrouted, createPeers, sessionPathOf } from './worker.js'

/**
 * Differences of a gateway whose process also has the api and the store.
 * @typedef {object} OneProcess
 * @property {() => import('node:stream').Duplex} connect opens a connection to the store
 * @property {{ gateway: () => number, api: () => number }} ports as they are bound
 *
 * @typedef {import('./services.js').RoleServices} RoleServices
 * @typedef {import('../../people/workers/worker-lease.js').WorkerLease} WorkerLease
 * @typedef {import('./api.js').SharedParts & { gateway: Gateway }} GatewayParts
 */

/**
 * The gateway role: a Socket.IO worker. Its parts start in three steps: servers are created with certificates that are
 * started, and the names of most parts contain the number of the worker.
 *
 * @param {import('./role.js').RoleContext} context
 * @param {OneProcess} [one] default: other processes have the store and the api
 * @returns {Promise<import('./role.js').Composed & { parts: GatewayParts }>}
 */
export async function composeGateway (context, one) {
  const services = await createServices(context, 'gateway', one?.connect)
  const { config, launcher, base, host, lifecycle, status, rules, redis, inspector, privateRoutes, tenants } = services
  const durability = services.createDurability()
  const certificate = gatewayCertificate({ ...base, config, directory: path.dirname(services.privatePath) })
  const peerTls = peerCertificate({ ...base, config })
  await startCertificates([certificate, peerTls], { lifecycle, status })
  const peers = createPeers(services, peerTls)
  await lifecycle.startAll({ 'document rules': rules, redis, durability, 'peer listener': peers })
  const lease = createLease(services, peers)
  await lifecycle.startAll({ 'worker lease': lease, inspector })

  const shared = createRedisParts(base, { redis, durability, config, rules, worker: lease })
  const demo = await (await loadDemo(services))?.open({
    ...services,
    ports: one?.ports,
    directory: path.dirname(services.privatePath),
    inspect: privateRoutes.get('/inspect')
  })
  const direct = createUplink(services, { durability, lease, ...shared })
  const uplink = demo?.receiveFrom(direct, shared.bus) ?? direct
  const directory = new Directory()
  const sessions = createWorkerSessions({
    ...base, store: shared.sessionStore, config, uplink, worker: lease, directory
  })
  const misrouted = createMisrouted(services, lease, peerTls)
  const authenticator = createAuthenticator({ ...base, settings: config.auth, tenants: tenants?.names })
  const access = createAccess({
    ...base, settings: config.auth, tenants: tenants?.names, orderTime: () => lease.time.now()
  })
  const connect = createConnect(services, lease)
  const standing = new Standing({ ...base, lease, catchUp: () => shared.bus.catchUp(access.orders.times()) })
  const mayAct = () => standing.good
  const gateway = new Gateway(base, {
    config, shared, uplink, sessions, directory,
    rights: { authenticator, access, rulesOf: rules.rulesOf, mayAct, connect, tenants },
    door: {
      newId: createSessionIds(lease.number, base),
      ports: {
        launcher: host,
        createPort: launcher.keepsSockets ? (address) => createSlotPort(address, host) : createPublicPort
      },
      certificate,
      misrouted,
      isReady: () => status.notReady().length === 0,
      fallback: demo?.handler,
      alone: one !== undefined,
      others: await loadDoors(config.gateway.listeners)
    },
    extensions: createExtensions({ config, services: { ...base, ...shared } })
  })

  privateRoutes.set('/move', createMoveRoute(gateway.moves))
  // the launcher, before it stops this process in a reload
  host.onMessage((message) => { if (message?.type === 'move') gateway.moves.all(message.rate) })
  lease.onUnsure((hadEnded) => { hadEnded ? standing.missed() : standing.lost() })
  lease.onReborn((incarnation) => {
    standing.missed()
    sessions.reborn(incarnation)
    gateway.presence.renew()
  })
  redis.onBack(() => sessions.lost())
  status.addWarnings(() => gateway.overload.warnings())
  status.addCheck(() =>
    lease.held ? null : 'the lease of the worker number could not be renewed: other workers do not find its sessions'
  )

  await lifecycle.startAll({
    'misrouted requests': misrouted,
    authenticator,
    access,
    tenants,
    login: connect && { stop: () => connect.stop() },
    standing,
    'warm-up': { start: () => context.rehearses && rehearse(services, { lease, connect: one?.connect, mayAct }) },
    // During the drain, requests from other workers still arrive; the number is given back only after it.
    'private listener': { start: context.listenPrivately },
    'session listener': createSessionListener({
      ...base,
      path: sessionPathOf(services),
      socketPath: config.gateway.socketPath,
      engine: gateway.engine,
      secrets: () => lease.secrets,
      times: timesWithPolls(config.heartbeat.network)
    }),
    takeovers: await createTakeovers(services, gateway, lease.number),
    handovers: launcher.relaysHandles ? createHandovers(gateway.servers.adopting) : undefined,
    ...gateway.parts,
    'requests of peers': { start: () => peers?.serve(gateway.engine, () => lease.secrets) },
    // stopped first: cleaning up needs presence and the uplink
    'worker watch': watchWorkers(services, { uplink, ...shared }),
    report: services.createReport(lease)
  })
  return {
    workerNumber: lease.number,
    connections: () => gateway.connections,
    banner: [`gateway listens on ${config.gateway.host}:${gateway.port()}`],
    parts: { ...services, gateway, bus: shared.bus, presence: shared.presenceStore }
  }
}

/** @typedef {import('../../gateway/redis-parts.js').RedisParts} RedisParts */

/**
 * Where messages and events of clients go: to Kafka, or without Kafka to a stream, or without any service to their
 * document.
 *
 * @param {RoleServices} services
 * @param {Pick<RedisParts, 'bus' | 'publisher'> & { lease: WorkerLease,
 *   durability: import('../../redis/durability/durability.js').Durability }} parts
 * @returns {import('../../log/publish/uplink.js').Uplink}
 */
function createUplink (services, { bus, publisher, lease, durability }) {
  const { config, base, redis, kafka, rules } = services
  if (kafka !== undefined)
    return createKafkaUplink({ ...base, kafka, topic: config.kafka.topics.uplink, queues: bus })
  const loopback = createLoopbackUplink({ ...base, publisher })
  const groups = streamGroups(config)
  if (groups.length === 0) return loopback
  const stream = createRedisStream({ ...base, redis, durability, groups, latestTime: () => lease.time.latest() })
  const uplink = createStreamUplink({ ...base, stream })
  return isWebhookAlone(groups) ? createRuledUplink({ uplink, loopback, rulesOf: rules.rulesOf }) : uplink
}

/**
 * @param {RoleServices} services
 * @param {WorkerLease} lease
 * @returns {ConnectService | undefined} undefined: the application is not asked about clients
 */
function createConnect ({ config, base, status, tenants }, lease) {
  const { auth: { connectUrl: url, connectHeaders: headers }, uplink: { secrets } } = config
  if (url === undefined) return undefined
  const connect = new ConnectService({
    ...base, url, headers, secrets, tenants: tenants?.names, orderTime: () => lease.time.now()
  })
  status.addWarnings(() => connect.warnings())
  return connect
}

/**
 * Devices, of which each has one connection. Loaded where there may be any.
 * @param {Pick<RoleServices, 'config' | 'base' | 'redis'>} services
 * @param {Gateway} gateway
 * @param {number} workerNumber
 */
async function createTakeovers ({ config, base, redis }, { bus, directory, connectionListeners }, workerNumber) {
  if (config.gateway.listeners.every(({ protocol }) => protocol === 'socketio')) return undefined
  const { Takeovers } = await import('../../gateway/takeovers.js')
  const { RedisDevices } = await import('../../people/devices/redis-devices.js')
  const devices = new RedisDevices({ ...base, redis })
  const takeovers = new Takeovers(base, { devices, bus, directory, workerNumber })
  connectionListeners.add(takeovers)
  redis.onBack(() => takeovers.lost())
  return takeovers
}

/**
 * Handshakes with itself, before the first client: by parts like those of the worker, without a Redis.
 *
 * @param {RoleServices} services
 * @param {object} parts
 * @param {WorkerLease} parts.lease
 * @param {() => boolean} parts.mayAct
 * @param {OneProcess['connect']} [parts.connect]
 */
async function rehearse ({ config, launcher, base, rules }, { lease, mayAct, connect }) {
  const classes = await loadDoors(config.gateway.listeners)
  return warmUp({
    ...base,
    config,
    extent: launcher.urgent ? QUICK : THOROUGH,
    createParts (own) {
      const redis = createNullRedis({ ...own, ...config.redis, connect })
      const shared = createRedisParts(own, { redis, config, rules, worker: lease })
      return {
        shared,
        sessions: createWorkerSessions({ ...own, store: shared.sessionStore, config, worker: lease }),
        rights: {
          access: createAccess({ settings: {}, log: own.log, clock: base.clock, orderTime: () => lease.time.now() }),
          mayAct
        },
        devices: {
          classes, listen: (gateway) => createTakeovers({ config, base: own, redis }, gateway, lease.number)
        }
      }
    }
  })
}

/**
 * Cleans up after workers that have ended.
 *
 * @param {RoleServices} services
 * @param {Pick<RedisParts, 'presenceStore' | 'sessionStore'>
 *   & { uplink: import('../../log/publish/uplink.js').Uplink }} parts
 */
function watchWorkers ({ config, base, log, redis }, { uplink, presenceStore, sessionStore }) {
  const cleanUp = createCleaning({
    ...base, store: sessionStore, uplink, silence: config.heartbeat.network.max + config.heartbeat.network.timeout
  })
  const closeReceipts = createOrphans({ ...base, redis, uplink, timeout: config.limits.receiptTimeout })
  return new WorkerWatch({
    ...base,
    redis,
    grace: config.presence.grace,
    // removes members at once; `clean` repeats it until it succeeds
    onWorkerGone: [
      (number, incarnation) => {
        presenceStore
          .forget(number, incarnationName(number, incarnation))
          .catch((error) => log.debug({ err: error }, 'the members of an ended worker could not be removed yet'))
      }
    ],
    async clean (number, incarnation, signal, isLast) {
      /** @type {unknown} */
      let failure
      // one that fails holds back no other: a node of Redis Cluster may be down for longer
      for (const step of [
        () => presenceStore.forget(number, incarnationName(number, incarnation), { surely: true }),
        () => cleanUp(number, incarnation, signal, isLast),
        () => closeReceipts(number, incarnation, signal)
      ]) await step().catch((error) => { failure ??= error })
      if (failure !== undefined) throw failure
    }
  })
}
