import { fetchJson } from '../base/common/fetch-json.js'
import { withTimeLimit } from '../base/common/wait.js'

/** ms */
const TIMEOUT = 5000
const MAX_BYTES = 65_536
/** A token is not used for the last part of its life: connections take a moment. */
const USED_SHARE = 0.8

/**
 * Tokens of an OAuth 2.0 token endpoint, by client credentials (RFC 6749, 4.4). Connections that open at the same time
 * share a request.
 *
 * @param {object} options
 * @param {string} options.url a `scope` in its query is sent as OAuth has it, in the body
 * @param {string} options.clientId
 * @param {string} options.clientSecret
 * @param {Pick<import('../base/common/clock.js').Clock, 'monotonic' | 'timer'>} options.clock
 * @returns {() => Promise<string>} rejects if the endpoint does not answer with a token
 */
export function createTokenSource ({ url, clientId, clientSecret, clock }) {
  const endpoint = new URL(url)
  const scope = endpoint.searchParams.get('scope')
  endpoint.searchParams.delete('scope')
  /** @type {{ token: Promise<string>, until: number } | undefined} */
  let current

  async function request () {
    const answer = /** @type {any} */ (await withTimeLimit(TIMEOUT, undefined, (signal) => fetchJson(endpoint.href, {
      form: new URLSearchParams({ grant_type: 'client_credentials', ...scope === null ? {} : { scope } }),
      // RFC 6749, 2.3.1: both parts are form-encoded first
      authorization: `Basic ${Buffer.from([clientId, clientSecret].map(encodeURIComponent).join(':')).toString('base64')}`,
      timeout: TIMEOUT,
      maxBytes: MAX_BYTES,
      signal,
      clock
    }), clock))
    if (typeof answer?.access_token !== 'string' || answer.access_token === '')
      throw new Error('the token endpoint answered without access_token')
    return answer
  }

  return () => {
    if (current !== undefined && clock.monotonic() < current.until) return current.token
    /** @type {{ token: Promise<string>, until: number }} */
    const next = {
      until: Infinity,
      token: request().then(({ access_token: token, expires_in: seconds }) => {
        // without a lifetime it is asked for each time
        next.until = clock.monotonic() + (Number(seconds) > 0 ? Number(seconds) * 1000 * USED_SHARE : 0)
        return token
      }, (error) => {
        if (current === next) current = undefined
        throw new Error(`no token for Kafka from KAFKA_SASL_TOKEN_SOURCE: ${error.message}`, { cause: error })
      })
    }
    current = next
    return next.token
  }
}
