import { keyFromJwk } from '../../../people/auth/keys.js'
import { systemClock as clock } from '../../../base/common/clock.js'
import { fetchJson } from '../../../base/common/fetch-json.js'
import { withTimeLimit } from '../../../base/common/wait.js'
import { findingsOf } from './finding.js'

/** ms */
const TIMEOUT = 5000
const MAX_BYTES = 1_048_576

const { ok, warning, error } = findingsOf('services')

/** @typedef {import('./finding.js').Finding} Finding */

/**
 * Services that inkcast asks by HTTP: the issuer's keys, the access service, the login, the webhook.
 * @param {import('../../../config/load.js').Config} config
 * @returns {Promise<Finding[]>}
 */
export async function checkServices ({ auth, uplink }) {
  const found = await Promise.all([
    auth.keys?.url === undefined ? undefined : checkKeys(auth.keys.url),
    auth.accessUrl === undefined ? undefined : answers('AUTH_ACCESS_URL', auth.accessUrl),
    auth.connectUrl === undefined ? undefined : answers('AUTH_CONNECT_URL', auth.connectUrl),
    uplink.url === undefined ? undefined : answers('UPLINK_URL', uplink.url)
  ])
  return found.filter((finding) => finding !== undefined)
}

/** @param {string} url @returns {Promise<Finding>} */
async function checkKeys (url) {
  const todo = 'start the issuer, or correct AUTH_JWKS_URL: without its keys no token is accepted'
  /** @type {any} */
  let answer
  try {
    answer = await fetchJson(url, { timeout: TIMEOUT, maxBytes: MAX_BYTES, clock })
  } catch (wrong) {
    return error(`AUTH_JWKS_URL=${url}: ${reasonOf(wrong)}`, todo)
  }
  const keys = Array.isArray(answer?.keys) ? answer.keys : []
  const usable = keys.filter(isUsable).length
  if (usable > 0) return ok(`AUTH_JWKS_URL: ${usable} of ${keys.length} keys can check tokens`)
  return error(
    `AUTH_JWKS_URL=${url}: the answer has no key that can check tokens`,
    'correct AUTH_JWKS_URL: it is the address of a key set, { "keys": [ … ] }'
  )
}

/** @param {any} jwk @returns {boolean} */
function isUsable (jwk) {
  try {
    keyFromJwk(jwk)
    return true
  } catch {
    return false
  }
}

/**
 * Asks for the headers only, so that nothing happens there: any answer shows that the service is reachable.
 * @param {string} setting
 * @param {string} url
 * @returns {Promise<Finding>}
 */
async function answers (setting, url) {
  try {
    const { status } = await withTimeLimit(TIMEOUT, undefined, (signal) =>
      fetch(url, { method: 'HEAD', redirect: 'manual', signal }), clock)
    if (status < 500) return ok(`${setting}: the service answers (HEAD: ${status})`)
    return warning(`${setting}=${url} answers ${status}`, 'look at the log of the service, or of the balancer before it')
  } catch (wrong) {
    return error(`${setting}=${url}: ${reasonOf(wrong)}`, `start the service, or correct ${setting}`)
  }
}

/** @param {unknown} wrong @returns {string} in one line; fetch hides the reason in the cause */
function reasonOf (wrong) {
  const { message, cause, name } = /** @type {Error & { cause?: Error }} */ (wrong)
  return name === 'TimeoutError' ? `no answer within ${TIMEOUT / 1000} s` : cause?.message || message
}
