import assert from 'node:assert/strict'
import { test } from 'node:test'
import zlib from 'node:zlib'
import { ensured } from '../contract/kafka-topics.js'
import { broadcast, startIngest, testKafka } from '../helpers/kafka-ingest.js'
import { waitFor } from '../helpers/wait.js'

/** Every kind of bad record, and its reason. @type {[string, import('kafkajs').Message][]} */
const BAD = [
  ['unknown_operator', { value: '{}', headers: {} }],
  ['unknown_operator', { value: '{}', headers: { 'x-operator': 'shout' } }],
  ['unknown_operator', { value: '{}', headers: { 'X-Operator': 'broadcast', 'x-guid': 'd' } }],
  ['missing_target', { value: '{}', headers: { 'x-operator': 'broadcast' } }],
  ['missing_target', { value: '{}', headers: { 'x-operator': 'user', 'x-guid': 'd' } }],
  ['missing_target', { value: '{}', headers: { 'x-operator': 'socket' } }],
  ['missing_target', { value: null, headers: { 'x-operator': 'kick' } }],
  ['missing_target', { value: null, headers: { 'x-operator': 'revoke', 'x-uid': 'u' } }],
  ['bad_target', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': '' } }],
  ['bad_target', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'g'.repeat(257) } }],
  ['bad_target', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'a\u0000b' } }],
  ['bad_target', { value: '{}', headers: { 'x-operator': 'everyone', 'x-guid': 'd' } }],
  ['bad_header', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': Buffer.from([0x64, 0xff]) } }],
  ['bad_header', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'd', 'x-ephemeral': 'yes' } }],
  ['bad_header', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'd', 'x-keep': 'yes' } }],
  [
    'bad_header',
    { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'd', 'x-except': Array(101).fill('c').join() } }
  ],
  [
    'bad_content_type',
    { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'd', 'content-type': 'text/plain' } }
  ],
  ['reserved_event', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'd', 'x-event': 'disconnect' } }],
  ['reserved_event', { value: '{}', headers: { 'x-operator': 'broadcast', 'x-guid': 'd', 'x-event': 'doc:join' } }],
  ['bad_utf8', { value: Buffer.from([0x22, 0xc3, 0x22]), headers: { 'x-operator': 'broadcast', 'x-guid': 'd' } }],
  ['bad_value', { value: '{"a":', headers: { 'x-operator': 'broadcast', 'x-guid': 'd' } }],
  ['bad_value', { value: '1,"x"', headers: { 'x-operator': 'everyone' } }],
  ['bad_value', { value: null, headers: { 'x-operator': 'broadcast', 'x-guid': 'd' } }],
  ['bad_value', { value: '', headers: { 'x-operator': 'user', 'x-uid': 'u' } }],
  ['bad_value', { value: '['.repeat(300) + ']'.repeat(300), headers: { 'x-operator': 'broadcast', 'x-guid': 'd' } }],
  [
    'bad_value',
    {
      value: Buffer.from([0xc1]),
      headers: { 'x-operator': 'broadcast', 'x-guid': 'd', 'content-type': 'application/msgpack' }
    }
  ],
  ['value_too_large', { value: `"${'x'.repeat(2 ** 20)}"`, headers: { 'x-operator': 'broadcast', 'x-guid': 'd' } }]
]

