import { isUrl } from './setting.js'

/**
 * The parts of the config object that are checked here.
 *
 * @typedef {{ peerHost?: string, peerTls?: object }} PeerSettings
 * @typedef {{ ssl?: object, saslMechanism?: string, saslUsername?: string, saslPassword?: string,
 *   saslTokenSource?: string, brokers?: readonly string[] }} KafkaSettings
 */

/**
 * Checks relations between settings of TLS.
 *
 * @param {{ gateway: PeerSettings, kafka: KafkaSettings }} config
 * @returns {string[]} problems
 */
export function tlsProblems ({ gateway, kafka }) {
  const problems = saslProblems(kafka)
  if (gateway.peerTls !== undefined && gateway.peerHost === undefined) problems.push('PEER_TLS_FILES: needs PEER_HOST')
  return problems
}

/** @param {KafkaSettings} kafka @returns {string[]} */
function saslProblems ({ saslMechanism, saslUsername, saslPassword, saslTokenSource: source, ssl, brokers }) {
  const hasUser = saslUsername !== undefined && saslPassword !== undefined
  if (saslMechanism !== 'oauthbearer') {
    if (source !== undefined) return ['KAFKA_SASL_TOKEN_SOURCE: needs KAFKA_SASL_MECHANISM=oauthbearer']
    const isSent = saslMechanism !== undefined || (saslUsername ?? saslPassword) === undefined
    if (!isSent && brokers !== undefined && brokers.length > 0)
      return ['KAFKA_SASL_MECHANISM: without it KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD are not sent']
    return saslMechanism && !hasUser ? ['KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD'] : []
  }
  const problems = []
  if (source === undefined) problems.push('KAFKA_SASL_MECHANISM=oauthbearer: needs KAFKA_SASL_TOKEN_SOURCE')
  else if (isUrl(source) && !hasUser) {
    problems.push(
      'KAFKA_SASL_TOKEN_SOURCE: a URL needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD, the client id and secret'
    )
  }
  if (ssl === undefined) problems.push('KAFKA_SASL_MECHANISM=oauthbearer: needs KAFKA_SSL, a token is sent as it is')
  return problems
}
