import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkFiles } from '../../../src/config/files.js'
import { ConfigError, loadConfig } from '../../../src/config/load.js'

const path = (/** @type {string} */ name) => fileURLToPath(new URL(`../../helpers/tls/${name}`, import.meta.url))
const [CERT, KEY, CA] = ['cert.pem', 'key.pem', 'clients/ca.pem'].map(path)

/**
 * @param {Record<string, string>} env
 * @param {'gateway' | 'api'} [role]
 * @returns {string[]}
 */
function problemsOf (env, role) {
  try {
    checkFiles(loadConfig({ env }), role)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
}

test('certificates of the gateway and of the api are read, each by the role that needs it', () => {
  const gateway = { TLS_CERT_FILE: CERT, TLS_KEY_FILE: CA }
  const api = { API_TLS_CERT_FILE: CERT, API_TLS_KEY_FILE: CA, API_TLS_CLIENT_CA_FILE: KEY }
  const wrong = [
    `TLS_CERT_FILE=${CERT}, TLS_KEY_FILE=${CA}: no PEM certificate and its key`,
    `API_TLS_CERT_FILE=${CERT}, API_TLS_KEY_FILE=${CA}: no PEM certificate and its key`,
    `API_TLS_CLIENT_CA_FILE=${KEY}: no PEM certificate`
  ]
  const found = (/** @type {'gateway' | 'api' | undefined} */ role) =>
    problemsOf({ ...gateway, ...api }, role).map((problem) => problem.replace(/ \(.*/, ''))
  assert.deepEqual([found(undefined), found('gateway'), found('api')], [wrong, wrong.slice(0, 1), wrong.slice(1)])
  assert.deepEqual(problemsOf({
    TLS_CERT_FILE: CERT, TLS_KEY_FILE: KEY, API_TLS_CERT_FILE: CERT, API_TLS_KEY_FILE: KEY, API_TLS_CLIENT_CA_FILE: CA
  }), [])
})

test('a file that is missing is named with its setting', () => {
  assert.match(problemsOf({ AUTH_JWT_PUBLIC_KEY_FILE: '/nowhere' })[0], /^AUTH_JWT_PUBLIC_KEY_FILE=\/nowhere: ENOENT/)
  assert.match(
    problemsOf({ API_TLS_CERT_FILE: CERT, API_TLS_KEY_FILE: KEY, API_TLS_CLIENT_CA_FILE: '/nowhere' })[0],
    /^API_TLS_CLIENT_CA_FILE=\/nowhere: ENOENT/
  )
})
