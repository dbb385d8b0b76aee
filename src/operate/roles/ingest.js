import { createRedisMarks } from '../../ingest/redis-marks.js'
import { createRedisBus } from '../../log/bus/redis-bus.js'
import { createDocumentRules } from '../../documents/rules/rules.js'
import { createRedisEcho } from '../../ingest/redis-echo.js'
import { createDeadLetter } from '../../kafka/dead-letter.js'
import { Ingest } from '../../ingest/ingest.js'
import { createReadiness } from '../../ingest/readiness.js'
import { createPublisher } from '../../log/publish/publisher.js'
import { createRedisTransport } from '../../watch/inspect/redis-transport.js'
import { createRedisOverview } from '../../watch/overview/redis-overview.js'
import { createReport } from '../../watch/overview/report.js'
import { createRedis } from '../../redis/client.js'

/** Maximum wait for the join to the consumer group before the process reports ready, ms. */
const JOIN_TIME = 20_000

/**
 * The ingest role: from Kafka to the bus.
 * @param {import('./role.js').RoleContext} context
 */
export async function composeIngest ({
  config, clock, random, log, metrics, lifecycle, status, describe, inspect, onWaits, createKafka
}) {
  if (config.mode !== 'kafka') throw new Error('ingest reads from Kafka: set KAFKA_BROKERS')
  const rules = await lifecycle.start(
    'document rules',
    createDocumentRules({ history: config.history, path: config.documents.rulesFile, log, metrics, clock })
  )
  const redis = await lifecycle.start(
    'redis', createRedis({ urls: config.redis.urls, log, name: 'ingest', metrics, onWaits, clock, random })
  )
  await inspect(createRedisTransport({ redis, log }))
  const bus = await lifecycle.start(
    'bus', createRedisBus({ redis, historyOf: rules.historyOf, log, metrics, clock, random })
  )
  const kafka = await createKafka()
  const deadLetter = await lifecycle.start(
    'dead letters',
    createDeadLetter({ kafka, topic: config.kafka.topics.deadLetter, log, clock, random })
  )
  const ingest = await lifecycle.start(
    'ingest',
    new Ingest({ log, metrics, clock, random }, {
      kafka,
      publisher: createPublisher({ bus, limits: config.limits, metrics, clock }),
      echo: createRedisEcho({ redis, random }),
      markStore: createRedisMarks({ redis }),
      deadLetter,
      settings: config
    })
  )
  redis.onBack(() => ingest.suspect())
  status.addCheck(() => redis.trouble)
  status.addWarnings(() => ingest.warnings())
  status.addCheck(() => ingest.status().stalled ?? null)
  const readiness = createReadiness({ status: () => ingest.status(), clock })
  status.addCheck(readiness.problem)
  await lifecycle.start(
    'report', createReport({ store: createRedisOverview({ redis }), describe, log, clock, random })
  )
  // A replacement is ready when it has joined; then the launcher stops the replaced process.
  const deadline = clock.monotonic() + JOIN_TIME
  while (!readiness.hasJoined() && clock.monotonic() < deadline) await clock.sleep(50)
}
