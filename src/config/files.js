import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ConfigError } from './load.js'

/**
 * Reads the files that settings name, in the same way as the code that terminates TLS and checks tokens, so that errors
 * are reported before the start.
 *
 * @param {import('./load.js').Config} config
 * @throws {ConfigError} with the setting, the file and the cause of each
 */
export function checkFiles ({ gateway, auth }) {
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
  const cert = read('TLS_CERT_FILE', gateway.tlsCertFile)
  const key = read('TLS_KEY_FILE', gateway.tlsKeyFile)
  read('AUTH_JWT_PUBLIC_KEY_FILE', auth.publicKeyFile)
  if (cert !== undefined && key !== undefined) {
    try {
      createSecureContext({ cert, key })
    } catch (error) {
      problems.push(
        `TLS_CERT_FILE=${gateway.tlsCertFile}, TLS_KEY_FILE=${gateway.tlsKeyFile}: no PEM certificate and its key (${causeOf(error)})`
      )
    }
  }
  if (problems.length > 0) throw new ConfigError(problems)
}

/** @param {unknown} error */
const causeOf = (error) => error instanceof Error ? error.message : String(error)
