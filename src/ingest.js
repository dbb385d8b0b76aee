import { createRedisBus } from './bus/redis-bus.js'
import { systemClock as clock } from './clock.js'
import { createDeadLetter } from './ingest/dead-letter.js'
import { createIngest } from './ingest/ingest.js'
import { createKafka } from './kafka/client.js'
import { createRedis } from './redis/client.js'
import { runRole } from './role.js'

/**
 * The ingest role: from Kafka to the bus.
 * @param {import('./role.js').RoleContext} context
 */
async function composeIngest ({ config, log, metrics, lifecycle, status }) {
  if (config.mode !== 'kafka') throw new Error('ingest reads from Kafka: set KAFKA_BROKERS')
  const redis = await lifecycle.start('redis', createRedis({ urls: config.redis.urls, log, name: 'ingest' }))
  const bus = await lifecycle.start('bus', createRedisBus({ redis, history: config.history, log, metrics, clock }))
  const kafka = createKafka({ settings: config.kafka, log, name: 'ingest' })
  const deadLetter = await lifecycle.start('dead letters', createDeadLetter({ kafka, topic: config.kafka.deadLetterTopic, log, clock }))
  const ingest = await lifecycle.start('ingest', createIngest({ kafka, bus, deadLetter, settings: config, log, metrics, clock }))
  status.addCheck(() => redis.ready ? null : 'Redis is away')
  status.addCheck(() => ingest.status().reason ?? null)
}

await runRole('ingest', composeIngest)
