import { InkcastError } from '../common/errors.js'

/**
 * Why a batch was not written.
 * @typedef {object} Failure
 * @property {InkcastError} error its cause is what kafkajs said
 * @property {boolean} rejected it will never be accepted as it is; otherwise it may be, and may even have been written
 * @property {boolean} [outOfSequence] the broker has lost count of this producer: only a new one can go on
 */

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
 * @param {import('kafkajs').Producer} producer
 * @param {string} topic
 * @param {import('kafkajs').Message[]} messages
 * @returns {Promise<Failure | undefined>} undefined: all in-sync replicas have it
 */
export async function sendBatch (producer, topic, messages) {
  try {
    await producer.send({ topic, acks: -1, messages })
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
 * kafkajs wraps what the broker said once per layer.
 * @param {unknown} error
 * @returns {string} the broker's error code, '' if it was none
 */
export function typeOf (error) {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { type } = /** @type {Error & { type?: string }} */ (inner)
    if (type !== undefined) return type
  }
  return ''
}
