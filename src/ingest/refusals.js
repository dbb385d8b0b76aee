import { headersOf } from '../kafka/record.js'
import { happened } from '../observe/metrics/points.js'
import { HEADER, headerText } from '../wire/headers.js'

/** Sends records that can never be published to the dead-letter topic, and reports them. */
export class Refusals {
  #dependencies

  /**
   * @param {object} dependencies
   * @param {Pick<import('../kafka/dead-letter.js').DeadLetter, 'send'>} dependencies.deadLetter
   * @param {Pick<import('../log/publish/publisher.js').Publisher, 'refused'>} dependencies.publisher
   * @param {Pick<import('./producer-mistakes.js').ProducerMistakes, 'refused'>} dependencies.mistakes
   * @param {import('../base/common/log.js').Log} dependencies.log
   * @param {object} dependencies.metrics of this process, for observers
   */
  constructor (dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * @param {{ topic: string, partition: number, message: import('../kafka/contract.js').KafkaRecord }} record
   * @param {import('../base/common/errors.js').InkcastError} error
   * @param {AbortSignal} signal
   * @returns {Promise<void>} resolves when the dead-letter topic has it
   */
  async refuse ({ topic, partition, message }, error, signal) {
    const { deadLetter, publisher, mistakes, log, metrics } = this.#dependencies
    const place = { topic, partition, offset: message.offset }
    if (error.cause !== undefined)
      log.error({ err: error.cause, ...place }, `${error.message}: the record goes to the dead-letter topic`)
    else mistakes.refused(error, place)
    await deadLetter.send({ topic, partition, message, reason: error.code, detail: error.message }, signal)
    publisher.refused(String(message.headers?.[HEADER.operator]), error)
    if (!happened.hasSubscribers) return
    const headers = headersOf(message)
    const get = (/** @type {string} */ name) => {
      try {
        return headerText(headers, name)
      } catch {
        return undefined
      }
    }
    const subject = { guid: get(HEADER.guid), uid: get(HEADER.uid), traceId: get(HEADER.traceId) }
    const details = { ...place, offset: Number(message.offset) }
    happened.publish({ by: metrics, hop: 'dead_letter', event: { ...subject, reason: error.code, details } })
  }
}
