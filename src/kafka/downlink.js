import { headersFromPublication } from '../wire/headers.js'
import { createProducer } from './producer.js'

/**
 * Writes publications to the downlink topic: what the api does with what it is asked to publish.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'produce'>} dependencies.kafka
 * @param {string} dependencies.topic
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 * @param {Partial<typeof import('./producer.js').LIMITS>} [dependencies.limits]
 */
export function createKafkaDownlink ({ kafka, topic, log, clock, limits }) {
  const producer = createProducer({ kafka, topic, log, clock, limits })
  return {
    start: () => producer.start(),
    stop: () => producer.stop(),

    /**
     * @param {import('../wire/publication.js').Publication} publication checked (`checkPublication`)
     * @returns {Promise<void>} resolves when all in-sync replicas have it. Rejects with `unavailable` when it was not
     *   written, with `timeout` when that is not known (both within 10 s), with `value_too_large` when the topic does
     *   not take it
     */
    publish: (publication) =>
      producer.send({ key: keyOf(publication), value: publication.value, headers: headersFromPublication(publication) })
  }
}

/**
 * What has one key lies in one partition and keeps its order.
 * @param {import('../wire/publication.js').Publication} publication
 * @returns {string}
 */
const keyOf = ({ operator, guid, uid, sid }) => operator === 'everyone' ? '*' : guid ?? uid ?? sid ?? '*'
