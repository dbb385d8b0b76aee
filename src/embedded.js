import { busSink, createPublish, observedSink } from './api/publish.js'
import { createPublishLane } from './api/publish-lane.js'
import { createCallers } from './api/callers/callers.js'
import { createHttpApi } from './api/http/server.js'
import { createMemoryRequests } from './api/idempotency/memory-requests.js'
import { createAuthenticator } from './auth/authenticator.js'
import { createMemoryBus, createMemoryHub } from './bus/memory-bus.js'
import { hasServices, isWebhookAlone, streamGroups } from './config/load.js'
import { createAccess } from './documents/access.js'
import { createDocumentRules } from './documents/rules/rules.js'
import { createExtensions } from './extensions/extensions.js'
import { tokenOf } from './demo/control/target.js'
import { openDocuments } from './demo/documents/open.js'
import { createDemo } from './demo/server.js'
import { createWorkerSessions } from './gateway/redis-parts.js'
import { Directory } from './gateway/directory.js'
import { createGateway } from './gateway/server.js'
import { createMoveRoute } from './gateway/leaving/moves.js'
import { createMemoryTransport } from './inspect/memory-transport.js'
import { createPublisher } from './publish/publisher.js'
import { createLoopbackUplink } from './uplink/loopback.js'
import { createRuledUplink } from './uplink/ruled-uplink.js'
import { createStreamUplink } from './uplink/stream-uplink.js'
import { createMemoryStream } from './uplink/stream/memory-stream.js'
import { createEventSources } from './webhook/event-sources.js'
import { createWebhook } from './webhook/webhook.js'
import { createMemoryPresence, createMemoryPresenceHub } from './presence/memory-presence.js'
import { createMemorySessions } from './sessions/memory-sessions.js'
import { apiCertificate, gatewayCertificate, startCertificates } from './tls/listeners.js'
import { createSessionIds } from './wire/session-id.js'
import { apiUrl, banner, needsToken } from './process/banner.js'
import { reportInMemory } from './process/in-memory.js'

const WORKER_NUMBER = 0

/**
 * Embedded mode: gateway and api in one process over an in-memory bus; no service needed. The same code behind the same
 * interfaces, for development and evaluation.
 *
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<import('./role.js').Composed & { gateway: ReturnType<typeof createGateway>, api: ReturnType<typeof
 *   createHttpApi>, grpcPort: () => number }>}
 */
