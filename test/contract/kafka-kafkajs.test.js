import { systemClock } from '../../src/base/common/clock.js'
import { createKafkajs } from '../../src/kafka/kafkajs/driver.js'
import { kafkaContract } from './kafka.js'

kafkaContract('kafkajs', ({ settings, log }) =>
  createKafkajs({ settings: /** @type {any} */ ({ ssl: false, ...settings }), log, name: 'contract', clock: systemClock }))
