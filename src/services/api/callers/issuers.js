import { InkcastError } from '../../../base/common/errors.js'
import { checkIssuedFor } from '../../../people/auth/issued-for.js'
import { readHeader } from '../../../people/auth/token-parts.js'

/**
 * An issuer of JWTs for callers (OAuth 2.0 client credentials, RFC 9068): it says who a caller is; API_CALLERS_FILE
 * says what the caller may do.
 *
 * @typedef {import('../../../people/auth/keys.js').VerificationKey} VerificationKey
 * @typedef {import('../../../people/auth/key-set.js').KeySet} KeySet
 *
 * @typedef {object} Issuer
 * @property {string} issuer
 * @property {readonly string[]} audiences
 * @property {string} claim that names the caller
 * @property {VerificationKey} [key] the only one
 * @property {KeySet} [keySet] or those of a URL
 */

/** How far the clocks of issuer and api may be apart, ms. */
const CLOCK_TOLERANCE = 5000

/**
 * @typedef {object} Verified
 * @property {VerificationKey} key
 * @property {string | KeySet | undefined} source where the key comes from
 * @property {any} claims
 * @property {number} expiresAt ms since 1970, with the tolerance
 */

/**
 * @param {Issuer} issuer
 * @param {string} token
 * @param {number} now ms since 1970
 * @returns {Verified | Promise<Verified>}
 * @throws {InkcastError} (or rejects with) unauthorized, token_expired; unavailable if the keys cannot be fetched
 */
export function verifyFor (issuer, token, now) {
  const found = issuer.key ?? /** @type {KeySet} */ (issuer.keySet).find(readHeader(token))
  return found instanceof Promise
    ? found.then((key) => verifyWith(issuer, key, token, now))
    : verifyWith(issuer, found, token, now)
}

/**
 * @param {Issuer} issuer
 * @param {VerificationKey} key
 * @param {string} token
 * @param {number} now
 * @returns {Verified}
 */
function verifyWith (issuer, key, token, now) {
  const claims = /** @type {any} */ (key.verify(token))
  checkIssuedFor(claims, { issuers: [issuer.issuer], audiences: issuer.audiences })
  const { exp, nbf } = claims
  // a credential without an end could not be taken back, as a token of the settings can
  if (typeof exp !== 'number') throw new InkcastError('unauthorized', 'the token\'s claim exp: it is needed')
  if (nbf !== undefined && !(typeof nbf === 'number' && now >= nbf * 1000 - CLOCK_TOLERANCE))
    throw new InkcastError('unauthorized', 'the token is not valid yet')
  const expiresAt = exp * 1000 + CLOCK_TOLERANCE
  if (!(now < expiresAt)) throw new InkcastError('token_expired')
  return { key, source: sourceOf(issuer), claims, expiresAt }
}

/** @param {Issuer} issuer */
const sourceOf = ({ key, keySet }) => key?.name ?? keySet

/**
 * Whether an issuer, also one of settings that were loaded later, accepts a token that was verified before.
 * @param {Issuer} issuer
 * @param {Verified} verified
 * @returns {boolean}
 */
export function stillAccepts (issuer, { source, claims }) {
  if (source !== sourceOf(issuer)) return false
  try {
    checkIssuedFor(claims, { issuers: [issuer.issuer], audiences: issuer.audiences })
    return true
  } catch {
    return false
  }
}