export async function composeEmbedded ({
  config, clock, random, privateRoutes, log, metrics, lifecycle, status, describe, inspect
}) {
  const rules = await lifecycle.start(
    'document rules',
    createDocumentRules({ history: config.history, path: config.documents.rulesFile, log, metrics, clock })
  )
  const certificate = gatewayCertificate({ config, log, metrics, clock, random })
  const apiTls = apiCertificate({ config, log, metrics, clock })
  await startCertificates([certificate, apiTls], { lifecycle, status })
  const hub = createMemoryHub({ historyOf: rules.historyOf, clock })
  const presenceHub = createMemoryPresenceHub({ maxMembers: config.presence.maxMembers, clock })
  const bus = createMemoryBus({ hub, workerNumber: WORKER_NUMBER, log, metrics, clock })
  await inspect(createMemoryTransport({ clock }))
  const publisher = createPublisher({ bus, limits: config.limits, metrics, clock })
  const presenceStore = createMemoryPresence({ hub: presenceHub, workerNumber: WORKER_NUMBER })
  const authenticator = await lifecycle.start(
    'authenticator',
    createAuthenticator({ settings: config.auth, log, clock, random })
  )
  const access = createAccess({ settings: config.auth, log, metrics, clock })
  lifecycle.onStop('access', () => access.stop())
  const groups = streamGroups(config)
  const stream = createMemoryStream({ groups, clock })
  const toServices = hasServices(config)
  const loopback = createLoopbackUplink({ publisher, log })
  const toStream = createStreamUplink({ stream, metrics })
  const direct = !toServices
    ? loopback
    : isWebhookAlone(groups) ? createRuledUplink({ uplink: toStream, loopback, rulesOf: rules.rulesOf }) : toStream
  /** Ports as they are bound. */
  const ports = { gateway: () => config.gateway.port, api: () => config.api.port }
  // the demo and its documents are loaded in development only
  const demo = config.production
    ? undefined
    : await openDocuments(config, clock, async () => {
        const documents = (await import('./demo/documents/documents.js')).createDocuments({
          apiUrl: () => apiUrl({ ...config.api, port: ports.api() }), token: tokenOf(config.api), log
        })
        lifecycle.onStop('demo documents', () => documents.stop())
        return documents
      })
  const uplink = demo?.receiveFrom(direct, bus) ?? direct
  const store = createMemorySessions({ services: toServices })
  const directory = new Directory()
  const worker = { number: WORKER_NUMBER, incarnation: clock.now() }
  const sessions = createWorkerSessions({ store, config, uplink, worker, directory, metrics, log, clock, random })
  const control = config.production
    ? undefined
    : await (await import('./demo/control/embedded.js')).startEmbeddedControl({ config, ports, lifecycle, log, clock, random })
  const gateway = createGateway({
    config,
    directory,
    bus,
    publisher,
    presenceStore,
    uplink,
    sessions,
    authenticator,
    access,
    rulesOf: rules.rulesOf,
    certificate,
    extensions: createExtensions({
      config, services: { publisher, bus, presenceStore, sessionStore: store, metrics, log, clock }
    }),
    newId: createSessionIds(WORKER_NUMBER, { clock, random }),
    alone: true,
    isReady: () => status.notReady().length === 0,
    fallback:
      demo && control &&
      createDemo({
        apiUrl: apiUrl(config.api),
        needsToken: needsToken(config.api),
        auth: config.auth,
        host: config.gateway.host,
        loadDocument: demo.load,
        control,
        inspect: privateRoutes.get('/inspect'),
        log
      }),
    metrics,
    log,
    clock,
    random
  })
  ports.gateway = () => gateway.port()
  privateRoutes.set('/move', createMoveRoute(gateway.moves))
  status.addWarnings(gateway.overload.warnings)
  await lifecycle.startAll(gateway.parts)
  const sink = observedSink(busSink(publisher), metrics)
  const requests = createMemoryRequests({ clock })
  const publish = createPublish({ sink, limits: config.limits, requests })
  const publishLane = createPublishLane({ sink, limits: config.limits, requests })
  const callers = await lifecycle.start(
    'callers',
    createCallers({ settings: config.api, production: config.production, log, metrics, clock, random })
  )
  const overview = { read: async () => [{ ...await describe(), worker: WORKER_NUMBER }] }
  const services = { publish, publishLane, bus, presence: presenceStore, sessions: store, overview }
  const doors = { settings: config.api, limits: config.limits, callers, log, metrics, clock, certificate: apiTls }
  // development only
  const addReference = config.production ? undefined : (await import('./api/http/reference.js')).createReference()
  const api = createHttpApi({ ...doors, ...services, addReference })
  await lifecycle.start('api', api)
  ports.api = () => api.port()
  let grpcPort = () => NaN
  if (config.api.grpcPort !== undefined) {
    const { createGrpcApi } = await import('./api/grpc/server.js')
    const grpc = createGrpcApi({
      ...doors,
      services,
      random,
      openEvents: createEventSources({ settings: config.uplink, stream, log, metrics, clock, random })
    })
    await lifecycle.start('grpc', grpc)
    grpcPort = () => grpc.port()
  }
  if (config.uplink.url !== undefined) {
    const webhook = createWebhook({
      settings: config.uplink, rulesOf: rules.rulesOf, caller: callers.forWebhook(publish), log,
      metrics, clock, random
    })
    await lifecycle.start('webhook', webhook.senderFrom(stream))
    status.addWarnings(() => webhook.warnings())
  }
  reportInMemory(config, log)
  return { gateway, api, grpcPort, banner: banner(config, { port: gateway.port(), apiPort: api.port() }) }
}
