import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/common/clock.js'
import { createKafkajs } from '../../src/kafka/kafkajs/driver.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { testKafka } from '../helpers/kafka-ingest.js'

test('requests to Kafka are counted and measured by their name', async (t) => {
  const { settings, log, downlinkTopic, onEnd, produce } = await testKafka(t, { partitions: 1 })
  // a broker that does not know the new topic yet would refuse a batch
  await produce([{ value: '0' }])
  const metrics = createMetrics({ processMetrics: false })
  const kafka = createKafkajs({ settings, log, name: 'test', metrics, clock: systemClock })
  const producer = await kafka.produce(downlinkTopic)
  onEnd(() => producer.close())
  const began = performance.now()
  for (let i = 0; i < 3; i++)
    assert.equal(await producer.send([{ key: 'a', value: Buffer.from('1'), headers: {} }]), undefined)
  const seconds = (performance.now() - began) / 1000
  const inspector = await kafka.inspect({ retries: 1 })
  onEnd(() => inspector.close())
  await inspector.ends(downlinkTopic)
  const requests = Object.fromEntries((await metrics.kafka_requests.get()).values
    .map(({ labels, value }) => [labels.api, value]))
  assert.ok(requests.Produce >= 3, JSON.stringify(requests))
  assert.ok(requests.ListOffsets >= 1, JSON.stringify(requests))
  const { values } = await metrics.kafka_request_seconds.get()
  const of = (/** @type {string} */ end) =>
    Number(values.find(({ metricName, labels }) => metricName?.endsWith(end) && labels.api === 'Produce')?.value)
  assert.equal(of('_count'), requests.Produce)
  // kafkajs measures whole milliseconds
  assert.ok(of('_sum') <= seconds + 0.001 * of('_count'), `${of('_sum')} of ${seconds} s`)
})
