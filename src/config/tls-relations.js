/**
 * The parts of the config object that are checked here.
 *
 * @typedef {{ tlsCertFile?: string, tlsKeyFile?: string, tlsClientCaFile?: string }} ListenerFiles
 * @typedef {{ tlsCertFile?: string, tlsKeyFile?: string, peerHost?: string,
 *   peerTlsCertFile?: string, peerTlsKeyFile?: string, peerTlsCaFile?: string }} GatewayFiles
 * @typedef {{ ssl: boolean, sslCaFile?: string, sslCertFile?: string, sslKeyFile?: string, saslMechanism?: string,
 *   saslUsername?: string, saslPassword?: string, saslTokenFile?: string, saslTokenUrl?: string }} KafkaSettings
 */

/**
 * Checks relations between settings of TLS.
 *
 * @param {{ gateway: GatewayFiles, api: ListenerFiles, admin: ListenerFiles, kafka: KafkaSettings }} config
 * @returns {string[]} problems
 */
export function tlsProblems ({ gateway, api, admin, kafka }) {
  const problems = []
  /** @param {Record<string, string | undefined>} files by setting */
  const allOrNone = (files) => {
    const given = Object.values(files).filter((file) => file !== undefined).length
    if (given > 0 && given < Object.keys(files).length)
      problems.push(`${Object.keys(files).join(', ')}: set ${Object.keys(files).length === 2 ? 'both' : 'all'} or none`)
  }
  allOrNone({ TLS_CERT_FILE: gateway.tlsCertFile, TLS_KEY_FILE: gateway.tlsKeyFile })
  allOrNone({ API_TLS_CERT_FILE: api.tlsCertFile, API_TLS_KEY_FILE: api.tlsKeyFile })
  allOrNone({ ADMIN_TLS_CERT_FILE: admin.tlsCertFile, ADMIN_TLS_KEY_FILE: admin.tlsKeyFile })
  allOrNone({
    PEER_TLS_CERT_FILE: gateway.peerTlsCertFile,
    PEER_TLS_KEY_FILE: gateway.peerTlsKeyFile,
    PEER_TLS_CA_FILE: gateway.peerTlsCaFile
  })
  allOrNone({ KAFKA_SSL_CERT_FILE: kafka.sslCertFile, KAFKA_SSL_KEY_FILE: kafka.sslKeyFile })
  for (const [prefix, { tlsClientCaFile, tlsCertFile }] of /** @type {const} */ ([['API', api], ['ADMIN', admin]])) {
    if (tlsClientCaFile !== undefined && tlsCertFile === undefined)
      problems.push(`${prefix}_TLS_CLIENT_CA_FILE: needs ${prefix}_TLS_CERT_FILE and ${prefix}_TLS_KEY_FILE`)
  }
  if (gateway.peerTlsCertFile !== undefined && gateway.peerHost === undefined)
    problems.push('PEER_TLS_CERT_FILE: needs PEER_HOST')
  if (!kafka.ssl && (kafka.sslCaFile !== undefined || kafka.sslCertFile !== undefined))
    problems.push('KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE: need KAFKA_SSL=true')
  return [...problems, ...saslProblems(kafka)]
}

/** @param {KafkaSettings} kafka @returns {string[]} */
function saslProblems ({ saslMechanism, saslUsername, saslPassword, saslTokenFile, saslTokenUrl, ssl }) {
  if (saslMechanism !== 'oauthbearer') {
    if (saslTokenFile !== undefined || saslTokenUrl !== undefined) {
      return ['KAFKA_SASL_OAUTHBEARER_TOKEN_FILE, KAFKA_SASL_OAUTHBEARER_TOKEN_URL: need KAFKA_SASL_MECHANISM=oauthbearer']
    }
    return saslMechanism && (!saslUsername || !saslPassword)
      ? ['KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD']
      : []
  }
  const problems = []
  if ((saslTokenFile === undefined) === (saslTokenUrl === undefined)) {
    problems.push(
      'KAFKA_SASL_MECHANISM=oauthbearer: set one of KAFKA_SASL_OAUTHBEARER_TOKEN_FILE and KAFKA_SASL_OAUTHBEARER_TOKEN_URL'
    )
  }
  if (saslTokenUrl !== undefined && (!saslUsername || !saslPassword))
    problems.push('KAFKA_SASL_OAUTHBEARER_TOKEN_URL: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD, the client id and secret')
  if (!ssl) problems.push('KAFKA_SASL_MECHANISM=oauthbearer: needs KAFKA_SSL=true, a token is sent as it is')
  return problems
}
