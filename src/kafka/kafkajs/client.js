import kafkajs from 'kafkajs'
import { registerCodecs } from './codecs.js'
import { patchFetch } from './fetch-patch.js'
import { patchRequestQueue } from './request-queue-patch.js'

/** @typedef {import('../../config/load.js').Config['kafka']} KafkaSettings */

/** How long a broker may take to answer one request, ms; longer than any pause of a healthy one. */
const REQUEST_TIMEOUT = 8000

/**
 * @param {object} dependencies
 * @param {KafkaSettings} dependencies.settings
 * @param {import('../../common/log.js').Log} dependencies.log
 * @param {string} dependencies.name what this client is for; the brokers show it in their logs and quotas as
 *   `inkcast-<name>`
 * @param {(message: string) => void} [dependencies.onWaits] told of connections that fail, of each cause once
 * @returns {import('kafkajs').Kafka}
 */
export function createClient ({ settings, log, name, onWaits }) {
  patchRequestQueue({ log })
  patchFetch({ log })
  registerCodecs()
  return new kafkajs.Kafka({
    clientId: `inkcast-${name}`,
    brokers: () => [...settings.brokers], // a function: read again before each connection
    ssl: settings.ssl,
    sasl: sasl(settings),
    connectionTimeout: 3000,
    requestTimeout: REQUEST_TIMEOUT,
    // About a minute. It matters for consumers: one that outlives an outage is known to its group and goes on at once,
    // a new one has to wait until the group has given up the old one.
    retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 60 },
    // its own level is fixed at the start while ours may change, so let all through but the lines per request
    logLevel: log.level === 'trace' ? kafkajs.logLevel.DEBUG : kafkajs.logLevel.INFO,
    logCreator: () => logInto(log, onWaits)
  })
}

/** How kafkajs begins what it says of a connection that cannot be made. */
const CONNECTION = /^Connection (?:error: |(?=timeout))/

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
 * @param {import('../../common/log.js').Log} log
 * @param {(message: string) => void} [onWaits] told of connections that fail
 * @returns {(entry: import('kafkajs').LogEntry) => void}
 */
function logInto (log, onWaits = () => {}) {
  return ({
    namespace,
    level,
    label,
    log: { message, logger: _logger, timestamp: _timestamp, stack: _stack, ...details }
  }) => {
    if (namespace === 'Connection' && level === kafkajs.logLevel.ERROR && CONNECTION.test(message)) {
      onWaits(
        `Kafka cannot be used at ${details.broker} (KAFKA_BROKERS): ${message.replace(CONNECTION, '')}; trying again`
      )
    }
    log[level === kafkajs.logLevel.DEBUG ? 'trace' : 'debug'](
      { kafka: details, label },
      `kafka ${namespace}: ${message}`
    )
  }
}
