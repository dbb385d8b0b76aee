import { systemClock as clock } from '../../../base/common/clock.js'
import { within } from '../../../base/common/wait.js'
import { createKafkajs } from '../../../kafka/kafkajs/driver.js'
import { findingsOf } from './finding.js'

/** ms */
const TIMEOUT = 8000

const { ok, error } = findingsOf('kafka')

/**
 * @param {import('../../../config/load.js').Config} config
 * @param {import('../../../base/common/log.js').Log} log
 * @returns {Promise<import('./finding.js').Finding[]>}
 */
export async function checkKafka ({ kafka: settings }, log) {
  if (settings.brokers.length === 0) return []
  /** @type {Set<string>} */
  const causes = new Set()
  const kafka = createKafkajs({
    settings, log, clock, name: 'check', onWaits: (message) => causes.add(message.replace(/; trying again$/, ''))
  })
  const topics = Object.values(settings.topics)
  try {
    const asked = kafka.ensureTopics({ topics, partitions: 0, maxMessageBytes: 0 })
    const answer = await within(asked, TIMEOUT, undefined, clock)
    if (answer === undefined) throw new Error(`no answer within ${TIMEOUT / 1000} s`)
    const { missing } = answer
    if (missing.length > 0 && settings.partitions === 0) {
      return [error(
        `Kafka has no topic ${missing.join(', ')}, and KAFKA_TOPIC_PARTITIONS=0 forbids to create it`,
        `create it (kafka-topics.sh --create --topic ${missing[0]}), or set KAFKA_TOPIC_PARTITIONS`
      )]
    }
    return [ok(missing.length > 0
      ? `reachable; ${missing.join(', ')} will be created at the start`
      : `reachable; topics ${topics.join(', ')}`)]
  } catch (wrong) {
    const reasons = causes.size > 0
      ? [...causes]
      : [`Kafka cannot be used at ${settings.brokers.join(', ')} (KAFKA_BROKERS): ${/** @type {Error} */ (wrong).message}`]
    return reasons.map((reason) => error(
      reason,
      'start Kafka, or correct KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_…; brokers must advertise an address that this machine reaches'
    ))
  }
}
