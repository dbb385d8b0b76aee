import { observeRequests } from '../../observe/metrics/kafka-client.js'
import { createAdmin } from './admin.js'
import { createClient } from './client.js'
import { fetchEpochEnd } from './leader-epochs.js'
import { createSubscription } from './subscription.js'
import { fetchTopicId } from './topic-id.js'
import { connectProducer } from './topic-producer.js'

/**
 * The driver for kafkajs. It opens no connection: its subscriptions, producers and requests do.
 *
 * @param {object} dependencies
 * @param {import('./client.js').KafkaSettings} dependencies.settings
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {string} dependencies.name purpose of this client; the brokers show it in their logs and quotas as
 *   `inkcast-<name>`
 * @param {Parameters<typeof observeRequests>[1]} [dependencies.metrics] default: requests are not counted
 * @param {(message: string) => void} [dependencies.onWaits] called with connections that fail, once for each cause
 * @param {import('kafkajs').Kafka} [dependencies.client] default: a new one
 * @returns {import('../contract.js').KafkaDriver}
 */
export function createKafkajs ({ settings, log, clock, name, metrics, onWaits, client }) {
  const kafka = client ?? createClient({ settings, log, clock, name, onWaits })
  if (metrics !== undefined) observeRequests(kafka, metrics)
  return {
    consume: (options, handlers) => createSubscription(kafka, options, handlers, clock),
    produce: (topic) => connectProducer(kafka, topic, clock),
    ...createAdmin(kafka, clock),
    topicId: (topic) => fetchTopicId(kafka, topic, clock),
    epochEnd: (leader) => fetchEpochEnd(kafka, leader, clock)
  }
}
