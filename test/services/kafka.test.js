import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import kafkajs from 'kafkajs'
import { waitFor } from '../helpers/wait.js'
import { startKafka } from './kafka.js'
import { produceWithJava } from './kafka-console-producer.js'

const run = promisify(execFile)
const PARTITION = { numPartitions: 1, replicationFactor: 1 }

/** @type {import('./kafka.js').KafkaBroker} */
let broker
/** @type {import('kafkajs').Kafka} */
let kafka
/** @type {import('kafkajs').Admin} */
let admin

before(async () => {
  broker = await startKafka()
  kafka = new kafkajs.Kafka({ brokers: [broker.brokers], logLevel: kafkajs.logLevel.NOTHING })
  admin = kafka.admin()
  await admin.connect()
})

after(async () => {
  await admin?.disconnect()
  await broker?.stop()
  assert.equal(existsSync(broker.directory), false)
})

/** @param {string} topic that has a leader then */
async function makeTopic (topic) {
  await admin.createTopics({ topics: [{ topic, ...PARTITION }] })
  // kafkajs's own wait for leaders fails if the broker does not know the topic yet
  await waitFor(async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics.length === 1)
}

/** @param {string} topic @param {number} count @returns {Promise<import('kafkajs').KafkaMessage[]>} */
async function consume (topic, count) {
  const consumer = kafka.consumer({ groupId: `group-${topic}` })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  /** @type {import('kafkajs').KafkaMessage[]} */
  const messages = []
  await new Promise((resolve) => consumer.run({
    eachMessage: async ({ message }) => {
      messages.push(message)
      if (messages.length === count) resolve(undefined)
    }
  }))
  await consumer.disconnect()
  return messages
}

test('the broker creates no topic by itself, and accepts batches of up to 2 MB', async () => {
  const producer = kafka.producer({ retry: { retries: 0 } })
  await producer.connect()
  await assert.rejects(producer.send({ topic: 'typo', messages: [{ value: 'x' }] }), /does not host this topic/)
  await makeTopic('large')
  await producer.send({ topic: 'large', messages: [{ value: Buffer.alloc(2_000_000) }] })
  await assert.rejects(
    producer.send({ topic: 'large', messages: [{ value: Buffer.alloc(2_200_000) }] }),
    /larger than the max message size/
  )
  await producer.disconnect()
})

/** @type {import('./kafka-console-producer.js').JavaRecord[]} */
const RECORDS = [
  {
    key: 'guid',
    headers: { 'x-operator': 'broadcast', 'x-except': 'one,two:three', 'x-guid': 'dökument' },
    value: '{"text":"é → 😀","list":"a,b:c\\t"}'
  },
  { key: null, headers: {}, value: 'neither key nor headers' },
  { key: 'guid', headers: { only: '' }, value: null },
  // enough for compression to matter, and for a single batch to be visible
  ...Array.from({ length: 100 }, (_, index) => ({
    key: 'guid',
    headers: { index: String(index) },
    value: 'value '.repeat(100)
  }))
]

for (const compression of /** @type {const} */ (['none', 'gzip', 'snappy', 'lz4', 'zstd'])) {
  test(`Kafka's own producer sends headers, keys and values in one batch compressed with ${compression}`, async () => {
    const topic = `java-${compression}`
    await makeTopic(topic)
    await produceWithJava({
      classpath: broker.classpath,
      brokers: broker.brokers,
      topic,
      records: RECORDS,
      compression
    })

    const log = join(broker.directory, 'data', `${topic}-0`, '00000000000000000000.log')
    const { stdout } = await run('java', ['-cp', broker.classpath, 'kafka.tools.DumpLogSegments', '--files', log])
    assert.match(stdout, new RegExp(`count: ${RECORDS.length} .*compresscodec: ${compression} `))

    if (compression === 'none' || compression === 'gzip') { // kafkajs has no other codec built in
      const messages = await consume(topic, RECORDS.length)
      assert.deepEqual(messages.map(({ key, value, headers }) => ({
        key: key?.toString() ?? null,
        headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)])),
        value: value?.toString() ?? null
      })), RECORDS)
    } else {
      const { stdout: lines } = await run('java', [
        '-Dfile.encoding=UTF-8',
        '-cp',
        broker.classpath,
        'org.apache.kafka.tools.consumer.ConsoleConsumer',
        '--bootstrap-server',
        broker.brokers,
        '--topic',
        topic,
        '--from-beginning',
        '--max-messages',
        String(RECORDS.length),
        '--formatter-property',
        'print.headers=true',
        '--formatter-property',
        'print.key=true'
      ])
      assert.deepEqual(
        lines.split('\n').slice(0, -1),
        RECORDS.map(({ key, headers = {}, value }) =>
          [
            Object.entries(headers)
              .map((pair) => pair.join(':'))
              .join(',') || 'NO_HEADERS',
            key ?? 'null',
            value ?? 'null'
          ].join('\t')
        )
      )
    }
  })
}

test('records that the Java producer cannot send are an error', async () => {
  await makeTopic('errors')
  const options = { classpath: broker.classpath, brokers: broker.brokers, topic: 'errors' }
  await assert.rejects(produceWithJava({ ...options, records: [{ value: 'two\nlines' }] }), TypeError)
  await assert.rejects(produceWithJava({ ...options, records: [{ value: 'x'.repeat(3_000_000) }] }), /RecordTooLarge/)
})

test('a killed broker restarts with its port and data', async () => {
  await makeTopic('kept')
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: 'kept', messages: [{ key: 'a', value: 'before' }] })
  await producer.disconnect()
  const { pid } = broker
  await broker.kill('SIGKILL')
  await broker.restart()
  assert.notEqual(broker.pid, pid)
  const [message] = await consume('kept', 1)
  assert.equal(String(message.value), 'before')
})
