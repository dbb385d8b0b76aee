import { createRequire } from 'node:module'
import { registerCodecs } from './codecs.js'
import { createCredentials } from '../credentials.js'
import { patchFetch } from './fetch-patch.js'
import { patchProduce } from './produce-patch.js'
import { patchRequestQueue } from './request-queue-patch.js'

const require = createRequire(import.meta.url)
const { Kafka, logLevel } = require('kafkajs')

/** @typedef {import('../../config/load.js').Config['kafka']} KafkaSettings */

/** Timeout of a request, ms; longer than any pause of a healthy broker. */
const REQUEST_TIMEOUT = 8000

/**
 * @param {object} dependencies
 * @param {KafkaSettings} dependencies.settings
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {string} dependencies.name purpose of this client; the brokers show it in their logs and quotas as
 *   `inkcast-<name>`
 * @param {(message: string) => void} [dependencies.onWaits] called with connections that fail, once for each cause
 * @returns {import('kafkajs').Kafka}
 */
export function createClient ({ settings, log, clock, name, onWaits }) {
  patchRequestQueue()
  patchFetch()
  patchProduce()
  registerCodecs()
  return new Kafka({
    clientId: `inkcast-${name}`,
    brokers: () => [...settings.brokers], // a function: read again before each connection
    ...createCredentials({ settings, log, clock }),
    connectionTimeout: 3000,
    requestTimeout: REQUEST_TIMEOUT,
    // About a minute: a consumer that outlives an outage is still a member of its group and continues at once; a new
    // one waits until the group has dropped the old one.
    retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 60 },
    // kafkajs's level is fixed at the start while inkcast's may change: pass everything but the lines per request
    logLevel: log.level === 'trace' ? logLevel.DEBUG : logLevel.INFO,
    logCreator: () => logInto(log, onWaits)
  })
}

/** Beginning of kafkajs's messages about failed connections. */
const CONNECTION = /^Connection (?:error: |(?=timeout))/

/**
 * Logs kafkajs's lines at `debug`, because it reports each attempt that it will repeat as an error. The results (a
 * consumer joined, failed or was replaced, records are not accepted) are logged by the callers of the driver.
 *
 * @param {import('../../base/common/log.js').Log} log
 * @param {(message: string) => void} [onWaits] called with connections that fail
 * @returns {(entry: import('kafkajs').LogEntry) => void}
 */
function logInto (log, onWaits = () => {}) {
  return ({
    namespace,
    level,
    label,
    log: { message, logger: _logger, timestamp: _timestamp, stack: _stack, ...details }
  }) => {
    if (namespace === 'Connection' && level === logLevel.ERROR && CONNECTION.test(message)) {
      onWaits(
        `Kafka cannot be used at ${details.broker} (KAFKA_BROKERS): ${message.replace(CONNECTION, '')}; trying again`
      )
    }
    log[level === logLevel.DEBUG ? 'trace' : 'debug'](
      { kafka: details, label },
      `kafka ${namespace}: ${message}`
    )
  }
}
