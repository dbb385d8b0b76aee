import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeMsgpack } from '../../src/wire/msgpack.js'
import { kafkaClasspath } from '../helpers/env.js'
import { broadcast, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { waitFor } from '../helpers/wait.js'
import { produceWithJava } from '../services/kafka-console-producer.js'

test('every operator reaches the bus unchanged', async (t) => {
  const kafka = await testKafka(t, { partitions: 1 })
  const { published, bus } = await startIngest(kafka)
  /** @type {[Record<string, string>, string | null][]} */
  const records = [
    [
      {
        'x-operator': 'broadcast',
        'x-guid': 'd1',
        'x-event': 'edit',
        'x-except': 'c1,c2',
        'x-trace-id': 't1',
        'x-timestamp': '1700000000000',
        'x-source': 'service'
      },
      '{"a":1}'
    ],
    [
      { 'x-operator': 'broadcast', 'x-guid': 'd1', 'x-ephemeral': 'true', 'x-receipt': 'true', 'x-trace-id': 't2' },
      '2'
    ],
    [{ 'x-operator': 'user', 'x-uid': 'u1', 'x-trace-id': 't3' }, '3'],
    [{ 'x-operator': 'socket', 'x-sid': 'AAxxxxxxxxxxxxxxxxxx', 'x-trace-id': 't4' }, '4'],
    [{ 'x-operator': 'everyone', 'x-trace-id': 't5' }, '5'],
    [{ 'x-operator': 'kick', 'x-uid': 'u1', 'x-trace-id': 't6' }, null],
    [{ 'x-operator': 'kick', 'x-sid': 'AAxxxxxxxxxxxxxxxxxx', 'x-trace-id': 't7' }, 'not json'],
    [{ 'x-operator': 'revoke', 'x-uid': 'u1', 'x-guid': 'd1', 'x-trace-id': 't8' }, '']
  ]
  await kafka.produce(records.map(([headers, value]) => ({ key: 'same', value, headers })))
  await published(records.length)
  const byTrace = new Map(bus.published.map((entry) => [entry.publication.traceId, entry]))
  assert.deepEqual(byTrace.get('t1'), {
    origin: {
      source: `${await kafka.kafka.topicId(kafka.downlinkTopic)}/0`,
      sequence: 0,
      epoch: 0,
      healed: 'same'
    },
    publication: {
      operator: 'broadcast',
      guid: 'd1',
      uid: undefined,
      sid: undefined,
      event: 'edit',
      except: ['c1', 'c2'],
      ephemeral: false,
      receipt: false,
      traceId: 't1',
      traceparent: undefined,
      idempotencyKey: undefined,
      key: undefined,
      ttl: undefined,
      timestamp: 1_700_000_000_000,
      source: 'service',
      contentType: 'application/json',
      value: Buffer.from('{"a":1}')
    }
  })
  const short = (/** @type {string} */ traceId) => {
    const { operator, guid, uid, sid, ephemeral, receipt, timestamp } =
      /** @type {import('../../src/log/bus/contract.js').PublishEntry} */ (byTrace.get(traceId)).publication
    assert.ok(
      traceId === 't1' || Math.abs(Date.now() - timestamp) < 60_000,
      'without x-timestamp the record\'s own time is used'
    )
    return [operator, guid ?? uid ?? sid, ephemeral, receipt]
  }
  assert.deepEqual(['t2', 't3', 't4', 't5', 't6', 't7', 't8'].map(short), [
    ['broadcast', 'd1', true, true],
    ['user', 'u1', false, false],
    ['socket', 'AAxxxxxxxxxxxxxxxxxx', false, false],
    ['everyone', undefined, false, false],
    ['kick', 'u1', false, false],
    ['kick', 'AAxxxxxxxxxxxxxxxxxx', false, false],
    ['revoke', 'd1', false, false]
  ])
})

test('values arrive byte by byte: unicode, binary msgpack, 1 MB, empty string', async (t) => {
  const kafka = await testKafka(t, { partitions: 2 })
  const { published, bus } = await startIngest(kafka)
  const values = [
    Buffer.from('"世界 🌍 \\u0000 \u2028"'),
    Buffer.from(` [ 1 , { "a" : ${'9'.repeat(40)} } ] `),
    Buffer.from(`"${'x'.repeat(2 ** 20 - 2)}"`),
    encodeMsgpack({ bytes: Buffer.from([0, 255, 128]), nested: [1.5, null, 'ü'] }),
    Buffer.from('""')
  ]
  for (const [index, value] of values.entries()) {
    await kafka.produce([
      {
        ...broadcast(`d${index}`, null),
        value,
        headers: {
          'x-operator': 'broadcast',
          'x-guid': `d${index}`,
          'content-type': index === 3 ? 'application/msgpack' : 'application/json'
        }
      }
    ])
  }
  await published(values.length)
  for (const { publication: { guid, value } } of bus.published)
    assert.ok(value.equals(values[Number(guid?.slice(1))]), `value of ${guid}`)
})

for (const compression of /** @type {const} */ (['gzip', 'snappy', 'lz4', 'zstd'])) {
  test(`batches that a Java producer compresses with ${compression} are read`, async (t) => {
    const classpath = kafkaClasspath()
    if (classpath === '') return t.skip('Java is not installed')
    const kafka = await testKafka(t, { partitions: 2 })
    const { published, bus } = await startIngest(kafka)
    // texts that compress well, texts that compress badly, and one longer than a block of the compressors
    const texts = Array.from({ length: 400 }, (_, i) =>
      i % 3 === 0
        ? 'aaaa'.repeat(i)
        : i % 3 === 1
          ? Buffer.from(String(Math.sin(i)).repeat(5)).toString('base64')
          : `世界 ${i} `.repeat(30)
    )
    await produceWithJava({
      classpath,
      brokers: kafka.config.kafka.brokers.join(),
      topic: kafka.downlinkTopic,
      compression,
      records: texts.map((text, i) => ({
        key: `d${i % 5}`,
        headers: { 'x-operator': 'broadcast', 'x-guid': `d${i % 5}`, 'x-event': 'edit' },
        value: JSON.stringify({ i, text })
      }))
    })
    await published(texts.length)
    const documents = bus.byDocument()
    for (let d = 0; d < 5; d++) {
      const expected = texts.map((text, i) => ({ i, text })).filter(({ i }) => i % 5 === d)
      assert.deepEqual(documents.get(`d${d}`)?.map((value) => JSON.parse(value)), expected)
    }
  })
}

test('lag and age are reported per partition, and not for partitions of other members', async (t) => {
  const kafka = await testKafka(t, { partitions: 2 })
  const { published, metrics } = await startIngest(kafka)
  const dayAgo = String(Date.now() - 86_400_000)
  await kafka.produce(Array.from({ length: 50 }, (_, i) => ({ ...broadcast(`d${i}`, i), timestamp: dayAgo })))
  await published(50)
  const read = async () => (await metrics.kafka_lag.get()).values.map(({ labels, value }) => `${labels.partition}: ${value}`)
  await waitFor(async () => (await read()).sort().join() === '0: 0,1: 0', { message: read })
  for (const { value } of (await metrics.kafka_record_age_seconds.get()).values)
    assert.equal(Math.floor(value / 86_400), 1, `age ${value}`)
  const { values } = await metrics.stage_seconds.get()
  assert.equal(
    values.find(({ metricName, labels }) => metricName?.endsWith('_count') && labels.stage === 'produced_ingested')
      ?.value,
    50
  )
})

test('either all records of a transaction arrive or none, and its markers do not delay others', async (t) => {
  const kafka = await testKafka(t, { partitions: 1 })
  const { published, bus, stop } = await startIngest(kafka)
  const producer = kafka.client.producer({
    transactionalId: `${kafka.groupId}.tx`,
    idempotent: true,
    maxInFlightRequests: 1
  })
  await producer.connect()
  kafka.onEnd(() => producer.disconnect())
  for (const [value, end] of /** @type {const} */ ([[1, 'commit'], [2, 'abort'], [3, 'commit'], [4, 'abort']])) {
    const transaction = await producer.transaction()
    await transaction.send({ topic: kafka.downlinkTopic, messages: [broadcast('d', value)] })
    await transaction[end]()
  }
  await kafka.produce([broadcast('d', 5)])
  await published(3)
  assert.deepEqual(bus.byDocument().get('d'), ['1', '3', '5'])
  await stop()
  const second = await startIngest(kafka, { bus })
  await kafka.produce([broadcast('d', 6)])
  await second.published(4)
  assert.deepEqual(bus.byDocument().get('d'), ['1', '3', '5', '6'])
})

test('an open transaction holds back its partition, and the consumer does not count as wedged', async (t) => {
  const kafka = await testKafka(t, { partitions: 2 })
  const times = { cycle: 500, wedged: 4000 }
  const { ingest, published, bus } = await startIngest(kafka, { times })
  await kafka.produce([{ ...broadcast('d', 1), partition: 0 }])
  await published(1)
  const producer = kafka.client.producer({
    transactionalId: `${kafka.groupId}.tx`,
    idempotent: true,
    maxInFlightRequests: 1
  })
  await producer.connect()
  kafka.onEnd(() => producer.disconnect())
  const transaction = await producer.transaction()
  await transaction.send({ topic: kafka.downlinkTopic, messages: [{ ...broadcast('d', 2), partition: 0 }] })
  await waitFor(() => kafka.lines.some(({ text }) => text.includes('an open transaction holds back')), {
    timeout: 20_000,
    message: () => ingest.status()
  })
  await transaction.commit()
  await published(2)
  assert.deepEqual(bus.byDocument().get('d'), ['1', '2'])
})
