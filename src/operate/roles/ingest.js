import { createRedisMarks } from '../../ingest/redis-marks.js'
import { createRedisBus } from '../../log/bus/redis-bus.js'
import { createRedisEcho } from '../../ingest/redis-echo.js'
import { DeadLetter } from '../../kafka/dead-letter.js'
import { Ingest } from '../../ingest/ingest.js'
import { createReadiness } from '../../ingest/readiness.js'
import { createPublisher } from '../../log/publish/publisher.js'
import { createServices } from './services.js'

/** Maximum wait for the join to the consumer group before the process reports ready, ms. */
const JOIN_TIME = 20_000

/**
 * The ingest role: from Kafka to the bus.
 * @param {import('./role.js').RoleContext} context
 */
export async function composeIngest (context) {
  if (context.config.mode !== 'kafka') throw new Error('ingest reads from Kafka: set KAFKA_BROKERS')
  const { config, clock, base, lifecycle, status, rules, redis, inspector, createReport, ...services } =
    await createServices(context, 'ingest')
  const kafka = /** @type {import('../../kafka/contract.js').KafkaDriver} */ (services.kafka)
  const bus = createRedisBus({ ...base, redis, historyOf: rules.historyOf })
  const deadLetter = new DeadLetter({ ...base, kafka, topic: config.kafka.topics.deadLetter })
  const ingest = new Ingest(base, {
    kafka,
    publisher: createPublisher({ ...base, bus, limits: config.limits }),
    echo: createRedisEcho({ ...base, redis }),
    markStore: createRedisMarks({ redis }),
    deadLetter,
    settings: config
  })
  const readiness = createReadiness({ status: () => ingest.status(), clock })
  await lifecycle.startAll({
    'document rules': rules,
    redis,
    inspector,
    bus,
    'dead letters': deadLetter,
    ingest,
    report: createReport()
  })
  redis.onBack(() => ingest.suspect())
  status.addWarnings(() => ingest.warnings())
  status.addCheck(() => ingest.status().stalled ?? null)
  status.addCheck(readiness.problem)
  // A replacement is ready when it has joined; then the launcher stops the replaced process.
  const deadline = clock.monotonic() + JOIN_TIME
  while (!readiness.hasJoined() && clock.monotonic() < deadline) await clock.sleep(50)
}
