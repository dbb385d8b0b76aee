import kafkajs from 'kafkajs'
import { registerCodecs } from './codecs.js'
import { patchFetch } from './fetch-patch.js'
import { patchRequestQueue } from './request-queue-patch.js'

/** @typedef {import('kafkajs').Kafka} Kafka */
/** @typedef {import('../config/load.js').Config['kafka']} KafkaSettings */

/** How long a broker may take to answer one request, ms; longer than any pause of a healthy one. */
const REQUEST_TIMEOUT = 8000

/**
 * The Kafka client of a process. It opens no connection: its producers and consumers do.
 *
 * @param {object} dependencies
 * @param {KafkaSettings} dependencies.settings
 * @param {import('../log.js').Log} dependencies.log
 * @param {string} dependencies.name what this client is for; the brokers show it in their logs and quotas as `inkcast-<name>`
 * @returns {Kafka}
 */
export function createKafka ({ settings, log, name }) {
  patchRequestQueue({ log })
  patchFetch({ log })
  registerCodecs()
  return new kafkajs.Kafka({
    clientId: `inkcast-${name}`,
    brokers: [...settings.brokers],
    ssl: settings.ssl,
    sasl: sasl(settings),
    connectionTimeout: 3000,
    requestTimeout: REQUEST_TIMEOUT,
    // How often one operation is tried inside kafkajs. Whoever uses it tries again from outside, with a limit or a stop.
    retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 5 },
    // its own level is fixed at the start while ours may change, so let all through but the lines per request
    logLevel: log.level === 'trace' ? kafkajs.logLevel.DEBUG : kafkajs.logLevel.INFO,
    logCreator: () => logInto(log)
  })
}

/**
 * @param {KafkaSettings} settings
 * @returns {import('kafkajs').SASLOptions | undefined}
 */
function sasl ({ saslMechanism: mechanism, saslUsername: username = '', saslPassword: password = '' }) {
  return mechanism && /** @type {import('kafkajs').SASLOptions} */ ({ mechanism, username, password })
}

/**
 * kafkajs's lines, all at `debug`: it calls each try that it will repeat an error. What comes of them (a consumer that
 * joined, failed or was replaced, records that are not accepted) is logged by those who use it.
 *
 * @param {import('../log.js').Log} log
 * @returns {(entry: import('kafkajs').LogEntry) => void}
 */
export function logInto (log) {
  return ({ namespace, level, label, log: { message, logger: _logger, timestamp: _timestamp, stack: _stack, ...details } }) => {
    log[level === kafkajs.logLevel.DEBUG ? 'trace' : 'debug']({ kafka: details, label }, `kafka ${namespace}: ${message}`)
  }
}
