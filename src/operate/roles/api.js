import { Callers } from '../../services/api/callers/callers.js'
import { HttpApi } from '../../services/api/http/server.js'
import { busSink, createPublish, kafkaSink, observedSink } from '../../services/api/publish.js'
import { createPublishLane } from '../../services/api/publish-lane.js'
import { createRedisRequests } from '../../services/api/idempotency/redis-requests.js'
import { createRedisBus } from '../../log/bus/redis-bus.js'
import { streamGroups } from '../../config/load.js'
import { KafkaDownlink } from '../../kafka/downlink.js'
import { RedisPresence } from '../../people/presence/redis-presence.js'
import { createPublisher } from '../../log/publish/publisher.js'
import { createRedisSessions } from '../../people/sessions/redis-sessions.js'
import { apiCertificate, startCertificates } from '../../config/tls/listeners.js'
import { createRedisStream } from '../../services/uplink/stream/redis-stream.js'
import { createEventSources } from '../../services/webhook/event-sources.js'
import { createWebhook } from '../../services/webhook/webhook.js'
import { WorkerWatch } from '../../people/workers/worker-watch.js'
import { createServices } from './services.js'

/**
 * Parts that the api has of its own, or shares with the gateway of the same process.
 * @typedef {import('./services.js').RoleServices & {
 *   bus: import('../../log/bus/contract.js').Bus,
 *   presence: import('../../people/presence/contract.js').PresenceStore
 * }} SharedParts
 */

/**
 * The api role: the HTTP interface for business services. With Kafka, publications are written to Kafka, otherwise
 * straight to the bus.
 * @param {import('./role.js').RoleContext} context
 * @param {SharedParts} [shared] started; default: this process has its own
 * @returns {Promise<import('./role.js').Composed & { api: HttpApi, grpcPort: () => number }>}
 */
export async function composeApi (context, shared) {
  const [services, own] = shared === undefined ? await createOwn(context) : [shared]
  const { config, base, metrics, lifecycle, status, rules, redis, kafka, overview, bus, presence, tenants } = services
  const { limits, uplink: { url } } = config
  const downlink = kafka && new KafkaDownlink({
    ...base, kafka, topic: config.kafka.topics.downlink, framing: config.kafka.valueFraming
  })
  const toBus = busSink(createPublisher({ ...base, bus, limits }))
  const sink = observedSink(downlink === undefined ? toBus : kafkaSink(downlink.publish, toBus), metrics)
  const requests = createRedisRequests({ ...base, redis })
  const publish = createPublish({ sink, limits, requests })
  const callers = new Callers({ ...base, settings: config.api, production: config.production, tenants })
  const certificate = apiCertificate({ ...base, config })
  // servers are created with certificates that are started
  await startCertificates([certificate], { lifecycle, status })
  const backend = {
    publish, publishLane: createPublishLane({ sink, requests }), bus, presence, overview,
    sessions: createRedisSessions({ redis })
  }
  const door = { settings: config.api, limits, callers, certificate, backend }
  // development only
  const addReference = config.production ? undefined : (await import('../../services/api/http/reference.js')).createReference()
  const api = new HttpApi(base, { ...door, addReference })
  const groups = streamGroups(config)
  const stream = groups.length === 0 ? undefined : createRedisStream({ ...base, redis, groups })
  const uplinkTopic = kafka && { kafka, settings: config.kafka, maxBytes: limits.maxRecordBytes }
  const grpc = config.api.grpcPort === undefined
    ? undefined
    : new (await import('../../services/api/grpc/server.js')).GrpcApi(base, {
        ...door,
        openEvents: createEventSources({ ...base, settings: config.uplink, stream, kafka: uplinkTopic })
      })
  const webhook = url === undefined
    ? undefined
    : createWebhook({ ...base, settings: config.uplink, rulesOf: rules.rulesOf, caller: callers.forWebhook(publish) })
  if (webhook !== undefined) status.addWarnings(() => webhook.warnings())
  await lifecycle.startAll({
    ...own,
    downlink,
    callers,
    api,
    grpc,
    // callers move to another process; in one process there is none
    'api: leave': own && { stop: () => Promise.all([api.leave(), grpc?.leave()]) },
    webhook: uplinkTopic === undefined
      ? webhook?.senderFrom(/** @type {NonNullable<typeof stream>} */ (stream))
      : webhook?.senderFromKafka(uplinkTopic)
  })
  return {
    banner: [`api listens on ${config.api.host}:${api.port()}`], api, grpcPort: () => grpc === undefined ? NaN : grpc.port()
  }
}

/**
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<[SharedParts, import('../../base/process/lifecycle.js').Parts]>} the second: in the order of their
 *   start
 */
async function createOwn (context) {
  const services = await createServices(context, 'api')
  const { config, base, rules, redis, inspector } = services
  const durability = services.createDurability()
  const bus = createRedisBus({ ...base, redis, durability, historyOf: rules.historyOf })
  const presence = new RedisPresence({ ...base, redis, maxMembers: config.presence.maxMembers })
  return [{ ...services, bus, presence }, {
    'document rules': rules,
    redis,
    inspector,
    durability,
    bus,
    presence,
    tenants: services.tenants,
    // removes the sessions of ended workers even if no gateway is left
    'worker watch': new WorkerWatch({ ...base, redis, grace: config.presence.grace }),
    report: services.createReport()
  }]
}
