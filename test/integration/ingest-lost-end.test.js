import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { broadcast, recordingBus, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { createMemoryMarks } from '../helpers/memory-marks.js'
import { waitFor } from '../helpers/wait.js'
import { startKafka } from '../services/kafka.js'

/** @typedef {import('../helpers/kafka-ingest.js').TestKafka} TestKafka */

/**
 * Truncates a partition, as a power loss does to unsynced records and an unclean leader election to unreplicated ones.
 * @param {import('../services/kafka.js').KafkaBroker} broker
 * @param {string} topic
 * @param {number} end offset of the first lost batch
 */
async function loseEnd (broker, topic, end) {
  await broker.kill('SIGKILL')
  const folder = join(broker.directory, 'data', `${topic}-0`)
  const file = join(folder, '00000000000000000000.log')
  const bytes = readFileSync(file)
  let at = 0
  while (at + 12 <= bytes.length && bytes.readBigInt64BE(at) < end) at += 12 + bytes.readInt32BE(at + 8)
  assert.ok(at < bytes.length, 'there is something to lose')
  truncateSync(file, at)
  for (const name of readdirSync(folder)) if (/\.(index|timeindex|snapshot)$/.test(name)) rmSync(join(folder, name))
  await broker.restart()
}

/** @param {string} name @param {number} count one batch each */
const produceEach = async (/** @type {TestKafka} */ kafka, name, count) => {
  const producer = kafka.client.producer({ allowAutoTopicCreation: false })
  await producer.connect()
  for (let i = 0; i < count; i++)
    await producer.send({ topic: kafka.downlinkTopic, messages: [broadcast('d', `${name}${i}`)] })
  await producer.disconnect()
}

test(
  'a partition that lost its end: new records are delivered, /ready and a metric report the loss',
  { timeout: 300_000 },
  async (t) => {
    const broker = await startKafka()
    t.after(() => broker.stop())
    const kafka = await testKafka(t, { brokers: broker.brokers, partitions: 1 })
    const [bus, markStore] = [recordingBus(), createMemoryMarks()]
    const first = await startIngest(kafka, { bus, markStore })
    await waitFor(() => first.ingest.status().ready, { timeout: 60_000, message: () => first.ingest.status() })
    assert.equal((await first.metrics.kafka_lost_ends.get()).values[0]?.value, 0, 'an alert sees the first one')
    await produceEach(kafka, 'a', 20)
    await first.published(20)

    await loseEnd(broker, kafka.downlinkTopic, 10)
    await produceEach(kafka, 'b', 6)
    await first.published(26, 90_000)
    assert.match(first.ingest.warnings()[0], /partition 0 of .* lost records/)
    assert.equal((await first.metrics.kafka_lost_ends.get()).values[0]?.value, 1)
    await waitFor(() => first.ingest.status().ready, { timeout: 60_000, message: () => first.ingest.status() })
    await first.stop()

    // no reader runs until the new end has passed the old one
    await loseEnd(broker, kafka.downlinkTopic, 13)
    await produceEach(kafka, 'c', 10)
    const second = await startIngest(kafka, { bus, markStore })
    await second.published(36, 90_000)
    assert.equal((await second.metrics.kafka_lost_ends.get()).values[0]?.value, 1)
    const text = (/** @type {string} */ name, /** @type {number} */ length) =>
      Array.from({ length }, (_, i) => `"${name}${i}"`)
    assert.deepEqual(bus.byDocument().get('d'), [...text('a', 20), ...text('b', 6), ...text('c', 10)])
  }
)
