import { busSink, createPublish } from './api/publish.js'
import { createHttpApi } from './api/http.js'
import { createMemoryRequests } from './api/idempotency/memory-requests.js'
import { createAuthenticator } from './auth/authenticator.js'
import { createMemoryBus, createMemoryHub } from './bus/memory-bus.js'
import { systemClock as clock } from './common/clock.js'
import { createAccess } from './documents/access.js'
import { createExtensions } from './extensions/extensions.js'
import { createDemo } from './demo/server.js'
import { testHooks } from './rehearsal/self-test.js'
import { createWorkerSessions } from './gateway/redis-parts.js'
import { Directory } from './gateway/directory.js'
import { createGateway } from './gateway/server.js'
import { createPublisher } from './publish/publisher.js'
import { createLoopbackUplink } from './uplink/loopback.js'
import { createMemoryPresence, createMemoryPresenceHub } from './presence/memory-presence.js'
import { createMemorySessions } from './sessions/memory-sessions.js'
import { createSessionIds } from './wire/session-id.js'
import { apiUrl, banner } from './process/banner.js'

const WORKER_NUMBER = 0

/**
 * Embedded mode: gateway and api in one process over an in-memory bus; no service needed. The same code behind the same
 * interfaces, for development and evaluation.
 *
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<import('./role.js').Composed & { gateway: ReturnType<typeof createGateway>, api: ReturnType<typeof
 *   createHttpApi> }>}
 */
export async function composeEmbedded ({ config, log, metrics, lifecycle }) {
  const hub = createMemoryHub({ history: config.history, clock })
  const presenceHub = createMemoryPresenceHub({ maxMembers: config.presence.maxMembers, clock })
  const bus = createMemoryBus({ hub, workerNumber: WORKER_NUMBER, log, metrics, clock })
  const publisher = createPublisher({ bus, limits: config.limits, metrics, clock })
  const presenceStore = createMemoryPresence({ hub: presenceHub, workerNumber: WORKER_NUMBER })
  const authenticator = await lifecycle.start(
    'authenticator',
    createAuthenticator({ settings: config.auth, log, clock })
  )
  const access = createAccess({ settings: config.auth, log, metrics, clock })
  lifecycle.onStop('access', () => access.stop())
  const loopback = createLoopbackUplink({ publisher, log })
  // the demo and its documents are loaded in development only
  const documents = config.production
    ? undefined
    : (await import('./demo/embedded-documents.js')).createEmbeddedDocuments({
        uplink: loopback,
        publisher,
        bus
      })
  const uplink = documents?.uplink ?? loopback
  const store = createMemorySessions({ services: false })
  const directory = new Directory()
  const worker = { number: WORKER_NUMBER, incarnation: clock.now() }
  const sessions = createWorkerSessions({ store, config, uplink, worker, directory, metrics, log, clock })
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
    extensions: createExtensions({
      config, services: { publisher, bus, presenceStore, sessionStore: store, metrics, log, clock }
    }),
    newId: createSessionIds(WORKER_NUMBER),
    hooked: await testHooks({ config, log }),
    alone: true,
    fallback:
      documents &&
      createDemo({
        apiUrl: apiUrl(config.api),
        needsToken: config.api.tokens.length > 0,
        loadDocument: documents.load,
        log
      }),
    metrics,
    log,
    clock
  })
  await lifecycle.startAll(gateway.parts)
  const publish = createPublish({
    sink: busSink(publisher),
    limits: config.limits,
    requests: createMemoryRequests({ clock })
  })
  const api = createHttpApi({
    settings: config.api,
    limits: config.limits,
    production: config.production,
    publish,
    bus,
    presence: presenceStore,
    sessions: store,
    log,
    metrics
  })
  await lifecycle.start('api', api)
  log.info(
    'embedded: one process, everything in memory; it does not scale out, and data is lost at a restart (set REDIS_URL for a cluster)'
  )
  return { gateway, api, banner: banner(config, { port: gateway.port(), apiPort: api.port() }) }
}