test('a hundred bad records of every kind do not delay others and are kept with their reason and origin', async (t) => {
  const kafka = await testKafka(t, { partitions: 2 })
  const { published, bus, counted, ingest } = await startIngest(kafka)
  const good = 200
  /** @type {import('kafkajs').Message[]} */
  const messages = []
  /** @type {Map<string, [string, import('kafkajs').Message]>} bad records by a header that identifies them */
  const bad = new Map()
  for (let i = 0; i < good; i++) {
    messages.push({ ...broadcast(`d${i % 4}`, i), partition: i % 2 })
    if (i % 2 !== 0) continue
    const [reason, message] = BAD[(i / 2) % BAD.length]
    bad.set(`bad-${i}`, [reason, message])
    messages.push({
      key: `bad-${i}`,
      partition: i % 2,
      ...message,
      headers: { ...message.headers, number: `bad-${i}` }
    })
  }
  // one request for each large record: the broker limits the size of a request
  for (let from = 0; from < messages.length;) {
    const to = messages.findIndex(({ value }, index) => index >= from && (value?.length ?? 0) > 100_000)
    const end = to === -1 ? messages.length : to === from ? from + 1 : to
    await kafka.produce(messages.slice(from, end))
    from = end
  }
  await published(good)
  const letters = await kafka.readLetters(bad.size)
  assert.equal(letters.length, bad.size)

  const documents = bus.byDocument()
  for (let d = 0; d < 4; d++)
    assert.deepEqual(
      documents.get(`d${d}`),
      Array.from({ length: good / 4 }, (_, i) => String(i * 4 + d))
    )

  const origins = new Map(
    (await kafka.readAll(kafka.downlinkTopic, messages.length)).map((record) => [record.headers.number, record])
  )
  for (const { key, value, headers } of letters) {
    const [reason, message] = /** @type {[string, import('kafkajs').Message]} */ (bad.get(headers.number))
    const origin = /** @type {import('../helpers/kafka-ingest.js').Received} */ (origins.get(headers.number))
    const {
      'x-reason': reasonGiven, 'x-message': detail, 'x-topic': topic, 'x-partition': partition, 'x-offset': offset, ...own
    } = headers
    assert.ok(detail.length > 10, detail)
    assert.deepEqual(
      [headers.number, reasonGiven, topic, partition, offset],
      [headers.number, reason, kafka.downlinkTopic, String(origin.partition), String(origin.offset)]
    )
    assert.deepEqual(own, origin.headers)
    assert.equal(key, headers.number)
    assert.deepEqual(value, message.value === null ? null : Buffer.from(/** @type {string} */ (message.value)))
  }

  await waitFor(() => ingest.status().ready)
  assert.equal((await counted())['broadcast ok'], good)
  // a refused record is counted after its dead letter is written
  const refused = async () => Object.entries(await counted())
    .reduce((sum, [name, count]) => (/ (ok|duplicate)$/.test(name) ? sum : sum + count), 0)
  await waitFor(async () => await refused() >= bad.size, { message: counted })
})

test('a record that is too large for the dead-letter topic is kept without its value', async (t) => {
  const kafka = await testKafka(t, { topics: false })
  for (const [topic, maxMessageBytes] of /** @type {[string, number][]} */ ([
    [kafka.downlinkTopic, 2 ** 20], [kafka.deadLetterTopic, 1000]
  ]))
    await ensured(kafka.kafka, { topics: [topic], partitions: 4, maxMessageBytes })
  const { published } = await startIngest(kafka)
  await kafka.produce([
    broadcast('d', 1),
    {
      ...broadcast('d', 2),
      value: `{${'x'.repeat(2000)}`,
      headers: { 'x-operator': 'broadcast', 'x-guid': 'd', large: 'y'.repeat(2000) }
    },
    broadcast('d', 3)
  ])
  await published(2)
  const [{ key, value, headers, ...rest }] = await kafka.readLetters(1)
  assert.deepEqual(
    { key, value, headers },
    {
      key: null,
      value: null,
      headers: {
        'x-reason': 'bad_value',
        'x-message': headers['x-message'],
        'x-topic': kafka.downlinkTopic,
        'x-partition': headers['x-partition'],
        'x-offset': '1',
        'x-truncated': 'true'
      }
    },
    JSON.stringify(rest)
  )
})

/**
 * A dead letter is counted when Kafka has it, which may take longer than a publication.
 * @param {() => Promise<Record<string, number>>} counted
 * @param {{ good: number, bad: number }} expected bad: batches
 */
async function assertCounted (counted, { good, bad }) {
  await waitFor(async () => (await counted())['unknown bad_value'] >= bad, { message: counted })
  const counts = await counted()
  assert.equal(counts['broadcast ok'], good)
  const others = Object.keys(counts).filter((name) => !name.startsWith('broadcast '))
  assert.deepEqual(others, ['unknown bad_value'])
}

/**
 * @param {import('node:test').TestContext} t
 * @param {import('../helpers/kafka-ingest.js').TestKafka} kafka
 * @returns {Promise<(messages: import('kafkajs').Message[], gzipped?: Buffer) => Promise<Buffer | undefined>>} writes
 *   to the downlink with gzip, which kafkajs cannot do here, and resolves with the compressed records; gzipped: records
 *   in gzip that are written in place of the messages
 */
async function gzipProducer (t, kafka) {
  const { default: kafkajs } = await import('kafkajs')
  const { GZIP } = kafkajs.CompressionTypes
  const gzip = kafkajs.CompressionCodecs[GZIP]
  /** @type {Buffer | undefined} */
  let written
  kafkajs.CompressionCodecs[GZIP] = () => ({
    ...gzip(),
    compress: async (/** @type {{ buffer: Buffer }} */ { buffer }) => written ??= zlib.gzipSync(buffer)
  })
  t.after(() => { kafkajs.CompressionCodecs[GZIP] = gzip })
  const producer = kafka.client.producer()
  await producer.connect()
  kafka.onEnd(() => producer.disconnect())
  return async (messages, gzipped) => {
    written = gzipped
    await producer.send({ topic: kafka.downlinkTopic, compression: GZIP, messages })
    return written
  }
}

