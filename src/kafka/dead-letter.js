import { Backoff, retry } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { unlessAborted } from '../base/common/wait.js'
import { Producer } from './producer.js'
import { HEADER } from '../wire/headers.js'

/**
 * @typedef {object} Letter
 * @property {string} topic
 * @property {number} partition
 * @property {import('./contract.js').KafkaRecord} message
 * @property {string} reason why it cannot be delivered: a code
 * @property {string} [detail] the same in a sentence, without anything of the value
 */

/** Characters of a sentence. */
const MAX_DETAIL = 1000

/** Writes records that cannot be delivered to the dead-letter topic, unchanged, with the reason and their origin. */
export class DeadLetter {
  #services
  #producer

  /**
   * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock' | 'random'> &
   *   { kafka: Pick<import('./contract.js').KafkaDriver, 'produce'>, topic: string }} dependencies
   */
  constructor ({ kafka, topic, log, clock, random }) {
    this.#services = { log, clock, random }
    this.#producer = new Producer({ kafka, topic, log, clock, random })
  }

  stop () { return this.#producer.stop() }

  /**
   * One attempt, truncated if the record is too large for the topic.
   * @param {Letter} letter
   * @returns {Promise<void>} rejects as `send` of src/kafka/producer.js
   */
  async write (letter) {
    try {
      await this.#producer.send(deadLetterRecord(letter, false))
    } catch (error) {
      if (!(error instanceof InkcastError) || error.code !== 'value_too_large') throw error
      this.#services.log.warn(
        { topic: letter.topic, partition: letter.partition, offset: letter.message.offset, reason: letter.reason },
        'a record is too large for the dead-letter topic: only its reason and origin are kept there'
      )
      await this.#producer.send(deadLetterRecord(letter, true))
    }
  }

  /**
   * Retries until it is written.
   * @param {Letter} letter
   * @param {AbortSignal} signal
   * @returns {Promise<void>} rejects with the signal's reason only
   */
  async send (letter, signal) {
    const { clock, random } = this.#services
    // the wait ends with the signal; a request in progress may still be written, and then the record is there twice
    await retry(() => unlessAborted(this.write(letter), signal), {
      signal, clock, backoff: new Backoff({ min: 100, max: 5000, random })
    })
  }
}

/**
 * Exported for tests: the format.
 * @param {Letter} letter
 * @param {boolean} truncated without key, value and the producer's headers
 * @returns {import('./producer.js').ProducerRecord}
 */
export function deadLetterRecord ({ topic, partition, message, reason, detail }, truncated) {
  /** @type {import('./contract.js').Headers} */
  const headers = {}
  if (!truncated) {
    for (const [name, value] of Object.entries(message.headers ?? {})) {
      const values = (Array.isArray(value) ? value : [value]).filter(
        (one) => Buffer.isBuffer(one) || typeof one === 'string'
      )
      if (values.length > 0) headers[name] = values.length === 1 ? values[0] : values
    }
  }
  headers[HEADER.reason] = reason
  if (detail === undefined) delete headers[HEADER.detail]
  else headers[HEADER.detail] = detail.slice(0, MAX_DETAIL)
  headers[HEADER.topic] = topic
  headers[HEADER.partition] = String(partition)
  const unreadable = message.unreadable
  headers[HEADER.offset] = unreadable?.firstOffset ?? message.offset
  if (unreadable !== undefined) headers[HEADER.batchRecords] = String(unreadable.records)
  if (truncated) headers[HEADER.truncated] = 'true'
  return { key: truncated ? null : message.key, value: truncated ? null : message.value, headers }
}
