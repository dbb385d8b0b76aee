import assert from 'node:assert/strict'
import { test } from 'node:test'
import { murmur2 } from '../helpers/murmur2.js'
import { waitFor } from '../helpers/wait.js'
import { ensured, limited } from './kafka-topics.js'

/** @param {import('./kafka.js').CreateDriver} createDriver @param {import('./kafka.js').OpenKafka} openKafka */
export function kafkaProduceContract (createDriver, openKafka) {
  /**
   * @param {string | null} key
   * @param {string} value
   * @param {Partial<import('../../src/kafka/contract.js').OutgoingMessage>} [more]
   * @returns {import('../../src/kafka/contract.js').OutgoingMessage}
   */
  const message = (key, value, more) => ({ key, value: Buffer.from(value), headers: {}, ...more })

  /**
   * Retries, because a broker may refuse a batch temporarily; the batch is written once.
   * @param {import('../../src/kafka/contract.js').TopicProducer} producer
   * @param {import('../../src/kafka/contract.js').OutgoingMessage[]} messages
   */
  const written = (producer, messages) => waitFor(async () => await producer.send(messages) === undefined)

  /** @param {import('node:test').TestContext} t @param {{ partitions: number }} options */
  async function open (t, options) {
    const kafka = await openKafka(t, options)
    const producer = await createDriver(kafka).produce(kafka.uplinkTopic)
    kafka.onEnd(() => producer.close())
    return { kafka, producer }
  }

  test('records of a key keep their order and content in one partition', async (t) => {
    const { kafka, producer } = await open(t, { partitions: 4 })
    const numbers = Array.from({ length: 60 }, (_, i) => i)
    for (const part of [numbers.slice(0, 40), numbers.slice(40)])
      await written(producer, part.map((i) => message(`k${i % 5}`, String(i))))
    const last = { key: null, value: null, headers: { text: 'ü', bytes: Buffer.from([0xff]) }, partition: 2 }
    await written(producer, [last])
    const records = await kafka.readAll(kafka.uplinkTopic, 61)
    for (let k = 0; k < 5; k++) {
      const own = records.filter(({ key }) => key === `k${k}`)
      assert.equal(new Set(own.map(({ partition }) => partition)).size, 1)
      assert.deepEqual(own.map(({ value }) => Number(value)), numbers.filter((i) => i % 5 === k))
    }
    const [bare] = records.filter(({ key }) => key === null)
    assert.deepEqual([bare.partition, bare.value, bare.headers.text], [2, null, 'ü'])
  })

  test('partitions are chosen as by Kafka\'s own producers', async (t) => {
    const { kafka, producer } = await open(t, { partitions: 4 })
    await written(producer, ['doc-1', 'doc-2', '文档'].map((key) => message(key, key)))
    const records = await kafka.readAll(kafka.uplinkTopic, 3)
    assert.deepEqual(
      Object.fromEntries(records.map(({ key, partition }) => [key, partition])),
      { 'doc-1': murmur2('doc-1') % 4, 'doc-2': murmur2('doc-2') % 4, 文档: murmur2('文档') % 4 }
    )
  })

  test('a message that is sent again keeps its partition', async (t) => {
    const { kafka, producer } = await open(t, { partitions: 4 })
    const messages = Array.from({ length: 8 }, (_, i) => message(null, String(i)))
    for (let attempt = 0; attempt < 3; attempt++) await written(producer, messages)
    const records = await kafka.readAll(kafka.uplinkTopic, 24)
    for (const [i, { chosen }] of messages.entries())
      assert.deepEqual(
        records.filter(({ value }) => String(value) === String(i)).map(({ partition }) => partition),
        [chosen, chosen, chosen]
      )
  })

  test('a batch above the limit of the topic is rejected permanently, and the producer continues', async (t) => {
    const kafka = await openKafka(t, { topics: false })
    const driver = createDriver(kafka)
    const topic = kafka.uplinkTopic
    await ensured(driver, { topics: [topic], partitions: 1, maxMessageBytes: 1000 })
    const producer = await limited(kafka, driver, topic)
    assert.equal(producer.maxBytes, 1000)
    // a busy broker may refuse any batch of a new topic, for now
    /** @type {import('../../src/kafka/contract.js').SendFailure | undefined} */
    let failure
    await waitFor(async () => {
      failure = await producer.send([message('k', 'x'.repeat(2000))])
      return failure?.rejected !== false
    })
    assert.deepEqual([failure?.rejected, failure?.error.code], [true, 'value_too_large'])
    await written(producer, [message('k', 'small')])
    assert.deepEqual((await kafka.readAll(topic, 1)).map(({ value }) => String(value)), ['small'])
  })

  test('a closed producer accepts no batch; another producer may send it', async (t) => {
    const { kafka, producer } = await open(t, { partitions: 1 })
    assert.equal(await producer.close(), true)
    const failure = await producer.send([message('k', 'late')])
    assert.deepEqual([failure?.rejected, failure?.error.code], [false, 'unavailable'])
    const another = await createDriver(kafka).produce(kafka.uplinkTopic)
    kafka.onEnd(() => another.close())
    await written(another, [message('k', 'late')])
  })
}
