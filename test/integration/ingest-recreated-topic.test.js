import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { ensureTopics } from '../../src/kafka/topics.js'
import { broadcast, recordingBus, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { waitFor } from '../helpers/wait.js'

/** @param {string} name @param {number} count @param {number} documents */
const records = (name, count, documents) =>
  Array.from({ length: count }, (_, i) => broadcast(`d${i % documents}`, `${name}${i}`))

/** @param {string} name @param {number} count @param {number} documents @param {number} document */
const expected = (name, count, documents, document) =>
  Array.from({ length: count }, (_, i) => i).filter((i) => i % documents === document)
    .map((i) => `"${name}${i}"`)

/**
 * Deletes the downlink topic and creates it again.
 * @param {import('../helpers/kafka-ingest.js').TestKafka} kafka
 */
async function recreate ({ kafka, client, config, log, downlinkTopic, onEnd }) {
  const before = await kafka.topicId(downlinkTopic)
  assert.notEqual(before, '')
  const admin = client.admin()
  onEnd(() => admin.disconnect())
  await admin.connect()
  await admin.deleteTopics({ topics: [downlinkTopic] })
  await waitFor(async () => {
    await ensureTopics({
      kafka, topics: [downlinkTopic], settings: config.kafka, log, clock: systemClock, random: systemRandom
    })
    return await kafka.topicId(downlinkTopic).catch(() => before) !== before
  }, { timeout: 60_000 })
  return before
}

/** @param {ReturnType<typeof recordingBus>} bus */
function assertAllOnce (bus) {
  const documents = bus.byDocument()
  for (let d = 0; d < 3; d++)
    assert.deepEqual(documents.get(`d${d}`), [...expected('a', 60, 3, d), ...expected('b', 30, 3, d)], `document d${d}`)
}

test('a topic that is recreated during reading silences no document: each of its records arrives once', async (t) => {
  const kafka = await testKafka(t, { partitions: 2 })
  const { bus, published, ingest } = await startIngest(kafka)
  await kafka.produce(records('a', 60, 3))
  await published(60)
  await recreate(kafka)
  // fewer than before, so that the documents have seen all of their offsets
  await kafka.produce(records('b', 30, 3))
  await published(90, 40_000)
  assertAllOnce(bus)
  await waitFor(() => ingest.status().ready, { timeout: 15_000, message: () => ingest.status() })
})

test('offsets committed in an older topic of the same name are ignored for the new one', async (t) => {
  const kafka = await testKafka(t, { partitions: 1 })
  const bus = recordingBus()
  const first = await startIngest(kafka, { bus })
  await kafka.produce(records('a', 60, 3))
  await first.published(60)
  await first.stop()
  const before = await recreate(kafka)
  await kafka.produce(records('b', 30, 3))
  // like a member that has not noticed the new topic yet
  const late = kafka.client.consumer({ groupId: kafka.groupId })
  await late.connect()
  await late.subscribe({ topics: [kafka.downlinkTopic] })
  const joined = new Promise((resolve) => { late.on(late.events.GROUP_JOIN, resolve) })
  await late.run({ autoCommit: false, eachMessage: async () => {} })
  await joined
  await late.commitOffsets([{ topic: kafka.downlinkTopic, partition: 0, offset: '20', metadata: before }])
  await late.disconnect()

  const second = await startIngest(kafka, { bus })
  await second.published(90)
  assertAllOnce(bus)
})
