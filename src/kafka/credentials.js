import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isUrl } from '../config/setting.js'
import { createModuleSource, createTokenSource, isModule } from './token-source.js'

/**
 * How connections to the brokers are secured: `ssl` and `sasl` of kafkajs. Files and tokens are read for each new
 * connection, so that renewed ones are used without a restart; a file that cannot be read leaves the last one.
 *
 * @param {object} dependencies
 * @param {import('../config/load.js').Config['kafka']} dependencies.settings
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @returns {Pick<import('kafkajs').KafkaConfig, 'ssl' | 'sasl'>}
 */
export function createCredentials ({ settings, log, clock }) {
  return { ssl: ssl(settings, log), sasl: sasl(settings, clock) }
}

/**
 * @param {import('../config/load.js').Config['kafka']} settings
 * @param {import('../base/common/log.js').Log} log
 * @returns {import('kafkajs').KafkaConfig['ssl']}
 */
function ssl ({ ssl: files }, log) {
  if (files === undefined || Object.keys(files).length === 0) return files !== undefined
  const options = {}
  /** @type {Record<string, Buffer>} */
  const last = {}
  for (const [name, path] of Object.entries(files)) {
    // kafkajs copies the options for each connection, and so calls the getter
    Object.defineProperty(options, name, {
      enumerable: true,
      get () {
        try {
          last[name] = readFileSync(path)
        } catch (error) {
          if (last[name] === undefined) throw error
          log.warn({ err: error, file: path }, 'a file for connections to Kafka cannot be read: the last one is used')
        }
        return last[name]
      }
    })
  }
  return options
}

/**
 * @param {import('../config/load.js').Config['kafka']} settings
 * @param {import('../base/common/clock.js').Clock} clock
 * @returns {import('kafkajs').SASLOptions | undefined}
 */
function sasl ({
  saslMechanism: mechanism, saslUsername: username = '', saslPassword: password = '', saslTokenSource: source = ''
}, clock) {
  if (mechanism !== 'oauthbearer')
    return mechanism && /** @type {import('kafkajs').SASLOptions} */ ({ mechanism, username, password })
  const read = isUrl(source)
    ? createTokenSource({ url: source, clientId: username, clientSecret: password, clock })
    : isModule(source) ? createModuleSource(source, clock) : async () => (await readFile(source, 'utf8')).trim()
  return { mechanism, oauthBearerProvider: async () => ({ value: await read() }) }
}
