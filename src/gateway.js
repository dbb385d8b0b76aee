import path from 'node:path'
import { apiUrl } from './banner.js'
import { createAuthenticator } from './auth/authenticator.js'
import { createRedisBus } from './bus/redis-bus.js'
import { systemClock as clock } from './clock.js'
import { createAccess } from './documents/access.js'
import { createRoomAdapter } from './gateway/adapter.js'
import { createDemo } from './gateway/demo.js'
import { serveEngine } from './gateway/http.js'
import { createGateway } from './gateway/server.js'
import { createStrays } from './gateway/stray.js'
import { createLoopbackUplink } from './gateway/uplink-loopback.js'
import { createKafka } from './kafka/client.js'
import { createKafkaUplink } from './kafka/uplink.js'
import { createRedis } from './redis/client.js'
import { runRole } from './role.js'
import { createWorkerLease, thisMachine } from './sessions/worker-lease.js'
import { createSessionIds } from './wire/session-id.js'

/**
 * The gateway role: a Socket.IO worker.
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<import('./role.js').Composed>}
 */
async function composeGateway ({ config, privatePath, log, metrics, lifecycle, status }) {
  const redis = await lifecycle.start('redis', createRedis({ urls: config.redis.urls, log, name: 'gateway' }))
  const lease = await lifecycle.start('worker lease', createWorkerLease({
    redis,
    slot: privatePath,
    address: { machine: thisMachine(), path: privatePath },
    // who has the number now would get our requests, and we its: the launcher starts us again with another one
    onLost: () => process.exit(1),
    log,
    clock
  }))
  const strays = createStrays({
    workerNumber: lease.number,
    ownerPath: async (number) => {
      const owner = await lease.owner(number)
      return owner?.machine === thisMachine() ? owner.path : undefined
    },
    metrics,
    log
  })
  lifecycle.onStop('strays', () => strays.stop())

  const authenticator = await lifecycle.start('authenticator', createAuthenticator({ settings: config.auth, log, clock }))
  const access = createAccess({ settings: config.auth, log, clock })
  lifecycle.onStop('access', () => access.stop())
  /** @type {import('./bus/contract.js').Bus} */
  let bus
  const gateway = createGateway({
    config,
    createBus: (handlers) => bus = createRedisBus({ redis, workerNumber: lease.number, handlers, history: config.history, log, metrics, clock }),
    uplink: config.mode === 'kafka'
      ? createKafkaUplink({ kafka: createKafka({ settings: config.kafka, log, name: 'gateway' }), topic: config.kafka.uplinkTopic, log, metrics, clock })
      : createLoopbackUplink({ bus: () => bus, limits: config.limits }),
    authenticator,
    access,
    newId: createSessionIds(lease.number),
    adapter: createRoomAdapter({ publisher: redis.client, subscriber: redis.createSubscriber() }),
    strays,
    fallback: config.production ? undefined : createDemo({ apiUrl: apiUrl(config.api), needsToken: config.api.tokens.length > 0 }),
    metrics,
    log,
    clock
  })
  await lifecycle.start('gateway', gateway)
  status.addCheck(() => redis.ready ? null : 'Redis is away')
  return {
    serve: (server, fallback) => serveEngine(server, { handleRequest: (req, res) => gateway.engine.handleOwnRequest(req, res), handleUpgrade: (req, socket, head) => gateway.engine.handleOwnUpgrade(req, socket, head) }, fallback),
    banner: [`gateway listens on ${config.gateway.host}:${gateway.port()}, private listener ${path.basename(privatePath)}`]
  }
}

await runRole('gateway', composeGateway)
