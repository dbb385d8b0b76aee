import { createHttpApi } from './api/http.js'
import { busSink, createPublish } from './api/publish.js'
import { createRedisRequests } from './api/idempotency/redis-requests.js'
import { createRedisBus } from './bus/redis-bus.js'
import { systemClock as clock } from './common/clock.js'
import { createKafkajs } from './kafka/kafkajs/driver.js'
import { createKafkaDownlink } from './kafka/downlink.js'
import { createRedisPresence } from './presence/redis-presence.js'
import { createPublisher } from './publish/publisher.js'
import { createRedis } from './redis/client.js'
import { runRole } from './role.js'
import { createRedisSessions } from './sessions/redis-sessions.js'
import { createWorkerWatch } from './workers/worker-watch.js'

/**
 * The api role: the HTTP interface for business services. With Kafka, publications are written to Kafka, otherwise
 * straight to the bus.
 * @param {import('./role.js').RoleContext} context
 * @returns {Promise<import('./role.js').Composed>}
 */
async function composeApi ({ config, log, metrics, lifecycle, status, onWaits }) {
  const redis = await lifecycle.start('redis', createRedis({ urls: config.redis.urls, log, name: 'api', onWaits }))
  const bus = await lifecycle.start('bus', createRedisBus({ redis, history: config.history, log, metrics, clock }))
  const presence = await lifecycle.start(
    'presence',
    createRedisPresence({ redis, maxMembers: config.presence.maxMembers, metrics, log, clock })
  )
  // removes the sessions of ended workers even if no gateway is left
  await lifecycle.start('worker watch', createWorkerWatch({ redis, grace: config.presence.grace, log }))
  let sink = busSink(createPublisher({ bus, limits: config.limits, metrics, clock }))
  if (config.mode === 'kafka') {
    const kafka = createKafkajs({ settings: config.kafka, log, name: 'api', onWaits })
    const downlink = await lifecycle.start(
      'downlink',
      createKafkaDownlink({ kafka, topic: config.kafka.downlinkTopic, log, clock })
    )
    sink = downlink.publish
  }
  const publish = createPublish({ sink, limits: config.limits, requests: createRedisRequests({ redis }) })
  const api = createHttpApi({
    settings: config.api,
    limits: config.limits,
    production: config.production,
    publish,
    bus,
    presence,
    sessions: createRedisSessions({ redis }),
    log,
    metrics
  })
  await lifecycle.start('api', api)
  lifecycle.onStop('api: leave', () => api.leave())
  status.addCheck(() => redis.trouble)
  return { banner: [`api listens on ${config.api.host}:${api.port()}`] }
}

await runRole('api', composeApi)
