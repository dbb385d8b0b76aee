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
  const gateway = { TLS_FILES: `cert:${CERT},key:${CA}` }
  const api = { API_TLS_FILES: `cert:${CERT},key:${CA},ca:${KEY}` }
  const wrong = [
    `TLS_FILES=cert:${CERT},key:${CA}: no PEM certificate and its key`,
    `API_TLS_FILES=cert:${CERT},key:${CA}: no PEM certificate and its key`,
    `API_TLS_FILES=ca:${KEY}: no PEM certificate`
  ]
  const found = (/** @type {'gateway' | 'api' | undefined} */ role) =>
    problemsOf({ ...gateway, ...api }, role).map((problem) => problem.replace(/ \(.*/, ''))
  assert.deepEqual([found(undefined), found('gateway'), found('api')], [wrong, wrong.slice(0, 1), wrong.slice(1)])
  assert.deepEqual(problemsOf({
    TLS_FILES: `cert:${CERT},key:${KEY}`, API_TLS_FILES: `cert:${CERT},key:${KEY},ca:${CA}`
  }), [])
})

test('a file that is missing is named with its setting', () => {
  assert.match(problemsOf({ AUTH_JWKS_URL: 'file:///nowhere' })[0], /^AUTH_JWKS_URL=file:\/\/\/nowhere: ENOENT/)
  assert.match(
    problemsOf({ API_TLS_FILES: `cert:${CERT},key:${KEY},ca:/nowhere` })[0],
    /^API_TLS_FILES=ca:\/nowhere: ENOENT/
  )
})
