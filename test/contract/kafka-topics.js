import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordingLog } from '../helpers/recording-log.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

/**
 * One attempt, which may fail temporarily: a busy broker may not know a topic yet that it has just created.
 * @param {import('../../src/kafka/contract.js').KafkaDriver} driver
 * @param {import('../../src/kafka/contract.js').TopicsRequest} request
 * @returns {Promise<{ missing: string[], created: boolean } | undefined>} undefined: a retryable error
 */
const attempt = (driver, request) => driver.ensureTopics(request).catch((error) => {
  if (error.retriable !== true) throw error
  return undefined
})

/**
 * @param {import('../../src/kafka/contract.js').KafkaDriver} driver
 * @param {import('../../src/kafka/contract.js').TopicsRequest} request
 */
export const ensured = (driver, request) => waitFor(() => attempt(driver, request))

/**
 * A producer that knows its topic's limit. A driver asks for 2 s; a busy broker may need longer.
 * @param {import('../helpers/kafka-ingest.js').TestKafka} kafka
 * @param {import('../../src/kafka/contract.js').KafkaDriver} driver
 * @param {string} topic
 */
export async function limited (kafka, driver, topic) {
  /** @type {import('../../src/kafka/contract.js').TopicProducer[]} */
  const opened = []
  await waitFor(async () => {
    const producer = await driver.produce(topic)
    kafka.onEnd(() => producer.close())
    opened.unshift(producer)
    return producer.maxBytes !== undefined
  })
  return opened[0]
}

/** @param {import('./kafka.js').CreateDriver} createDriver @param {import('./kafka.js').OpenKafka} openKafka */
export function kafkaTopicsContract (createDriver, openKafka) {
  test('missing topics are created with their settings, existing ones stay unchanged', async (t) => {
    const kafka = await openKafka(t, { topics: false })
    const driver = createDriver(kafka)
    const topics = [kafka.downlinkTopic, kafka.uplinkTopic]
    const request = { topics, partitions: 3, maxMessageBytes: 3_000_000 }
    for (let i = 0; i < 2; i++)
      assert.deepEqual(await ensured(driver, { ...request, partitions: 0 }), { missing: topics, created: false })
    const created = await attempt(driver, request)
    assert.deepEqual(created ?? { missing: topics, created: true }, { missing: topics, created: true })
    assert.deepEqual(await ensured(driver, { ...request, partitions: 7 }), { missing: [], created: false })
    const admin = kafka.client.admin()
    kafka.onEnd(() => admin.disconnect())
    await admin.connect()
    const { topics: found } = await admin.fetchTopicMetadata({ topics })
    assert.deepEqual(found.map(({ partitions }) => partitions.length), [3, 3])
    assert.equal((await limited(kafka, driver, kafka.downlinkTopic)).maxBytes, 3_000_000)
  })

  test('min.insync.replicas is set where a topic has more replicas, and safety tells it', async (t) => {
    const kafka = await openKafka(t, { topics: false })
    const driver = createDriver(kafka)
    const [one, other] = [kafka.downlinkTopic, kafka.uplinkTopic]
    const request = { partitions: 2, maxMessageBytes: 100_000 }
    await ensured(driver, { ...request, topics: [one], minInSync: 2 })
    const admin = kafka.client.admin()
    kafka.onEnd(() => admin.disconnect())
    await admin.connect()
    await admin.createTopics({
      topics: [{ topic: other, numPartitions: 1, configEntries: [{ name: 'min.insync.replicas', value: '3' }] }]
    })
    const { brokers, topics } = await waitFor(() => driver.safety([one, other]))
    assert.equal(brokers, 1)
    assert.deepEqual(topics.sort((a, b) => a.minInSync - b.minInSync), [
      { topic: one, replicas: 1, minInSync: 1 },
      { topic: other, replicas: 1, minInSync: 3 }
    ])
    await assert.rejects(driver.safety([kafka.deadLetterTopic]))
  })

  test('one of several concurrent calls creates the topics', async (t) => {
    const kafka = await openKafka(t, { topics: false })
    const driver = createDriver(kafka)
    const request = { topics: [kafka.downlinkTopic], partitions: 1, maxMessageBytes: 100_000 }
    const results = await Promise.all(Array.from({ length: 5 }, () => attempt(driver, request)))
    const created = results.filter((result) => result?.created).length
    assert.ok(created === 1 || (created === 0 && results.includes(undefined)), JSON.stringify(results))
  })

  test('a topic that is deleted and created again has another id', async (t) => {
    const kafka = await openKafka(t, { partitions: 1 })
    const driver = createDriver(kafka)
    const topic = kafka.downlinkTopic
    const before = await driver.topicId(topic)
    assert.notEqual(before, '')
    assert.equal(await driver.topicId(topic), before)
    const admin = kafka.client.admin()
    kafka.onEnd(() => admin.disconnect())
    await admin.connect()
    await admin.deleteTopics({ topics: [topic] })
    await waitFor(() => driver.topicId(topic).then(() => false, () => true), { timeout: 20_000 })
    await ensured(driver, { topics: [topic], partitions: 1, maxMessageBytes: 100_000 })
    const after = await waitFor(() => driver.topicId(topic).catch(() => undefined), { timeout: 20_000 })
    assert.notEqual(after, before)
  })

  test('ends are last stable offsets; a leader epoch ends after its last record', async (t) => {
    const kafka = await openKafka(t, { partitions: 2 })
    const driver = createDriver(kafka)
    const topic = kafka.downlinkTopic
    await kafka.produce(Array.from({ length: 7 }, (_, i) => ({ value: String(i), partition: 1 })))
    const transactional = kafka.client.producer({ transactionalId: kafka.groupId, maxInFlightRequests: 1 })
    kafka.onEnd(() => transactional.disconnect())
    await transactional.connect()
    const transaction = await transactional.transaction()
    await transaction.send({ topic, messages: [{ value: 'open', partition: 1 }] })
    const inspector = await driver.inspect({ retries: 1 })
    kafka.onEnd(() => inspector.close())
    const ends = async () => (await inspector.ends(topic)).sort((a, b) => a.partition - b.partition)
    assert.deepEqual(await ends(), [
      { partition: 0, low: 0, high: 0 },
      { partition: 1, low: 0, high: 7 }
    ])
    await transaction.commit()
    await waitFor(async () => (await ends())[1].high === 9, { message: ends })
    assert.equal(await driver.epochEnd({ topic, partition: 1, epoch: 0 }), 9)
    assert.deepEqual(
      (await inspector.committed(kafka.groupId, topic)).map(({ offset, metadata }) => [offset, metadata]),
      [[-1, ''], [-1, '']]
    )
  })

  test('calls reject while Kafka is unavailable, or the topic does not exist', async (t) => {
    const log = recordingLog().log
    const brokers = [`127.0.0.1:${await freePort()}`]
    const away = createDriver({ settings: { brokers }, log })
    const request = { topics: ['t'], partitions: 1, maxMessageBytes: 100_000 }
    const rejected = [away.ensureTopics(request), away.inspect({ retries: 0 }), away.produce('t')].map(
      (/** @type {Promise<unknown>} */ call) => assert.rejects(call)
    )
    brokers.length = 0 // prevents further attempts, which would take a minute
    await Promise.all(rejected)
    const kafka = await openKafka(t, { topics: false })
    const driver = createDriver(kafka)
    await assert.rejects(driver.topicId(kafka.downlinkTopic))
    const inspector = await driver.inspect({ retries: 0 })
    kafka.onEnd(() => inspector.close())
    await assert.rejects(inspector.ends(kafka.downlinkTopic))
  })
}
