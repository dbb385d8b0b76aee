import { randomBytes } from 'node:crypto'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { systemClock } from '../../src/base/common/clock.js'
import { loadConfig } from '../../src/config/load.js'
import { DeadLetter } from '../../src/kafka/dead-letter.js'
import { Ingest } from '../../src/ingest/ingest.js'
import { createPublisher } from '../../src/log/publish/publisher.js'
import { createClient } from '../../src/kafka/kafkajs/client.js'
import { createKafkajs } from '../../src/kafka/kafkajs/driver.js'
import { ensureTopics } from '../../src/kafka/topics.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { kafkaBrokers } from './env.js'
import { fileScope } from './file-scope.js'
import { createMemoryMarks } from './memory-marks.js'
import { recordingLog } from './recording-log.js'
import { storeRedis } from './store-redis.js'
import { waitFor } from './wait.js'

const scope = fileScope()

/** @typedef {import('../../src/log/bus/contract.js').PublishEntry} PublishEntry */
/** @typedef {Awaited<ReturnType<typeof testKafka>>} TestKafka */

/**
 * A driver and a kafkajs client with their own topics and consumer group, which are deleted after the test.
 *
 * @param {import('node:test').TestContext} t
 * @param {object} [options]
 * @param {string} [options.brokers] of a broker of the test's own, which needs no cleanup; default: the shared one
 * @param {number} [options.partitions] of each topic, default 4
 * @param {boolean} [options.topics] whether they exist already, default true
 */
export async function testKafka (t, { brokers: ownBroker, partitions = 4, topics = true } = {}) {
  const brokers = ownBroker ?? kafkaBrokers()
  const id = `test.${randomBytes(4).toString('hex')}`
  const config = loadConfig({
    env: {
      KAFKA_BROKERS: brokers,
      REDIS_URL: 'redis://127.0.0.1:1', // required with Kafka; not used here
      KAFKA_GROUP_ID: `${id}.group`,
      KAFKA_TOPICS: `downlink:${id}.downlink,uplink:${id}.uplink,dead-letter:${id}.dead-letter`,
      KAFKA_TOPIC_PARTITIONS: String(partitions)
    }
  })
  const { log, lines } = recordingLog()
  // without brokers kafkajs ends its background retries once a test's own broker has stopped
  const servers = [...config.kafka.brokers]
  const settings = { ...config.kafka, brokers: servers }
  const client = createClient({ settings, log, name: 'test', clock: systemClock })
  const kafka = createKafkajs({ settings, log, name: 'test', client, clock: systemClock })
  const { groupId, topics: { downlink: downlinkTopic, uplink: uplinkTopic, deadLetter: deadLetterTopic } } =
    config.kafka
  const all = [downlinkTopic, uplinkTopic, deadLetterTopic]
  if (topics) await ensureTopics({
    kafka, topics: all, settings: config.kafka, log, clock: systemClock, random: systemRandom
  })
  /** @type {(() => unknown)[]} */
  const ends = [() => { servers.length = 0 }]
  if (ownBroker === undefined) {
    ends.push(async () => {
      const admin = client.admin({ retry: { retries: 0 } }) // kafkajs would retry deletions of missing topics
      await admin.connect()
      await admin.deleteGroups([groupId]).catch(() => {})
      for (const topic of all) await admin.deleteTopics({ topics: [topic] }).catch(() => {})
      await admin.disconnect()
    })
  }
  t.after(async () => { for (const end of ends.reverse()) await end() })

  return {
    kafka, client, config, settings, log, lines, downlinkTopic, uplinkTopic, deadLetterTopic, groupId,

    /** @param {() => unknown} end run after the test, before earlier ones */
    onEnd (end) { ends.push(end) },

    /** @param {import('kafkajs').Message[]} messages @param {string} [topic] default: the downlink */
    async produce (messages, topic = downlinkTopic) {
      // kafkajs repeats a request for all partitions if a new topic has no leader for one of them yet
      const producer = client.producer({ allowAutoTopicCreation: false, idempotent: true, maxInFlightRequests: 1 })
      try {
        await producer.connect()
        await producer.send({ topic, messages })
      } finally {
        await producer.disconnect()
      }
    },

    /**
     * @param {string} topic
     * @param {number} count
     * @param {(record: Received) => string} [same] what makes records one, the first; default: its place
     * @returns {Promise<Received[]>} the topic's records once there are at least `count`, per partition in the order of
     *   their offsets
     */
    async readAll (topic, count, same = placeOf) {
      /** A reader that is starved of CPU is removed from its group and begins again. @type {Map<string, Received>} */
      const received = new Map()
      const consumer = client.consumer({
        groupId: `${id}.reader-${randomBytes(4).toString('hex')}`,
        allowAutoTopicCreation: false,
        maxWaitTimeInMs: 100
      })
      try {
        await consumer.connect()
        await consumer.subscribe({ topics: [topic], fromBeginning: true })
        await consumer.run({
          autoCommit: false,
          eachMessage: async ({ partition, message: { key, value, offset, headers } }) => {
            const record = {
              partition,
              offset: Number(offset),
              key: key === null ? null : String(key),
              value: value === null ? null : Buffer.from(value),
              headers: textOf(headers)
            }
            if (!received.has(same(record))) received.set(same(record), record)
          }
        })
        await waitFor(() => received.size >= count, {
          timeout: 20_000,
          message: () => `${count} records in ${topic}, there are ${received.size}`
        })
        return [...received.values()]
      } finally {
        await consumer.disconnect()
      }
    },

    /** @param {number} count @returns {Promise<Received[]>} dead letters, the first one of each record */
    readLetters (count) {
      return this.readAll(deadLetterTopic, count, ({ headers }) => `${headers['x-partition']}/${headers['x-offset']}`)
    }
  }
}

