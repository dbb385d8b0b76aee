import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ConfigError } from './load.js'

/**
 * Reads the files that settings name, in the same way as the code that terminates TLS and checks tokens, so that errors
 * are reported before the start.
 *
 * @param {import('./load.js').Config} config
 * @param {'gateway' | 'api'} [role] the only one whose files are read: a role needs no permission for those of others
 * @throws {ConfigError} with the setting, the file and the cause of each
 */
export function checkFiles ({ gateway, auth, api, admin, kafka }, role) {
  /** @type {string[]} */
  const problems = []
  /** @param {string} variable @param {string | undefined} path @returns {Buffer | undefined} */
  const read = (variable, path) => {
    try {
      return path === undefined ? undefined : readFileSync(path)
    } catch (error) {
      problems.push(`${variable}=${path}: ${causeOf(error)}`)
      return undefined
    }
  }
  /**
   * @param {string} prefix of the names of the settings
   * @param {{ tlsCertFile?: string, tlsKeyFile?: string }} files
   */
  const checkTls = (prefix, { tlsCertFile, tlsKeyFile }) => {
    const cert = read(`${prefix}TLS_CERT_FILE`, tlsCertFile)
    const key = read(`${prefix}TLS_KEY_FILE`, tlsKeyFile)
    if (cert === undefined || key === undefined) return
    try {
      createSecureContext({ cert, key })
    } catch (error) {
      problems.push(
        `${prefix}TLS_CERT_FILE=${tlsCertFile}, ${prefix}TLS_KEY_FILE=${tlsKeyFile}: no PEM certificate and its key (${causeOf(error)})`
      )
    }
  }
  /** @param {string} variable @param {string | undefined} path */
  const checkAuthorities = (variable, path) => {
    const ca = read(variable, path)
    // node:tls ignores what is no certificate, and would then refuse every other side
    if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----'))
      problems.push(`${variable}=${path}: no PEM certificate`)
  }
  if (role !== 'api') {
    checkTls('', gateway)
    const { peerTlsCertFile: tlsCertFile, peerTlsKeyFile: tlsKeyFile } = gateway
    checkTls('PEER_', { tlsCertFile, tlsKeyFile })
    checkAuthorities('PEER_TLS_CA_FILE', gateway.peerTlsCaFile)
    read('AUTH_JWT_PUBLIC_KEY_FILE', auth.publicKeyFile)
  }
  if (role !== 'gateway') {
    checkTls('API_', api)
    checkAuthorities('API_TLS_CLIENT_CA_FILE', api.tlsClientCaFile)
  }
  if (role === undefined) {
    checkTls('ADMIN_', admin)
    checkAuthorities('ADMIN_TLS_CLIENT_CA_FILE', admin.tlsClientCaFile)
  }
  checkAuthorities('KAFKA_SSL_CA_FILE', kafka.sslCaFile)
  read('KAFKA_SASL_OAUTHBEARER_TOKEN_FILE', kafka.saslTokenFile)
  if (problems.length > 0) throw new ConfigError(problems)
}

/** @param {unknown} error */
const causeOf = (error) => error instanceof Error ? error.message : String(error)
