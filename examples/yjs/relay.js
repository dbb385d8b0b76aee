import kafkajs from 'kafkajs'
import { setTimeout as delay } from 'node:timers/promises'

/** Partitions processed at the same time. */
const CONCURRENCY = 4
/** Interval of heartbeats while a batch is processed, ms. */
const HEARTBEAT = 2000
/** Delay between retries, ms: grows from the first to the second. */
const PAUSE = { min: 100, max: 5000 }
/** Records that pages send. */
const EVENT = 'yjs'

/**
 * With Kafka, what pages send goes to the business services. This one publishes Yjs updates to the document as they
 * are: the place to check them, in your product. It stores nothing: a record is committed when it is published, and
 * published under its place in Kafka as key, so that a repetition publishes nothing.
 *
 * @param {object} dependencies
 * @param {string[]} dependencies.brokers
 * @param {string} dependencies.topic
 * @param {string} dependencies.groupId
 * @param {ReturnType<typeof import('./inkcast.js').createInkcast>['publish']} dependencies.publish
 * @param {(guid: string) => void} dependencies.onRecord
 * @param {AbortSignal} dependencies.signal
 * @param {import('./inkcast.js').Log} dependencies.log
 */
export function createRelay ({ brokers, topic, groupId, publish, onRecord, signal, log }) {
  const kafka = new kafkajs.Kafka({
    clientId: 'yjs-service',
    brokers,
    // without Kafka this service can do nothing
    retry: { retries: Number.MAX_SAFE_INTEGER, maxRetryTime: 5000 },
    logLevel: kafkajs.logLevel.ERROR,
    logCreator: () => ({ log: entry }) => log.error(`Kafka: ${entry.message}`)
  })
  const consumer = kafka.consumer({
    groupId, sessionTimeout: 10_000, heartbeatInterval: HEARTBEAT, maxWaitTimeInMs: 1000
  })

  /** @param {import('kafkajs').KafkaMessage} message @param {string} source topic and partition */
  async function relay ({ headers = {}, value, offset }, source) {
    const header = (/** @type {string} */ name) => headers[name]?.toString()
    const guid = header('x-guid')
    if (header('x-operator') !== 'message' || header('x-event') !== EVENT || guid === undefined || value === null) return
    const record = { event: EVENT, value, contentType: header('content-type'), key: `"${source}/${offset}"` }
    for (let pause = PAUSE.min; ; pause = Math.min(2 * pause, PAUSE.max)) {
      try {
        await publish(guid, record)
        return onRecord(guid)
      } catch (error) {
        signal.throwIfAborted()
        const { message: text, retryable = true } = /** @type {import('./inkcast.js').ApiError} */ (error)
        log.error(`${guid}: ${text}${retryable ? '; trying again' : '; the record is dropped'}`)
        if (!retryable) return
        await delay(pause, undefined, { signal })
      }
    }
  }

  return {
    /** @returns {Promise<void>} resolves when it has partitions to read */
    async start () {
      const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve))
      await consumer.connect()
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        partitionsConsumedConcurrently: CONCURRENCY,
        eachBatch: async ({ batch, heartbeat, resolveOffset }) => {
          const beating = setInterval(() => heartbeat().catch(() => {}), HEARTBEAT)
          try {
            for (const message of batch.messages) {
              await relay(message, `${batch.topic}/${batch.partition}`)
              resolveOffset(message.offset)
            }
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
