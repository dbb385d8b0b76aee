import { InkcastError } from '../../../../src/base/common/errors.js'
import { murmur2 } from '../../../helpers/murmur2.js'
import { KafkaError } from './errors.js'

/** Attempts of one `send`, as in kafkajs/topic-producer.js. */
const TRIES = 3
const CLOSE_TIMEOUT = 3000

/**
 * @typedef {import('../../../../src/kafka/contract.js').TopicProducer} TopicProducer
 * @typedef {import('../../../../src/kafka/contract.js').OutgoingMessage} OutgoingMessage
 * @typedef {import('./partition.js').NewRecord} NewRecord
 * @typedef {{ partition: number, offset: number }} Place
 */

/**
 * An idempotent producer of one topic.
 * @implements {TopicProducer}
 */
export class SimProducer {
  /** @type {number | undefined} */
  maxBytes
  /** Sequence number of the next record, by partition. @type {Map<number, number>} */
  #sequences = new Map()
  #isClosed = false
  /** Of the topic, as far as it knows. @type {number | undefined} */
  #partitions
  /** Places of the last batch that was written, by its messages. @type {Place[]} */
  places = []

  /** @param {import('./link.js').Link} link @param {string} topic */
  constructor (link, topic) {
    this.link = link
    this.broker = link.broker
    this.topic = topic
    this.id = this.broker.random.uuid()
  }

  async connect () {
    this.maxBytes = await this.link.retried(
      () => this.link.ask('connect', (reply) => reply(undefined, this.broker.topics.get(this.topic)?.maxBytes)),
      { tries: TRIES }
    )
  }

  /** @param {OutgoingMessage[]} messages */
  async send (messages) {
    try {
      await this.link.retried(() => this.#attempt(messages), { tries: TRIES, isOver: () => this.#isClosed })
      return undefined
    } catch (error) {
      return failureOf(error)
    }
  }

  /** @param {OutgoingMessage[]} messages */
  async #attempt (messages) {
    if (this.#isClosed) throw new KafkaError('CONNECTION')
    const { broker, link, topic } = this
    const count = this.#partitions ??= await link.ask('metadata', (/** @type {import('./link.js').Reply<number>} */ reply) => {
      const found = broker.topics.get(topic)
      reply(found === undefined ? new KafkaError('UNKNOWN_TOPIC_OR_PARTITION') : undefined, found?.partitions.length)
    })
    /** @type {Map<number, { record: NewRecord, index: number }[]>} */
    const batches = new Map()
    messages.forEach((message, index) => {
      const partition = this.#choose(message, count)
      const batch = batches.get(partition)
      const each = { record: recordOf(message, link.process.clock.now()), index }
      if (batch === undefined) batches.set(partition, [each])
      else batch.push(each)
    })
    /** @type {Map<number, [number, { record: NewRecord, index: number }[]][]>} */
    const byNode = new Map()
    for (const each of batches) {
      const node = broker.nodeOf(each[0])
      byNode.set(node, [...byNode.get(node) ?? [], each])
    }
    // each of its leaders may refuse its part
    const results = await Promise.allSettled([...byNode.values()].map((part) =>
      link.ask('produce', (reply) => {
        try {
          reply(undefined, part.map(([partition, batch]) => broker.append(topic, partition, {
            batch: batch.map(({ record }) => record),
            sequence: { producer: this.id, first: this.#sequences.get(partition) ?? 0 }
          })))
        } catch (error) {
          reply(/** @type {KafkaError} */ (error))
        }
      }, { writes: true })))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) {
      if (failed.reason.type === 'UNKNOWN_TOPIC_OR_PARTITION') this.#partitions = undefined
      throw failed.reason
    }
    this.places = []
    const offsets = results.flatMap((result) => result.status === 'fulfilled' ? result.value : [])
    const written = [...byNode.values()].flat()
    written.forEach(([partition, batch], i) => {
      this.#sequences.set(partition, (this.#sequences.get(partition) ?? 0) + batch.length)
      batch.forEach(({ index }, at) => { this.places[index] = { partition, offset: offsets[i] + at } })
    })
  }

  /** @param {OutgoingMessage} message @param {number} count of partitions */
  #choose (message, count) {
    if (message.chosen === undefined || message.chosen >= count)
      message.chosen = message.partition ??
        (message.key === null ? this.broker.random.whole(0, count - 1) : murmur2(message.key) % count)
    return message.chosen
  }

  async close () {
    this.#isClosed = true
    const { link } = this
    return await Promise.race([
      link.ask('close', (reply) => reply(undefined, true)).catch(() => true),
      link.sleep(CLOSE_TIMEOUT).then(() => false)
    ])
  }
}

/** @param {unknown} error @returns {import('../../../../src/kafka/contract.js').SendFailure} */
function failureOf (error) {
  const { type } = /** @type {KafkaError} */ (error)
  if (type === 'MESSAGE_TOO_LARGE') return {
    rejected: true,
    error: new InkcastError('value_too_large', 'the record is larger than its Kafka topic allows', { cause: error })
  }
  return {
    rejected: false,
    outOfSequence: type === 'OUT_OF_ORDER_SEQUENCE_NUMBER',
    error: new InkcastError('unavailable', undefined, { cause: error })
  }
}

/** @param {OutgoingMessage} message @param {number} timestamp @returns {NewRecord} as it is on the way: bytes */
export function recordOf ({ key, value, headers }, timestamp) {
  /** @type {NewRecord['headers']} */
  const encoded = {}
  for (const [name, held] of Object.entries(headers))
    if (held !== undefined) encoded[name] = Array.isArray(held) ? held.map(bytesOf) : bytesOf(held)
  return {
    key: key === null ? null : bytesOf(key),
    value: value === null ? null : bytesOf(value),
    headers: encoded,
    timestamp
  }
}

/** @param {string | Buffer} held */
const bytesOf = (held) => Buffer.from(/** @type {string} */ (held))
