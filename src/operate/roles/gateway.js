import path from 'node:path'
import { sessionSocket } from '../admin/run-directory.js'
import { isWebhookAlone, streamGroups } from '../../config/load.js'
import { apiUrl, needsToken } from './banner.js'
import { createAuthenticator } from '../../people/auth/authenticator.js'
import { createAccess } from '../../documents/access.js'
import { createDocumentRules } from '../../documents/rules/rules.js'
import { launcherControl } from '../../../packages/demo/control/answers.js'
import { openDocuments } from '../../../packages/demo/documents/open.js'
import { createDemo } from '../../../packages/demo/server.js'
import { createPublicPort, createSlotPort } from '../../gateway/public-port.js'
import { acceptHandovers } from '../../transport/peers/handover.js'
import { createPeerListener } from '../../transport/peers/peer-listener.js'
import { createSessionListener } from '../../transport/peers/session-listener.js'
import { Directory } from '../../gateway/directory.js'
import { createGateway } from '../../gateway/server.js'
import { createMoveRoute } from '../../gateway/leaving/moves.js'
import { createMisroutedRequests } from '../../transport/peers/misrouted-requests.js'
import { QUICK, THOROUGH, warmUp } from '../../gateway/rehearsal/warm-up.js'
import { createLoopbackUplink } from '../../services/uplink/loopback.js'
import { createKafkaUplink } from '../../services/uplink/kafka-uplink.js'
import { createRuledUplink } from '../../services/uplink/ruled-uplink.js'
import { createStreamUplink } from '../../services/uplink/stream-uplink.js'
import { createRedisStream } from '../../services/uplink/stream/redis-stream.js'
import { createRedisTransport } from '../../watch/inspect/redis-transport.js'
import { createRedisOverview } from '../../watch/overview/redis-overview.js'
import { createReport } from '../../watch/overview/report.js'
import { createRedis } from '../../redis/client.js'
import { createDurability } from '../../redis/durability/durability.js'
import { createNullRedis } from '../../gateway/rehearsal/null-redis.js'
import { createRedisParts, createWorkerSessions } from '../../gateway/redis-parts.js'
import { createExtensions } from '../../gateway/extensions/extensions.js'
import { createOrphans } from '../../documents/receipts/orphans.js'
import { createCleaning } from '../../people/sessions/cleaning.js'
import { Standing } from '../../people/workers/standing.js'
import { createTakenNumbers } from '../../people/workers/taken-numbers.js'
import { createWorkerLease } from '../../people/workers/worker-lease.js'
import { createWorkerWatch, incarnationName } from '../../people/workers/worker-watch.js'
import { timesWithPolls } from '../../base/process/socket-times.js'
import { gatewayCertificate, peerCertificate, startCertificates } from '../../config/tls/listeners.js'
import { createSessionIds } from '../../wire/session-id.js'

/**
 * Differences of a gateway whose process also has the api and the store.
 * @typedef {object} OneProcess
 * @property {() => import('node:stream').Duplex} connect opens a connection to the built-in store
 * @property {() => Promise<import('../../../packages/demo/documents/documents.js').Documents>} keepDocuments
 *   of the demo
 * @property {import('../../../packages/demo/control/answers.js').Ask} [control] of the demo
 *
 * @typedef {import('./api.js').SharedParts & { gateway: ReturnType<typeof createGateway> }} GatewayParts
 */

/**
 * The gateway role: a Socket.IO worker.
 * @param {import('./role.js').RoleContext} context
 * @param {OneProcess} [one] default: other processes have the store and the api
 * @returns {Promise<import('./role.js').Composed & { parts: GatewayParts }>}
 */
