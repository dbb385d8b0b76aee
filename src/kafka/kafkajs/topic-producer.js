import { createRequire } from 'node:module'
import { Backoff, retry } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { unlessAborted, withTimeLimit } from '../../base/common/wait.js'
import { BrokerCalls } from './broker-calls.js'
import { closeQuietly } from './close.js'

const require = createRequire(import.meta.url)
const { ConfigResourceTypes } = require('kafkajs')

const MAX_MESSAGE_BYTES = 'max.message.bytes'
/** Maximum wait for the topic's setting, in parallel to the connection, ms. */
const SETTING_TIMEOUT = 2000
const CLOSE_TIMEOUT = 3000
/** How often records are distributed again because leaders have changed, before the batch has failed. */
const MAX_SPREAD = 5
const ADMIN_CLOSE_TIMEOUT = 1000

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])
const INVALID = new Set(['INVALID_RECORD', 'CORRUPT_MESSAGE', 'INVALID_TIMESTAMP'])
const OUT_OF_SEQUENCE = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
  'PRODUCER_FENCED',
  'DUPLICATE_SEQUENCE_NUMBER'
])

/**
 * @param {import('kafkajs').Kafka} kafka
 * @param {string} topic
 * @param {import('../../base/common/clock.js').Clock} clock
 * @returns {Promise<import('../contract.js').TopicProducer>}
 */
export async function connectProducer (kafka, topic, clock) {
  const calls = new BrokerCalls(topic)
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: calls.createPartitioner,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 2 }
  })
  const close = () => closeQuietly(producer, CLOSE_TIMEOUT, clock)
  try {
    const setting = withTimeLimit(
      SETTING_TIMEOUT, undefined, (signal) => fetchMaxBytes(kafka, topic, clock, signal), clock
    ).catch(() => undefined)
    const [maxBytes] = await Promise.all([setting, producer.connect()])
    return { maxBytes, send: (messages) => send(producer, topic, calls, messages), close }
  } catch (error) {
    close()
    throw error
  }
}

/**
 * @param {import('kafkajs').Producer} producer
 * @param {string} topic
 * @param {BrokerCalls} calls
 * @param {import('../contract.js').OutgoingMessage[]} messages
 * @returns {Promise<import('../contract.js').SendFailure | undefined>}
 */
async function send (producer, topic, calls, messages) {
  for (let left = MAX_SPREAD; ; left--) {
    const attempted = calls.of(messages.filter(({ written }) => !written))
    const results = await Promise.all(attempted.map((call) => sendTo(producer, topic, call)))
    const failures = results.filter((result) => result !== undefined)
    if (left > 0 && attempted.some(({ isSpread }) => isSpread)) continue
    // until the whole batch is written: then it may be sent once more
    if (failures.length === 0) for (const message of messages) message.written = false
    return failures.find(({ rejected }) => rejected) ?? failures[0]
  }
}

/**
 * @param {import('kafkajs').Producer} producer
 * @param {string} topic
 * @param {import('./broker-calls.js').BrokerCall} call
 * @returns {Promise<import('../contract.js').SendFailure | undefined>}
 */
async function sendTo (producer, topic, { messages }) {
  try {
    await producer.send({ topic, acks: -1, messages })
    for (const message of messages) message.written = true
    return undefined
  } catch (error) {
    const type = typeOf(error)
    if (TOO_LARGE.has(type))
      return {
        rejected: true,
        error: new InkcastError('value_too_large', 'the record is larger than its Kafka topic allows', { cause: error })
      }
    if (INVALID.has(type))
      return {
        rejected: true,
        error: new InkcastError('bad_request', `Kafka refuses the record: ${type}`, { cause: error })
      }
    return {
      rejected: false,
      outOfSequence: OUT_OF_SEQUENCE.has(type),
      error: new InkcastError('unavailable', undefined, { cause: error })
    }
  }
}

/**
 * kafkajs wraps the broker's error once per layer.
 * @param {unknown} error
 * @returns {string} the broker's error code, '' if it was none
 */
function typeOf (error) {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { type } = /** @type {Error & { type?: string }} */ (inner)
    if (type !== undefined) return type
  }
  return ''
}

/**
 * @param {import('kafkajs').Kafka} kafka
 * @param {string} topic
 * @param {import('../../base/common/clock.js').Clock} clock
 * @param {AbortSignal} signal ends the tries
 * @returns {Promise<number | undefined>}
 */
async function fetchMaxBytes (kafka, topic, clock, signal) {
  const admin = kafka.admin({ retry: { retries: 0 } })
  try {
    await unlessAborted(admin.connect(), signal)
    return await retry(() => unlessAborted(describeMaxBytes(admin, topic), signal), {
      // a busy broker may not know a topic yet that was just created; kafkajs does not try again
      retryable: (error) => typeOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION',
      // nothing is spread: each producer has its own topic, and the tries are few
      backoff: new Backoff({ max: 500, random: { number: () => 1 } }),
      signal,
      clock
    })
  } finally {
    closeQuietly(admin, ADMIN_CLOSE_TIMEOUT, clock)
  }
}

/**
 * @param {import('kafkajs').Admin} admin
 * @param {string} topic
 * @returns {Promise<number | undefined>}
 */
async function describeMaxBytes (admin, topic) {
  const {
    resources: [{ configEntries }]
  } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: [MAX_MESSAGE_BYTES] }]
  })
  const bytes = Number(configEntries.find(({ configName }) => configName === MAX_MESSAGE_BYTES)?.configValue)
  return bytes > 0 ? bytes : undefined
}
