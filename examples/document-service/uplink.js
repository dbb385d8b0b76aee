import { decode as decodeMsgpack } from '@msgpack/msgpack'
import kafkajs from 'kafkajs'

/** Partitions processed at the same time: a slow document delays only those of its partition. */
const CONCURRENCY = 4
/** Interval of heartbeats while a batch is processed, ms. */
const HEARTBEAT = 2000
/** Time without a heartbeat after which Kafka reassigns a member's partitions, ms: the delay after a crash. */
const SESSION_TIMEOUT = 10_000

/**
 * Reads the messages of clients: docs/kafka.md, "Uplink headers". A record's offset is committed when `receive` has
 * resolved for it, so some records are delivered again after a crash.
 *
 * @param {object} dependencies
 * @param {string[]} dependencies.brokers
 * @param {string} dependencies.topic
 * @param {string} dependencies.groupId
 * @param {(messages: import('./service.js').UplinkMessage[]) => Promise<void>} dependencies.receive
 * @param {import('./inkcast.js').Log} dependencies.log
 */
export function createUplink ({ brokers, topic, groupId, receive, log }) {
  // retry without end: this service can do nothing without Kafka
  const kafka = new kafkajs.Kafka({
    clientId: 'document-service',
    brokers,
    retry: { retries: Number.MAX_SAFE_INTEGER, maxRetryTime: 5000 },
    logLevel: kafkajs.logLevel.ERROR,
    logCreator:
      () =>
        ({ log: entry }) =>
          log.error(`Kafka: ${[entry.message, entry.error].filter((text) => text !== undefined).join(': ')}`)
  })
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT,
    heartbeatInterval: HEARTBEAT,
    maxWaitTimeInMs: 1000
  })

  return {
    /** @returns {Promise<void>} resolves when it has partitions to read */
    async start () {
      const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve))
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        partitionsConsumedConcurrently: CONCURRENCY,
        eachBatch: async ({ batch, heartbeat }) => {
          const beating = setInterval(() => heartbeat().catch(() => {}), HEARTBEAT)
          try {
            await receive(batch.messages.flatMap((message) => toMessage(message, `${batch.topic}/${batch.partition}`)))
          } finally {
            clearInterval(beating)
          }
        }
      })
      await joined
    },
    stop: () => consumer.disconnect()
  }
}

/**
 * @param {import('kafkajs').KafkaMessage} message
 * @param {string} source
 * @returns {import('./service.js').UplinkMessage[]} empty if it is not a client's message about a document
 */
function toMessage ({ headers = {}, value, offset }, source) {
  const header = (/** @type {string} */ name) => headers[name]?.toString()
  const guid = header('x-guid')
  const queue = header('x-queue')
  if (header('x-operator') !== 'message' || guid === undefined || value === null) return []
  return [
    {
      guid,
      event: header('x-event') ?? 'message',
      uid: header('x-uid') ?? '',
      sid: header('x-sid') ?? '',
      traceId: header('x-trace-id') ?? '',
      timestamp: Number(header('x-timestamp')),
      value,
      decode:
        header('content-type') === 'application/msgpack'
          ? decodeMsgpack
          : (bytes) => JSON.parse(Buffer.from(bytes).toString()),
      origin: { source, sequence: Number(offset) },
      ...(queue !== undefined && { queued: { source: `queue ${queue}`, sequence: Number(header('x-seq')) } })
    }
  ]
}