/**
 * @typedef {{ partition: number, offset: number, key: string | null, value: Buffer | null, headers: Record<string,
 *   string> }} Received
 */

/** @param {Received} record */
const placeOf = ({ partition, offset }) => `${partition}/${offset}`

/** @param {import('kafkajs').IHeaders} [headers] */
const textOf = (headers = {}) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(String).join('|') : String(value)
    ])
  )

async function openBus () {
  const { redis } = await storeRedis(scope)
  const bus = createRedisBus({
    redis,
    log: recordingLog().log,
    metrics: createMetrics({ processMetrics: false }),
    clock: systemClock,
    random: systemRandom
  })
  await bus.start()
  scope.after(() => bus.stop())
  return bus
}

/**
 * A bus over a store of its own that records publications and can be made to fail.
 */
export function recordingBus () {
  const opening = openBus()
  const bus = {
    /** @type {PublishEntry[]} publications without duplicates */
    published: [],
    duplicates: 0,
    calls: 0,
    /** @type {(entries: PublishEntry[], call: number) => void | Promise<void>} throws instead of publishing */
    before: () => {},
    /**
     * @type {(entries: PublishEntry[], call: number) => void | Promise<void>} throws after publishing: the outcome is
     *   unknown
     */
    after: () => {},

    /** @param {PublishEntry[]} entries */
    async publish (entries) {
      const call = ++bus.calls
      await bus.before(entries, call)
      const results = await (await opening).publish(entries)
      results.forEach(({ duplicate }, index) => {
        if (duplicate) bus.duplicates++
        else bus.published.push(entries[index])
      })
      await bus.after(entries, call)
      return results
    },

    /** @returns {Map<string, string[]>} values by document, as text */
    byDocument () {
      /** @type {Map<string, string[]>} */
      const documents = new Map()
      for (const { publication } of bus.published) {
        const guid = publication.guid ?? publication.operator
        documents.set(guid, [...documents.get(guid) ?? [], publication.value.toString()])
      }
      return documents
    }
  }
  return bus
}

const UNWATCHED = { cycle: 1e9, wedged: 1e9 }

/** Within this process. @returns {import('../../src/ingest/redis-echo.js').Echo} */
function localEcho () {
  /** @type {(text: string) => void} */
  let tell = () => {}
  const id = randomBytes(6).toString('hex')
  return {
    id,
    start (onEcho) { tell = onEcho },
    async send (to, text) { if (to === id) setImmediate(tell, text) },
    stop () { tell = () => {} }
  }
}

/**
 * Ingest over a recording bus; resolves when it is ready. Stopped after the test.
 *
 * @param {TestKafka} kafka
 * @param {object} [options]
 * @param {ReturnType<typeof recordingBus>} [options.bus]
 * @param {boolean} [options.ready] wait until it is ready, default true
 * @param {import('../../src/ingest/ingest.js').Parts['markStore']} [options.markStore] default: an empty one
 * @param {import('../../src/ingest/ingest.js').Parts['times']} [options.times] of the watchdog; default: without
 *   canaries, which would take up offsets
 */
export async function startIngest (
  { kafka, config, log, onEnd },
  { bus = recordingBus(), ready = true, markStore = createMemoryMarks(), times = UNWATCHED } = {}
) {
  const metrics = createMetrics({ processMetrics: false })
  const deadLetter = new DeadLetter({
    kafka, topic: config.kafka.topics.deadLetter, log, clock: systemClock, random: systemRandom
  })
  const ingest = new Ingest({ log, metrics, clock: systemClock, random: systemRandom }, {
    kafka, markStore, deadLetter,
    echo: localEcho(),
    publisher: createPublisher({ bus, limits: config.limits, metrics, clock: systemClock }),
    settings: config,
    times
  })
  const stop = async () => {
    await ingest.stop()
    await deadLetter.stop()
  }
  onEnd(stop)
  await ingest.start()
  if (ready) await waitFor(() => ingest.status().ready, { timeout: 20_000, message: () => ingest.status() })
  return {
    ingest, bus, metrics, stop,

    /** @param {number} count resolves when this many records were published: one without a log may be so twice */
    published: (count, timeout = 20_000) => {
      const records = () => new Set(bus.published.map(({ origin }) => JSON.stringify(origin))).size
      return waitFor(() => records() >= count, {
        timeout,
        message: () => `${count} published, there are ${records()}; ${JSON.stringify(ingest.status())}`
      })
    },

    /**
     * Only results `ok` of records with a log are exact: an ingest that is starved of CPU for longer than the session
     * timeout of its group (10 s) reads again what it has read and not committed.
     * @returns {Promise<Record<string, number>>} records by `operator result`
     */
    async counted () {
      const { values } = await metrics.records.get()
      return Object.fromEntries(values.map(({ labels, value }) => [`${labels.operator} ${labels.result}`, value]))
    }
  }
}

/**
 * @param {string} guid
 * @param {unknown} value
 * @param {Record<string, string | Buffer>} [headers]
 * @returns {import('kafkajs').Message} a broadcast
 */
export const broadcast = (guid, value, headers = {}) => ({
  key: guid,
  value: JSON.stringify(value),
  headers: { 'x-operator': 'broadcast', 'x-guid': guid, ...headers }
})
