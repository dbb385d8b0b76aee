import { headersFromPublication } from '../wire/headers.js'
import { Producer } from './producer.js'

/**
 * Writes the api's publications to the downlink topic.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'produce'>} dependencies.kafka
 * @param {string} dependencies.topic
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 * @param {Partial<typeof import('./producer.js').LIMITS>} [dependencies.limits]
 */
export function createKafkaDownlink ({ kafka, topic, log, clock, random, limits }) {
  const producer = new Producer({ kafka, topic, log, clock, random, limits })
  return {
    start: () => producer.start(),
    stop: () => producer.stop(),

    /**
     * @param {import('../wire/publication.js').Publication} publication checked (`checkPublication`)
     * @returns {Promise<void>} resolves when all in-sync replicas have it. Rejects with `unavailable` if it was not
     *   written, with `timeout` if that is unknown (both within 10 s), with `value_too_large` if the topic refuses it
     */
    publish: (publication) =>
      producer.send({ key: keyOf(publication), value: publication.value, headers: headersFromPublication(publication) })
  }
}

/**
 * Records with the same key are in one partition and keep their order.
 * @param {import('../wire/publication.js').Publication} publication
 * @returns {string}
 */
const keyOf = ({ operator, guid, uid, sid }) => operator === 'everyone' ? '*' : guid ?? uid ?? sid ?? '*'
