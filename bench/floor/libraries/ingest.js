/**
 * Kafka consumer of the libraries' floor (primary.js): kafkajs as used by inkcast, with batches and inkcast's patches,
 * but without inkcast's own work per record.
 */
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { systemClock } from '../../../src/base/common/clock.js'
import { createClient } from '../../../src/kafka/kafkajs/client.js'

const { REDIS_URL = '', KAFKA_BROKERS = '' } = process.env
const TOPIC = 'documents.downlink'
const COMMIT_INTERVAL = 1000

const redis = new Redis(REDIS_URL)
const consumer = createClient({
  settings: /** @type {any} */ ({ brokers: KAFKA_BROKERS.split(',') }),
  log: pino({ level: 'warn' }),
  name: 'floor',
  clock: systemClock
}).consumer({ groupId: 'floor', maxWaitTimeInMs: 500, minBytes: 1 })
/** @type {Map<number, string>} next offset, by partition */
const done = new Map()

await consumer.connect()
await consumer.subscribe({ topic: TOPIC })
await consumer.run({
  autoCommit: false,
  eachBatchAutoResolve: false,
  partitionsConsumedConcurrently: 8,
  eachBatch: async ({ batch, resolveOffset }) => {
    await Promise.all(
      batch.messages.map(({ headers, value }) => redis.spublish(String(headers?.['x-guid']), value ?? ''))
    )
    resolveOffset(batch.lastOffset())
    done.set(batch.partition, String(Number(batch.lastOffset()) + 1))
  }
})
setInterval(() => {
  const offsets = Array.from(done, ([partition, offset]) => ({ topic: TOPIC, partition, offset }))
  done.clear()
  if (offsets.length > 0) consumer.commitOffsets(offsets).catch((error) => console.error(error.message))
}, COMMIT_INTERVAL)
console.log('ingest reads')