export async function composeGateway ({
  config, launcher, clock, random, host, privatePath, privateRoutes, log, metrics, lifecycle, status, describe,
  inspect, onWaits, listenPrivately, createKafka, rehearses
}, one) {
  const { port, peerHost, peerPort } = config.gateway
  const rules = await lifecycle.start(
    'document rules',
    createDocumentRules({ history: config.history, path: config.documents.rulesFile, log, metrics, clock })
  )
  const directory = path.dirname(privatePath)
  const sessionPath = sessionSocket(directory, 'gateway', launcher.slot, host.pid)
  const certificate = gatewayCertificate({ config, directory, log, metrics, clock, random })
  const peerTls = peerCertificate({ config, log, metrics, clock })
  await startCertificates([certificate, peerTls], { lifecycle, status })
  const redis = await lifecycle.start(
    'redis', createRedis({
      urls: config.redis.urls, connect: one?.connect, log, name: 'gateway', metrics, onWaits, clock, random
    })
  )
  const durability = await lifecycle.start(
    'durability',
    createDurability({ redis, settings: config.redis, name: 'gateway', metrics, log, clock, random })
  )
  status.addWarnings(() => durability.warnings())
  const peerListener =
    peerHost === undefined
      ? undefined
      : await lifecycle.start(
          'peer listener',
          createPeerListener({
            // during a replacement the old worker still has the port of the slot
            address: {
              host: peerHost,
              ports:
                peerPort === 0 ? [0] : [peerPort + launcher.slot, peerPort + config.gateway.workers + launcher.slot]
            },
            certificate: peerTls,
            metrics,
            log,
            clock,
            times: timesWithPolls(config.heartbeat.network)
          })
        )
  const lease = createWorkerLease({
    redis,
    // the same after a restart of the launcher or of the container
    slot: `${host.name}:${config.gateway.host}:${port}:${launcher.slot}`,
    address: {
      machine: host.machine,
      pid: host.pid,
      path: sessionPath,
      ...(peerListener
        ? { peer: { host: /** @type {string} */ (peerHost), port: peerListener.port(), tls: peerTls !== undefined } }
        : {})
    },
    isAlive: host.isAlive,
    // another worker may have this number now, and would get this worker's requests: restart with another one
    onLost: () => host.exit(1),
    log,
    clock,
    random
  })
  await lifecycle.start('worker lease', lease)
  await inspect(createRedisTransport({ redis, log }))
  const { sessionStore, ...parts } = createRedisParts({
    redis, durability, config, rules, worker: lease, metrics, log, clock, random
  })
  const groups = streamGroups(config)
  const stream = createRedisStream({
    redis, durability, groups, latestTime: () => lease.time.latest(), clock, random
  })
  const toStream = createStreamUplink({ stream, metrics })
  const loopback = createLoopbackUplink({ publisher: parts.publisher, log })
  const direct =
    config.mode === 'kafka'
      ? createKafkaUplink({
          kafka: await createKafka(),
          topic: config.kafka.topics.uplink,
          queues: parts.bus,
          log,
          metrics,
          clock,
          random
        })
      : groups.length === 0
        ? loopback
        : isWebhookAlone(groups) ? createRuledUplink({ uplink: toStream, loopback, rulesOf: rules.rulesOf }) : toStream
  // the demo and its documents are loaded in development only
  const demo = config.production
    ? undefined
    : await openDocuments(config, clock, one?.keepDocuments ?? (launcher.relaysHandles
        ? async () => (await import('../../../packages/demo/documents/in-launcher.js')).documentsInLauncher(directory)
        : undefined))
  const uplink = demo?.receiveFrom(direct, parts.bus) ?? direct
  const connections = new Directory()
  const sessions = createWorkerSessions({
    store: sessionStore, config, uplink, worker: lease, directory: connections, metrics, log, clock, random
  })
  const cleanUp = createCleaning({ store: sessionStore, uplink, log, clock, random })
  const closeReceipts = createOrphans({
    redis, uplink, timeout: config.limits.receiptTimeout, metrics, log, clock, random
  })
  const taken = createTakenNumbers({ redis, clock })
  const misrouted = createMisroutedRequests({
    workerNumber: lease.number,
    secret: () => lease.secrets[0],
    certificate: peerTls,
    findRoute: async (number) => {
      if (!(await taken.has(number))) return undefined
      const owner = await lease.owner(number)
      if (owner === undefined) return undefined
      if (owner.machine === host.machine)
        return {
          listener: { path: owner.path },
          handover: launcher.relaysHandles && path.dirname(owner.path) === directory
        }
      return owner.peer && { listener: owner.peer, handover: false }
    },
    metrics,
    log,
    clock
  })
  lifecycle.onStop('misrouted requests', () => misrouted.stop())

  const authenticator = await lifecycle.start(
    'authenticator',
    createAuthenticator({ settings: config.auth, log, clock, random })
  )
  const orderTime = () => lease.time.now()
  const access = createAccess({ settings: config.auth, log, metrics, clock, orderTime })
  lifecycle.onStop('access', () => access.stop())
  const standing = new Standing({ lease, catchUp: () => parts.bus.catchUp(access.orders.times()), log, clock, random })
  lifecycle.onStop('standing', () => standing.stop())
  const mayAct = () => standing.good
  const gateway = createGateway({
    config,
    ...parts,
    uplink,
    directory: connections,
    sessions,
    authenticator,
    access,
    rulesOf: rules.rulesOf,
    certificate,
    extensions: createExtensions({ config, services: { ...parts, sessionStore, metrics, log, clock, random } }),
    newId: createSessionIds(lease.number, { clock, random }),
    misrouted,
    mayAct,
    alone: one !== undefined,
    isReady: () => status.notReady().length === 0,
    fallback: demo &&
      createDemo({
        apiUrl: apiUrl(config.api),
        needsToken: needsToken(config.api),
        auth: config.auth,
        host: config.gateway.host,
        loadDocument: demo.load,
        control: one?.control ?? launcherControl(launcher),
        inspect: privateRoutes.get('/inspect'),
        log
      }),
    publicPort: (launcher.keepsSockets ? createSlotPort : createPublicPort)(config.gateway, host),
    metrics,
    log,
    clock,
    random
  })
  privateRoutes.set('/move', createMoveRoute(gateway.moves))
  // the launcher, before it stops this process in a reload
  host.onMessage((message) => { if (message?.type === 'move') gateway.moves.all(message.rate) })
  status.addWarnings(gateway.overload.warnings)
  lease.onUnsure((hadEnded) => { hadEnded ? standing.missed() : standing.lost() })
  lease.onReborn((incarnation) => {
    standing.missed()
    sessions.reborn(incarnation)
    gateway.presence.renew()
  })
  if (rehearses) {
    await warmUp({
      config,
      extent: launcher.urgent ? QUICK : THOROUGH,
      createParts: (own) => {
        const nothing = createNullRedis({ ...own, urls: config.redis.urls, connect: one?.connect })
        const { sessionStore: store, ...others } = createRedisParts({
          ...own, redis: nothing, config, rules, worker: lease
        })
        return {
          ...others,
          sessions: createWorkerSessions({ ...own, store, config, worker: lease }),
          access: createAccess({ settings: {}, log: own.log, clock, orderTime }),
          mayAct
        }
      },
      log,
      clock,
      random
    })
  }
  // During the drain, requests from other workers still arrive; the number is given back only after it.
  await listenPrivately()
  await lifecycle.start(
    'session listener',
    createSessionListener({
      path: sessionPath,
      engine: gateway.engine,
      secrets: () => lease.secrets,
      times: timesWithPolls(config.heartbeat.network),
      metrics,
      log,
      clock
    })
  )
  if (launcher.relaysHandles) lifecycle.onStop('handovers', acceptHandovers(gateway.httpServer))
  redis.onBack(() => sessions.lost())
  await lifecycle.startAll(gateway.parts)
  peerListener?.serve(gateway.engine, () => lease.secrets)
  // started last and stopped first: cleaning up needs presence and the uplink, which start and stop with the gateway
  await lifecycle.start(
    'worker watch',
    createWorkerWatch({
      redis,
      grace: config.presence.grace,
      // removes members at once; `clean` repeats it until it succeeds
      onWorkerGone: [
        (number, incarnation) => {
          parts.presenceStore
            .forget(number, incarnationName(number, incarnation))
            .catch((error) => log.debug({ err: error }, 'the members of an ended worker could not be removed yet'))
        }
      ],
      clean: async (number, incarnation, signal) => {
        await parts.presenceStore.forget(number, incarnationName(number, incarnation), { surely: true })
        await cleanUp(number, incarnation, signal)
        await closeReceipts(number, incarnation, signal)
      },
      log,
      clock,
      random
    })
  )
  const report = async () => ({ ...await describe(), worker: lease.number })
  await lifecycle.start(
    'report', createReport({ store: createRedisOverview({ redis }), describe: report, log, clock, random })
  )
  status.addCheck(() => redis.trouble)
  status.addCheck(() =>
    lease.held ? null : 'the lease of the worker number could not be renewed: other workers do not find its sessions'
  )
  return {
    workerNumber: lease.number,
    connections: () => gateway.connections,
    banner: [`gateway listens on ${config.gateway.host}:${gateway.port()}`],
    parts: { gateway, rules, redis, bus: parts.bus, presence: parts.presenceStore }
  }
}
