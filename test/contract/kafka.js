import { describe } from 'node:test'
import { testKafka } from '../helpers/kafka-ingest.js'
import { kafkaConsumeContract } from './kafka-consume.js'
import { kafkaProduceContract } from './kafka-produce.js'
import { kafkaTopicsContract } from './kafka-topics.js'

/**
 * The contract of every driver for Kafka (src/kafka/contract.js).
 *
 * @param {string} name
 * @param {CreateDriver} createDriver
 * @param {OpenKafka} [openKafka] default: a real broker
 */
export function kafkaContract (name, createDriver, openKafka = testKafka) {
  describe(`Kafka driver: ${name}`, () => {
    kafkaTopicsContract(createDriver, openKafka)
    kafkaProduceContract(createDriver, openKafka)
    kafkaConsumeContract(createDriver, openKafka)
  })
}

/**
 * @typedef {(kafka: { settings: { brokers: string[] }, log: import('../../src/base/common/log.js').Log }) =>
 *   import('../../src/kafka/contract.js').KafkaDriver} CreateDriver
 * @typedef {(t: import('node:test').TestContext, options: { partitions?: number, topics?: boolean }) =>
 *   Promise<import('../helpers/kafka-ingest.js').TestKafka>} OpenKafka
 */