test('a compressed batch that is a bomb or unreadable is kept as a whole and does not delay others', async (t) => {
  const kafka = await testKafka(t, { partitions: 1 })
  const { published, bus, counted } = await startIngest(kafka)
  await kafka.produce([broadcast('d', 1)])
  // 70 MB of spaces: broker and producer see 70 KB
  const send = await gzipProducer(t, kafka)
  await send([broadcast('d', 2), { ...broadcast('d', 3), value: Buffer.alloc(70 * 2 ** 20, ' ') }])
  await kafka.produce([broadcast('d', 4)])
  await published(2)
  assert.deepEqual(bus.byDocument().get('d'), ['1', '4'])
  const [{ value, headers }] = await kafka.readLetters(1)
  assert.deepEqual(headers, {
    'x-reason': 'bad_value',
    'x-message': 'the record batch cannot be read',
    'x-topic': kafka.downlinkTopic,
    'x-partition': '0',
    'x-offset': '1',
    'x-batch-records': '2'
  })
  assert.ok(value !== null && value.length > 50_000 && value.length < 200_000, 'the batch as the broker has it')
  await assertCounted(counted, { good: 2, bad: 1 })
  assert.match(
    kafka.lines.filter(({ level }) => level === 'error').map(({ text }) => text)
      .join(),
    /gzip: it decompresses to more than.*the record batch cannot be read/s
  )
})

test('bombs in all partitions at once take the time of several responses, and every partition goes on', async (t) => {
  const partitions = 4
  const kafka = await testKafka(t, { partitions })
  const send = await gzipProducer(t, kafka)
  const value = Buffer.alloc(70 * 2 ** 20, ' ')
  /** @type {Buffer | undefined} */
  let bomb
  for (let partition = 0; partition < partitions; partition++) {
    for (let n = 0; n < 2; n++)
      bomb = await send([{ ...broadcast('bomb', 1), partition, ...(bomb === undefined && { value }) }], bomb)
    await send([{ ...broadcast(`d${partition}`, 2), partition }])
  }
  const { published, bus, counted } = await startIngest(kafka)
  await published(partitions)
  assert.deepEqual(
    Array.from({ length: partitions }, (_, i) => bus.byDocument().get(`d${i}`)),
    Array(partitions).fill(['2'])
  )
  assert.equal((await kafka.readLetters(2 * partitions)).length, 2 * partitions)
  await assertCounted(counted, { good: partitions, bad: 2 * partitions })
})

test('a zstd batch of thousands of empty frames, which Kafka accepts, is kept as a whole and does not delay others', async (t) => {
  const kafka = await testKafka(t, { partitions: 2 })
  const { published, bus, counted } = await startIngest(kafka)
  const { default: kafkajs } = await import('kafkajs')
  const { ZSTD } = kafkajs.CompressionTypes
  const zstd = kafkajs.CompressionCodecs[ZSTD]
  // each frame declares a window of 64 MB; the last one has the record, in an uncompressed block
  const frame = (/** @type {Buffer} */ content) => {
    const block = Buffer.alloc(3)
    block.writeUIntLE((content.length << 3) | 1, 0, 3)
    return Buffer.concat([Buffer.from('28b52ffd0080', 'hex'), block, content])
  }
  kafkajs.CompressionCodecs[ZSTD] = () => ({
    ...zstd(),
    compress: async (/** @type {{ buffer: Buffer }} */ { buffer }) =>
      Buffer.concat([...Array(5000).fill(frame(Buffer.alloc(0))), frame(buffer)])
  })
  t.after(() => { kafkajs.CompressionCodecs[ZSTD] = zstd })
  const producer = kafka.client.producer()
  await producer.connect()
  const before = process.cpuUsage().user
  await producer.send({
    topic: kafka.downlinkTopic,
    compression: ZSTD,
    messages: [{ ...broadcast('d', 1), partition: 0 }]
  })
  await producer.disconnect()
  await kafka.produce([
    { ...broadcast('d', 2), partition: 0 },
    { ...broadcast('other', 3), partition: 1 }
  ])
  await published(2)
  const seconds = (process.cpuUsage().user - before) / 1e6
  assert.ok(seconds < 15, `${seconds} s of CPU: without the limit it took 68`)
  assert.deepEqual([bus.byDocument().get('d'), bus.byDocument().get('other')], [['2'], ['3']])
  const [{ value, headers }] = await kafka.readLetters(1)
  assert.deepEqual(headers, {
    'x-reason': 'bad_value',
    'x-message': 'the record batch cannot be read',
    'x-topic': kafka.downlinkTopic,
    'x-partition': '0',
    'x-offset': '0',
    'x-batch-records': '1'
  })
  assert.ok(value !== null && value.length > 45_000)
  await assertCounted(counted, { good: 2, bad: 1 })
})
