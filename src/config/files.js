import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ConfigError } from './load.js'
import { isUrl } from './setting.js'

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
  /**
   * @param {string} assigned what is before the path where it is set
   * @param {string | undefined} path
   * @returns {Buffer | undefined}
   */
  const read = (assigned, path) => {
    try {
      return path === undefined ? undefined : readFileSync(path)
    } catch (error) {
      problems.push(`${assigned}${path}: ${causeOf(error)}`)
      return undefined
    }
  }
  /**
   * @param {string} setting
   * @param {Partial<import('./setting.js').PemFiles>} [files]
   */
  const checkPem = (setting, { cert: certFile, key: keyFile, ca: caFile } = {}) => {
    const cert = read(`${setting}=cert:`, certFile)
    const key = read(`${setting}=key:`, keyFile)
    const ca = read(`${setting}=ca:`, caFile)
    try {
      if (cert !== undefined && key !== undefined) createSecureContext({ cert, key })
    } catch (error) {
      problems.push(`${setting}=cert:${certFile},key:${keyFile}: no PEM certificate and its key (${causeOf(error)})`)
    }
    // node:tls ignores what is no certificate, and would then refuse every other side
    if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----'))
      problems.push(`${setting}=ca:${caFile}: no PEM certificate`)
  }
  if (role !== 'api') {
    checkPem('TLS_FILES', gateway.tls)
    checkPem('PEER_TLS_FILES', gateway.peerTls)
    read('AUTH_JWKS_URL=file://', auth.keys?.file)
  }
  if (role !== 'gateway') checkPem('API_TLS_FILES', api.tls)
  if (role === undefined) checkPem('ADMIN_TLS_FILES', admin.tls)
  checkPem('KAFKA_SSL', kafka.ssl)
  const { saslTokenSource: source } = kafka
  if (source !== undefined && !isUrl(source)) read('KAFKA_SASL_TOKEN_SOURCE=', source)
  if (problems.length > 0) throw new ConfigError(problems)
}

/** @param {unknown} error */
const causeOf = (error) => error instanceof Error ? error.message : String(error)
