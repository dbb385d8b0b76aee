import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { fetchJson } from '../base/common/fetch-json.js'
import { unlessAborted, withTimeLimit } from '../base/common/wait.js'

/**
 * Where tokens for Kafka come from, besides a file: an OAuth 2.0 token endpoint, or a module of the operator. A token
 * is used for a part of its life. Connections that open at the same time share a request.
 *
 * @typedef {() => Promise<string>} TokenSource rejects if there is no token
 * @typedef {import('../base/common/wait.js').LimitClock} LimitClock
 * @typedef {{ value: string, lifetime: number }} Token ms; 0: asked for each time
 */

/** ms */
const TIMEOUT = 5000
const MAX_BYTES = 65_536
/** A token is not used for the last part of its life: connections take a moment. */
const USED_SHARE = 0.8

/**
 * By client credentials (RFC 6749, 4.4).
 *
 * @param {object} options
 * @param {string} options.url a `scope` in its query is sent as OAuth has it, in the body
 * @param {string} options.clientId
 * @param {string} options.clientSecret
 * @param {LimitClock} options.clock
 * @returns {TokenSource}
 */
export function createTokenSource ({ url, clientId, clientSecret, clock }) {
  const endpoint = new URL(url)
  const scope = endpoint.searchParams.get('scope')
  endpoint.searchParams.delete('scope')
  return shared(clock, async (signal) => {
    const answer = /** @type {any} */ (await fetchJson(endpoint.href, {
      form: new URLSearchParams({ grant_type: 'client_credentials', ...scope === null ? {} : { scope } }),
      // RFC 6749, 2.3.1: both parts are form-encoded first
      authorization: `Basic ${Buffer.from([clientId, clientSecret].map(encodeURIComponent).join(':')).toString('base64')}`,
      timeout: TIMEOUT,
      maxBytes: MAX_BYTES,
      signal,
      clock
    }))
    if (typeof answer?.access_token !== 'string' || answer.access_token === '')
      throw new Error('the token endpoint answered without access_token')
    return { value: answer.access_token, lifetime: Number(answer.expires_in) * 1000 }
  })
}

/** @param {string} source of KAFKA_SASL_TOKEN_SOURCE @returns {boolean} whether it is a module */
export const isModule = (source) => /\.m?js$/.test(source)

/**
 * By the default export of a module: `async ({ signal }) => ({ value, expiresInMs })`.
 *
 * @param {string} file
 * @param {LimitClock} clock
 * @returns {TokenSource}
 */
export function createModuleSource (file, clock) {
  return shared(clock, async (signal) => {
    const { default: provide } = await unlessAborted(import(pathToFileURL(path.resolve(file)).href), signal)
    if (typeof provide !== 'function') {
      throw new Error(
        `${file} has no default export that is a function: export default async () => ({ value, expiresInMs })`
      )
    }
    const { value, expiresInMs } = await unlessAborted(Promise.resolve(provide({ signal })), signal) ?? {}
    // the message has nothing of the answer
    if (typeof value !== 'string' || value === '') throw new Error(`${file} must return { value: '…', expiresInMs? }`)
    return { value, lifetime: Number(expiresInMs) }
  })
}

/**
 * @param {LimitClock} clock
 * @param {(signal: AbortSignal) => Promise<Token>} request
 * @returns {TokenSource}
 */
function shared (clock, request) {
  /** @type {{ token: Promise<string>, until: number } | undefined} */
  let current
  return () => {
    if (current !== undefined && clock.monotonic() < current.until) return current.token
    /** @type {{ token: Promise<string>, until: number }} */
    const next = {
      until: Infinity,
      token: withTimeLimit(TIMEOUT, undefined, request, clock).then(({ value, lifetime }) => {
        next.until = clock.monotonic() + (lifetime > 0 ? lifetime * USED_SHARE : 0)
        return value
      }, (error) => {
        if (current === next) current = undefined
        throw new Error(`no token for Kafka from KAFKA_SASL_TOKEN_SOURCE: ${error.message}`, { cause: error })
      })
    }
    current = next
    return next.token
  }
}
