import { createCallers } from '../../services/api/callers/callers.js'
import { createHttpApi } from '../../services/api/http/server.js'
import { busSink, createPublish, kafkaSink, observedSink } from '../../services/api/publish.js'
import { createPublishLane } from '../../services/api/publish-lane.js'
import { createRedisRequests } from '../../services/api/idempotency/redis-requests.js'
import { createRedisBus } from '../../log/bus/redis-bus.js'
import { streamGroups } from '../../config/load.js'
import { createDocumentRules } from '../../documents/rules/rules.js'
import { createKafkaDownlink } from '../../kafka/downlink.js'
import { createRedisPresence } from '../../people/presence/redis-presence.js'
import { createPublisher } from '../../log/publish/publisher.js'
import { createRedisTransport } from '../../watch/inspect/redis-transport.js'
import { createRedisOverview } from '../../watch/overview/redis-overview.js'
import { createReport } from '../../watch/overview/report.js'
import { createRedis } from '../../redis/client.js'
import { createDurability } from '../../redis/durability/durability.js'
import { createRedisSessions } from '../../people/sessions/redis-sessions.js'
import { apiCertificate, startCertificates } from '../../config/tls/listeners.js'
import { createRedisStream } from '../../services/uplink/stream/redis-stream.js'
import { createEventSources } from '../../services/webhook/event-sources.js'
import { createWebhook } from '../../services/webhook/webhook.js'
import { createWorkerWatch } from '../../people/workers/worker-watch.js'

/**
 * Parts that the api has of its own, or shares with the gateway of the same process.
 * @typedef {object} SharedParts
 * @property {ReturnType<typeof createDocumentRules>} rules
 * @property {import('../../redis/client.js').RedisConnection} redis
 * @property {import('../../log/bus/contract.js').Bus} bus
 * @property {Pick<import('../../people/presence/contract.js').PresenceStore, 'page'>} presence
 */

/**
 * The api role: the HTTP interface for business services. With Kafka, publications are written to Kafka, otherwise
 * straight to the bus.
 * @param {import('./role.js').RoleContext} context
 * @param {SharedParts} [shared] started; default: this process has its own
 * @returns {Promise<import('./role.js').Composed & { api: ReturnType<typeof createHttpApi>, grpcPort: () => number }>}
 */
export async function composeApi (context, shared) {
  const { config, clock, random, log, metrics, lifecycle, status, createKafka } = context
  const { rules, redis, bus, presence } = shared ?? await openParts(context)
  const publisher = createPublisher({ bus, limits: config.limits, metrics, clock })
  let sink = busSink(publisher)
  const kafka = config.mode === 'kafka' ? await createKafka() : undefined
  if (kafka !== undefined) {
    const downlink = await lifecycle.start(
      'downlink',
      createKafkaDownlink({ kafka, topic: config.kafka.topics.downlink, log, clock, random })
    )
    sink = kafkaSink(downlink.publish, sink)
  }
  sink = observedSink(sink, metrics)
  const requests = createRedisRequests({ redis, clock, random })
  const publish = createPublish({ sink, limits: config.limits, requests })
  const publishLane = createPublishLane({ sink, requests })
  const callers = await lifecycle.start(
    'callers',
    createCallers({ settings: config.api, production: config.production, log, metrics, clock, random })
  )
  const services = {
    publish, publishLane, bus, presence,
    sessions: createRedisSessions({ redis }),
    overview: createRedisOverview({ redis })
  }
  const certificate = apiCertificate({ config, log, metrics, clock })
  await startCertificates([certificate], { lifecycle, status })
  const doors = { settings: config.api, limits: config.limits, callers, log, metrics, clock, random, certificate }
  // development only
  const addReference = config.production ? undefined : (await import('../../services/api/http/reference.js')).createReference()
  const api = createHttpApi({ ...doors, ...services, addReference })
  await lifecycle.start('api', api)
  const groups = streamGroups(config)
  const stream = groups.length === 0 ? undefined : createRedisStream({ redis, groups, clock, random })
  const uplinkTopic = kafka && { kafka, settings: config.kafka, maxBytes: config.limits.maxRecordBytes }
  let leaveGrpc = async () => {}
  let grpcPort = () => NaN
  if (config.api.grpcPort !== undefined) {
    const { createGrpcApi } = await import('../../services/api/grpc/server.js')
    const grpc = createGrpcApi({
      ...doors,
      services,
      openEvents: createEventSources({
        settings: config.uplink, stream, kafka: uplinkTopic, log, metrics, clock, random
      })
    })
    await lifecycle.start('grpc', grpc)
    leaveGrpc = () => grpc.leave()
    grpcPort = () => grpc.port()
  }
  // callers move to another process; in one process there is none
  if (shared === undefined) lifecycle.onStop('api: leave', () => Promise.all([api.leave(), leaveGrpc()]))
  if (config.uplink.url !== undefined) {
    const webhook = createWebhook({
      settings: config.uplink, rulesOf: rules.rulesOf, caller: callers.forWebhook(publish), log,
      metrics, clock, random
    })
    await lifecycle.start('webhook', uplinkTopic === undefined
      ? webhook.senderFrom(/** @type {NonNullable<typeof stream>} */ (stream))
      : webhook.senderFromKafka(uplinkTopic))
    status.addWarnings(() => webhook.warnings())
  }
  return { banner: [`api listens on ${config.api.host}:${api.port()}`], api, grpcPort }
}

/** @param {import('./role.js').RoleContext} context @returns {Promise<SharedParts>} */
async function openParts ({ config, clock, random, log, metrics, lifecycle, status, describe, inspect, onWaits }) {
  const rules = await lifecycle.start(
    'document rules',
    createDocumentRules({ history: config.history, path: config.documents.rulesFile, log, metrics, clock })
  )
  const redis = await lifecycle.start(
    'redis', createRedis({ urls: config.redis.urls, log, name: 'api', metrics, onWaits, clock, random })
  )
  status.addCheck(() => redis.trouble)
  await inspect(createRedisTransport({ redis, log }))
  const durability = await lifecycle.start(
    'durability',
    createDurability({ redis, settings: config.redis, name: 'api', metrics, log, clock, random })
  )
  status.addWarnings(() => durability.warnings())
  const bus = await lifecycle.start(
    'bus',
    createRedisBus({ redis, durability, historyOf: rules.historyOf, log, metrics, clock, random })
  )
  const presence = await lifecycle.start(
    'presence',
    createRedisPresence({ redis, maxMembers: config.presence.maxMembers, metrics, log, clock })
  )
  // removes the sessions of ended workers even if no gateway is left
  await lifecycle.start('worker watch', createWorkerWatch({ redis, grace: config.presence.grace, log, clock, random }))
  await lifecycle.start(
    'report', createReport({ store: createRedisOverview({ redis }), describe, log, clock, random })
  )
  return { rules, redis, bus, presence }
}
