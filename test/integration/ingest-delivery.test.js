import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { InkcastError } from '../../src/common/errors.js'
import { countedBy } from '../helpers/counted.js'
import { broadcast, recordingBus, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { waitFor } from '../helpers/wait.js'

/**
 * @param {number} count
 * @param {number} documents
 * @param {number} [from]
 */
const numbered = (count, documents, from = 0) =>
  Array.from({ length: count }, (_, i) => broadcast(`d${(from + i) % documents}`, from + i))

/** @param {ReturnType<typeof recordingBus>} bus @param {number} count @param {number} documents */
function assertAllInOrder (bus, count, documents) {
  const byDocument = bus.byDocument()
  for (let d = 0; d < documents; d++) {
    assert.deepEqual(
      byDocument.get(`d${d}`),
      Array.from({ length: Math.ceil((count - d) / documents) }, (_, i) => String(i * documents + d)),
      `document d${d}`
    )
  }
}

/** @param {import('../helpers/kafka-ingest.js').TestKafka} kafka */
async function committedOffsets (kafka) {
  const admin = kafka.client.admin()
  kafka.onEnd(() => admin.disconnect())
  await admin.connect()
  return async () => {
    const [{ partitions }] = await admin.fetchOffsets({ groupId: kafka.groupId, topics: [kafka.downlinkTopic] })
    return partitions.sort((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset))
  }
}

test('while the bus fails nothing is lost, reordered or published twice, and the group is kept', async (t) => {
  const kafka = await testKafka(t)
  const bus = recordingBus()
  const { published, ingest, metrics } = await startIngest(kafka, { bus })
  const joins = () => kafka.lines.filter(({ text }) => text.includes('joined the Kafka consumer group')).length
  // a newly started broker may have refused the first consumer, or have let it join twice
  const { restarts } = ingest.status()
  const joinsBefore = joins()
  /** @type {number | undefined} */
  let failUntil
  let failures = 0
  bus.before = () => {
    failUntil ??= Date.now() + 12_500 // longer than the group's session timeout
    if (Date.now() < failUntil || Math.random() < 0.2) {
      failures++
      throw new InkcastError('unavailable')
    }
  }
  // published with an unknown outcome: retried, and recognized as a duplicate
  bus.after = () => { if (Math.random() < 0.3) throw new InkcastError('timeout') }
  await kafka.produce(numbered(1000, 7))
  await waitFor(() => !ingest.status().ready, { timeout: 15_000, message: () => ingest.status() })
  assert.match(String(ingest.status().reason), /the bus has accepted no records for 1\d s/)
  await published(1000, 60_000)
  assertAllInOrder(bus, 1000, 7)
  assert.ok(bus.duplicates > 0)
  assert.ok(failures > 10 && failures < 5000, `${failures} failures: it waits between attempts`)
  assert.equal(ingest.status().restarts, restarts)
  await waitFor(() => ingest.status().ready, { message: () => ingest.status() })
  const committed = await committedOffsets(kafka)
  await waitFor(async () => (await committed()).reduce((sum, offset) => sum + Math.max(0, offset)) === 1000, {
    message: committed
  })
  assert.equal(joins(), joinsBefore, `it stayed in the group: ${JSON.stringify(kafka.lines.slice(0, 30))}`)
  assert.ok((await countedBy(metrics.bus_errors)).publish >= failures)
  assert.ok(kafka.lines.filter(({ level }) => level === 'warn').length < 100, 'it does not log each attempt')
})

test('an offset is committed after the effect, and about once a second', async (t) => {
  const kafka = await testKafka(t, { partitions: 1 })
  const bus = recordingBus()
  const { published } = await startIngest(kafka, { bus })
  const committed = await committedOffsets(kafka)
  let open = () => {}
  const gate = new Promise((resolve) => { open = () => resolve(undefined) })
  kafka.onEnd(() => open())
  bus.before = async () => { await gate }
  await kafka.produce(numbered(10, 2))
  await waitFor(() => bus.calls > 0)
  await delay(1500) // a commit would be due by now
  assert.deepEqual(await committed(), [-1])
  open()
  await published(10)
  await waitFor(async () => (await committed())[0] === 10, { message: committed })
})

test('after a member dies between effect and commit, repeated records are recognized', async (t) => {
  const kafka = await testKafka(t, { partitions: 2 })
  const bus = recordingBus()
  const first = await startIngest(kafka, { bus })
  await kafka.produce(numbered(100, 5))
  await first.published(100)
  const committed = await committedOffsets(kafka)
  await waitFor(async () => (await committed()).reduce((sum, offset) => sum + offset) === 100)
  await first.stop()
  // as if the last commits had failed
  const admin = kafka.client.admin()
  await admin.connect()
  const partitions = [{ partition: 0, offset: '5' }, { partition: 1, offset: '3' }]
  // refused until the broker knows that the member has left
  await waitFor(() =>
    admin.setOffsets({ groupId: kafka.groupId, topic: kafka.downlinkTopic, partitions }).then(() => true)
  )
  await admin.disconnect()
  const second = await startIngest(kafka, { bus })
  await kafka.produce(numbered(50, 5, 100))
  await second.published(150)
  assertAllInOrder(bus, 150, 5)
  assert.equal(bus.duplicates, 100 - 8)
  assert.equal((await second.counted())['broadcast duplicate'], 92)
})

test('while the bus fails it stops, and does not commit unpublished records', async (t) => {
  const kafka = await testKafka(t, { partitions: 1 })
  const bus = recordingBus()
  const first = await startIngest(kafka, { bus })
  bus.before = () => { throw new InkcastError('unavailable') }
  await kafka.produce(numbered(100, 6))
  await waitFor(() => bus.calls > 6)
  await first.stop()
  assert.deepEqual(await (await committedOffsets(kafka))(), [-1])
  bus.before = () => {}
  const second = await startIngest(kafka, { bus })
  await second.published(100)
  assertAllInOrder(bus, 100, 6)
})

test('a second member takes over partitions: no record is lost, reordered or duplicated', async (t) => {
  const kafka = await testKafka(t, { partitions: 4 })
  const bus = recordingBus()
  const first = await startIngest(kafka, { bus })
  let sent = 0
  let producing = true
  // a try that a busy broker answers late is not repeated as another record
  const producer = kafka.client.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  kafka.onEnd(() => producer.disconnect())
  const done = (async () => {
    while (producing) {
      await producer.send({ topic: kafka.downlinkTopic, messages: numbered(10, 8, sent) })
      sent += 10
      await delay(5)
    }
  })()
  await first.published(200)
  const second = await startIngest(kafka, { bus })
  const shares = () => [first, second].map(({ ingest }) => ingest.status().partitions.length)
  await waitFor(() => shares().join() === '2,2', { timeout: 15_000, message: shares })
  const then = sent
  await waitFor(() => sent > then + 200)
  await first.stop()
  await waitFor(() => second.ingest.status().partitions.length === 4, {
    timeout: 15_000,
    message: () => second.ingest.status()
  })
  producing = false
  await done
  await second.published(sent)
  assertAllInOrder(bus, sent, 8)
  assert.equal(bus.duplicates, 0, 'offsets are committed before partitions are reassigned')
})
