import { systemRandom } from '../../src/base/common/random.js'
import { countedBy } from '../helpers/counted.js'
import { memoryQueues } from '../helpers/memory-queues.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createRedisRequests } from '../../src/services/api/idempotency/redis-requests.js'
import { createPublish, kafkaSink } from '../../src/services/api/publish.js'
import { systemClock } from '../../src/base/common/clock.js'
import { KafkaDownlink } from '../../src/kafka/downlink.js'
import { Producer } from '../../src/kafka/producer.js'
import { createKafkaUplink } from '../../src/services/uplink/kafka-uplink.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { publication } from '../contract/bus-fixture.js'
import { ensured } from '../contract/kafka-topics.js'
import { startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { storeRedis } from '../helpers/store-redis.js'
import { waitFor } from '../helpers/wait.js'

/**
 * @param {Partial<import('../../src/log/publish/uplink.js').UplinkRecord>} [more]
 * @returns {import('../../src/log/publish/uplink.js').UplinkRecord}
 */
const uplinkRecord = (more) => ({
  operator: 'message',
  uid: 'u1',
  sid: 'AAxxxxxxxxxxxxxxxxxx',
  guid: 'd1',
  event: 'edit',
  traceId: 't1',
  timestamp: 1_700_000_000_000,
  contentType: 'application/json',
  value: Buffer.from('{"a":"ü"}'),
  ...more
})

/** @param {import('../helpers/kafka-ingest.js').TestKafka} kafka @param {object} [limits] */
function startUplink (kafka, limits) {
  const metrics = createMetrics({ processMetrics: false })
  const uplink = createKafkaUplink({
    kafka: kafka.kafka, topic: kafka.uplinkTopic, queues: memoryQueues(), log: kafka.log, metrics, limits,
    clock: systemClock, random: systemRandom
  })
  kafka.onEnd(() => uplink.stop())
  return {
    uplink,
    metrics,
    counted: () => countedBy(metrics.uplink_records),
    pending: async () => (await metrics.uplink_pending.get()).values[0].value
  }
}

test('an uplink record has the headers of the contract and the document as its key', async (t) => {
  const kafka = await testKafka(t)
  const { uplink, counted, pending } = startUplink(kafka)
  await uplink.start()
  await uplink.send(uplinkRecord())
  await uplink.send(
    uplinkRecord({
      operator: 'offline',
      sid: undefined,
      guid: undefined,
      event: undefined,
      value: Buffer.alloc(0),
      contentType: 'application/msgpack'
    })
  )
  const records = await kafka.readAll(kafka.uplinkTopic, 2)
  const [offline, message] = records.sort((a, b) => Number(a.key === 'd1') - Number(b.key === 'd1'))
  assert.deepEqual(
    [message.key, message.value, message.headers],
    [
      'd1',
      Buffer.from('{"a":"ü"}'),
      {
        'x-operator': 'message',
        'x-uid': 'u1',
        'x-sid': 'AAxxxxxxxxxxxxxxxxxx',
        'x-guid': 'd1',
        'x-event': 'edit',
        'x-trace-id': 't1',
        'x-timestamp': '1700000000000',
        'content-type': 'application/json'
      }
    ]
  )
  assert.deepEqual(
    [offline.key, offline.value, offline.headers],
    [
      'u1',
      Buffer.alloc(0),
      {
        'x-operator': 'offline',
        'x-uid': 'u1',
        'x-trace-id': 't1',
        'x-timestamp': '1700000000000',
        'content-type': 'application/msgpack'
      }
    ]
  )
  assert.deepEqual(await counted(), { 'message ok': 1, 'offline ok': 1 })
  assert.equal(await pending(), 0)
})

test('publications of the api reach the bus through Kafka unchanged', async (t) => {
  const kafka = await testKafka(t)
  const { bus, published } = await startIngest(kafka)
  const downlink = new KafkaDownlink({
    kafka: kafka.kafka, topic: kafka.downlinkTopic, log: kafka.log, clock: systemClock, random: systemRandom
  })
  kafka.onEnd(() => downlink.stop())
  const { publish } = downlink // the api receives only this function
  /** @type {import('../../src/wire/publication.js').Publication} */
  const full = {
    operator: 'broadcast',
    guid: 'doc-世界',
    uid: undefined,
    sid: undefined,
    event: 'правка',
    except: ['c1', 'ü'],
    ephemeral: true,
    receipt: true,
    traceId: 'trace',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    timestamp: 1_700_000_000_123,
    source: 'service',
    idempotencyKey: 'key',
    key: undefined,
    ttl: undefined,
    contentType: 'application/msgpack',
    value: Buffer.from([0xa2, 0xc3, 0xbc])
  }
  // as a service does while Kafka, or this process, is starved
  await waitFor(() => publish(full).then(() => true))
  await published(1)
  assert.deepEqual(bus.published[0].publication, full)
})

test('a repeated request is in the log once, although the api process died after Kafka had the first one', async (t) => {
  const kafka = await testKafka(t)
  const { bus, published } = await startIngest(kafka)
  const downlink = new KafkaDownlink({
    kafka: kafka.kafka, topic: kafka.downlinkTopic, log: kafka.log, clock: systemClock, random: systemRandom
  })
  kafka.onEnd(() => downlink.stop())
  const { redis } = await storeRedis(t)
  const requests = createRedisRequests({ redis, clock: systemClock, random: systemRandom })
  const died = { ...requests, finish: (/** @type {string} */ id) => requests.release(id) }
  const sink = kafkaSink(downlink.publish, async () => [])
  const publish = createPublish({ sink, limits: { maxRecordBytes: 1000 }, requests: died })
  const request = publication({ guid: 'd', idempotencyKey: 'key', value: Buffer.from('1') })
  const answers = [
    await publish(request),
    await publish({ ...request, traceId: 'another' }),
    await publish(publication({ guid: 'd', value: Buffer.from('2') }))
  ]
  assert.deepEqual(answers[1], answers[0])
  await published(2)
  assert.deepEqual(bus.byDocument().get('d'), ['1', '2'])
  assert.ok(bus.duplicates >= 1, 'the topic has both')
})

test('many sends are batched into few requests, and records of a key keep their order', async (t) => {
  const kafka = await testKafka(t)
  let requests = 0
  const producer = new Producer({
    kafka: counting(kafka.kafka, () => requests++),
    topic: kafka.uplinkTopic,
    log: kafka.log,
    clock: systemClock,
    random: systemRandom
  })
  kafka.onEnd(() => producer.stop())
  const sends = []
  for (let i = 0; i < 3000; i++) {
    sends.push(producer.send({ key: `k${i % 10}`, value: Buffer.from(String(i)), headers: {} }))
    if (i % 100 === 0) await delay(1)
  }
  await Promise.all(sends)
  // one at a time, and a busy broker may not know the new topic yet
  assert.ok(requests <= 300, `${requests} requests`)
  const records = await kafka.readAll(kafka.uplinkTopic, 3000)
  for (let k = 0; k < 10; k++) {
    assert.deepEqual(
      records.filter(({ key }) => key === `k${k}`).map(({ value }) => Number(value)),
      Array.from({ length: 300 }, (_, i) => i * 10 + k)
    )
  }
})

/** @param {import('../../src/kafka/contract.js').KafkaDriver} kafka @param {() => void} count */
const counting = (kafka, count) => ({
  /** @param {string} topic */
  async produce (topic) {
    const producer = await kafka.produce(topic)
    return {
      ...producer,
      /** @type {typeof producer.send} */
      send (messages) {
        count()
        return producer.send(messages)
      }
    }
  }
})

test('a record that the topic rejects does not fail the others of its batch', async (t) => {
  const kafka = await testKafka(t, { topics: false })
  await ensured(kafka.kafka, { topics: [kafka.uplinkTopic], partitions: 1, maxMessageBytes: 1000 })
  const producer = new Producer({
    kafka: kafka.kafka, topic: kafka.uplinkTopic, log: kafka.log, clock: systemClock, random: systemRandom
  })
  kafka.onEnd(() => producer.stop())
  const results = await Promise.allSettled(
    [1, 2, 3, 4].map((i) =>
      producer.send({ key: 'k', value: i === 2 ? Buffer.alloc(2000) : Buffer.from(String(i)), headers: {} })
    )
  )
  assert.deepEqual(
    results.map((result) => (result.status === 'rejected' ? result.reason.code : 'ok')),
    ['ok', 'value_too_large', 'ok', 'ok']
  )
  assert.deepEqual((await kafka.readAll(kafka.uplinkTopic, 3)).map(({ value }) => String(value)), ['1', '3', '4'])
})

for (const known of [true, false]) {
  test(`a topic that only accepts small batches has each record once${known
    ? ''
    : ', also without permission to read its settings'}`, async (t) => {
    const kafka = await testKafka(t, { topics: false })
    await ensured(kafka.kafka, { topics: [kafka.uplinkTopic], partitions: 4, maxMessageBytes: 40_000 })
    const produce = async (/** @type {string} */ topic) => ({
      ...(await kafka.kafka.produce(topic)),
      ...(known ? {} : { maxBytes: undefined })
    })
    const producer = new Producer({
      kafka: { produce }, topic: kafka.uplinkTopic, log: kafka.log, clock: systemClock, random: systemRandom
    })
    kafka.onEnd(() => producer.stop())
    // most of them for one partition, so that others are written while this one rejects; with and without keys; one
    // record that is too large for any batch
    const numbers = Array.from({ length: 160 }, (_, i) => i)
    const sent = numbers.map((i) =>
      producer.send({
        key: i % 5 === 0 ? null : i % 3 === 0 ? `k${i}` : 'same',
        value: Buffer.from(String(i).padEnd(1000)),
        headers: { 'x-header': 'ü'.repeat(50) }
      })
    )
    const large = producer.send({ key: 'same', value: Buffer.alloc(50_000), headers: {} })
    await assert.rejects(large, (/** @type {any} */ error) => error.code === 'value_too_large')
    await Promise.all(sent)
    await producer.send({ key: 'same', value: Buffer.from('last'), headers: {} })
    const values = (await kafka.readAll(kafka.uplinkTopic, 161)).map(({ partition, value }) => ({
      partition,
      text: String(value).trim()
    }))
    assert.deepEqual(values.map(({ text }) => text).sort(), [...numbers.map(String), 'last'].sort())
    const same = values
      .filter(({ text }) => text === 'last' || (Number(text) % 5 !== 0 && Number(text) % 3 !== 0))
      .map(({ text }) => text)
    assert.deepEqual(
      same,
      [...numbers.filter((i) => i % 5 !== 0 && i % 3 !== 0).map(String), 'last'],
      'records of a key keep their order'
    )
  })
}
