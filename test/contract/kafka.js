import { describe } from 'node:test'
import { kafkaConsumeContract } from './kafka-consume.js'
import { kafkaProduceContract } from './kafka-produce.js'
import { kafkaTopicsContract } from './kafka-topics.js'

/**
 * The contract of every driver for Kafka (src/kafka/contract.js), with a real broker.
 *
 * @param {string} name
 * @param {(kafka: { settings: { brokers: string[] }, log: import('../../src/common/log.js').Log }) =>
 *   import('../../src/kafka/contract.js').KafkaDriver} createDriver
 */
export function kafkaContract (name, createDriver) {
  describe(`Kafka driver: ${name}`, () => {
    kafkaTopicsContract(createDriver)
    kafkaProduceContract(createDriver)
    kafkaConsumeContract(createDriver)
  })
}

/** @typedef {Parameters<typeof kafkaContract>[1]} CreateDriver */
