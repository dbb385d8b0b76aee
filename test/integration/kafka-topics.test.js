import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { ensureTopics } from '../../src/kafka/topics.js'
import { broadcast, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { waitFor } from '../helpers/wait.js'

test('missing topics are created with the configured number of partitions, of one size, by many processes at once', async (t) => {
  const kafka = await testKafka(t, { topics: false, partitions: 3 })
  const topics = [kafka.downlinkTopic, kafka.deadLetterTopic, kafka.downlinkTopic]
  await Promise.all(
    Array.from({ length: 5 }, () =>
      ensureTopics({
        kafka: kafka.kafka, topics, settings: kafka.config.kafka, maxBytes: 3_000_000, log: kafka.log,
        clock: systemClock, random: systemRandom
      })
    )
  )
  const inspector = await kafka.kafka.inspect({ retries: 1 })
  kafka.onEnd(() => inspector.close())
  for (const topic of new Set(topics)) {
    // a new partition has no leader for a moment
    await waitFor(async () => (await inspector.ends(topic).catch(() => [])).length === 3)
    const producer = await kafka.kafka.produce(topic)
    kafka.onEnd(() => producer.close())
    assert.equal(producer.maxBytes, 3_065_536)
  }
})

test('with 0 partitions nothing is created and the error names the missing topics', async (t) => {
  const kafka = await testKafka(t, { topics: false })
  const topics = [kafka.downlinkTopic, kafka.deadLetterTopic]
  await assert.rejects(
    ensureTopics({
      kafka: kafka.kafka, topics, settings: { partitions: 0 }, log: kafka.log, clock: systemClock, random: systemRandom
    }),
    {
      name: 'MissingTopicsError',
      topics,
      message: `Kafka has no topic ${topics.join(', ')}, and KAFKA_TOPIC_PARTITIONS=0 forbids to create it`
    }
  )
})

test('ingest reports missing topics, and starts when they exist', async (t) => {
  const kafka = await testKafka(t, { topics: false, partitions: 0 })
  const { ingest, published } = await startIngest(kafka, { ready: false })
  await waitFor(() => ingest.status().reason?.includes('KAFKA_TOPIC_PARTITIONS=0'), {
    timeout: 15_000,
    message: () => ingest.status()
  })
  await ensureTopics({
    kafka: kafka.kafka,
    topics: [kafka.downlinkTopic, kafka.uplinkTopic, kafka.deadLetterTopic],
    settings: { partitions: 2 },
    log: kafka.log,
    clock: systemClock,
    random: systemRandom
  })
  await kafka.produce([broadcast('d', 1)])
  await published(1)
  await waitFor(() => ingest.status().ready, { message: () => ingest.status() })
})
