import { decode as decodeMsgpack } from '@msgpack/msgpack'
import kafkajs from 'kafkajs'

/** Partitions that are worked on at the same time: one slow document holds up those of its partition only. */
const CONCURRENCY = 4
/** Pause between two heartbeats while a batch is worked on, ms. */
const HEARTBEAT = 2000
/**
 * Without a heartbeat for so long, Kafka gives the partitions of a member to others: so long a crash keeps its
 * documents waiting, ms.
 */
const SESSION_TIMEOUT = 10_000

/**
 * Reads what clients send: docs/kafka.md, "Uplink headers". A record's offset is committed when `receive` has resolved
 * for it, so after a crash some come again.
 *
 * @param {object} dependencies
 * @param {string[]} dependencies.brokers
 * @param {string} dependencies.topic
 * @param {string} dependencies.groupId
 * @param {(messages: import('./service.js').UplinkMessage[]) => Promise<void>} dependencies.receive
 * @param {import('./inkcast.js').Log} dependencies.log
 */
export function createUplink ({ brokers, topic, groupId, receive, log }) {
  // without end: a broker that is away comes back, and there is nothing else to do here
  const kafka = new kafkajs.Kafka({
    clientId: 'document-service',
    brokers,
    retry: { retries: Number.MAX_SAFE_INTEGER, maxRetryTime: 5000 },
    logLevel: kafkajs.logLevel.ERROR,
    logCreator:
      () =>
        ({ log: entry }) =>
          log.error(`Kafka: ${entry.message}`)
  })
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT,
    heartbeatInterval: HEARTBEAT,
    maxWaitTimeInMs: 1000
  })

  return {
    /** @returns {Promise<void>} when it has partitions to read */
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
 * @returns {import('./service.js').UplinkMessage[]} empty for what is no message of a client about a document
 */
function toMessage ({ headers = {}, value, offset }, source) {
  const header = (/** @type {string} */ name) => headers[name]?.toString()
  const guid = header('x-guid')
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
      origin: { source, sequence: Number(offset) }
    }
  ]
}
