import { createPublicKey } from 'node:crypto'
import { createRequire } from 'node:module'
import { InkcastError } from '../../base/common/errors.js'
import { createHmacReader } from './hmac.js'

/**
 * A key that verifies tokens, bound to the algorithms of its type: a token can't choose one that the key was not
 * made for (a public key taken for an HMAC secret, or `none`; RFC 8725, 3.1 and 3.2).
 *
 * @typedef {object} VerificationKey
 * @property {readonly string[]} algorithms
 * @property {string} name of the key itself and how it is used: two that have one verify the same tokens
 * @property {number | null} withdrawnAt when its issuer was first seen not to have it any more, ms since 1970; null: it
 *   has, as far as is known
 * @property {(token: string) => unknown} verify returns the claims, their times not looked at; throws InkcastError
 *   unauthorized
 */

/** @typedef {import('fast-jwt').Algorithm} Algorithm */

/** @type {Algorithm[]} */
const HMAC = ['HS256', 'HS384', 'HS512']
/** @type {Algorithm[]} */
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
/** @type {Record<string, Algorithm[]>} by OpenSSL's names of the curves in RFC 7518, 3.4 */
const EC = { prime256v1: ['ES256'], secp384r1: ['ES384'], secp521r1: ['ES512'] }
/** @type {Algorithm[]} */
const ED = ['EdDSA']

const MIN_RSA_BITS = 2048 // RFC 7518, 3.3

/**
 * @param {string} secret
 * @returns {VerificationKey}
 */
export function keyFromSecret (secret) {
  const read = createHmacReader(secret)
  /** For the first token that is not a common one: it takes 1 MB in a process. @type {VerificationKey | undefined} */
  let library
  return {
    algorithms: HMAC,
    name: nameOf(secret, HMAC),
    withdrawnAt: null,
    verify: (token) => read(token) ?? (library ??= verificationKey(secret, HMAC)).verify(token)
  }
}

/**
 * @param {string} pem an SPKI public key or a certificate
 * @returns {VerificationKey}
 * @throws {Error} that says what is wrong with the key
 */
export function keyFromPem (pem) {
  // createPublicKey would take it and derive the public half; but a gateway must not be given what signs tokens
  if (pem.includes('PRIVATE KEY')) throw new Error('holds a private key; give the gateway the public one only')
  return publicKey(createPublicKey(pem))
}

/**
 * @param {unknown} jwk
 * @returns {VerificationKey & { kid: string | undefined }}
 * @throws {Error} if it is not a public key that signs tokens with an algorithm supported here
 */
export function keyFromJwk (jwk) {
  if (jwk === null || typeof jwk !== 'object') throw new Error('not an object')
  const { kid, kty, use, alg, d, key_ops: operations } = /** @type {Record<string, unknown>} */ (jwk)
  if (kty !== 'RSA' && kty !== 'EC' && kty !== 'OKP') throw new Error('not a public key')
  if (d !== undefined) throw new Error('a private key')
  if (use !== undefined && use !== 'sig') throw new Error('not for signatures')
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    throw new Error('not for verifying')
  if (kid !== undefined && typeof kid !== 'string') throw new Error('its kid is not a string')
  return {
    kid,
    ...publicKey(createPublicKey({ key: /** @type {import('node:crypto').JsonWebKey} */ (jwk), format: 'jwk' }), alg)
  }
}

/**
 * @param {import('node:crypto').KeyObject} key
 * @param {unknown} [only] the one algorithm that the key's owner allows
 */
function publicKey (key, only) {
  const possible = algorithmsOf(key)
  const algorithms = only === undefined ? possible : possible.filter((algorithm) => algorithm === only)
  if (algorithms.length === 0) throw new Error('its algorithm does not fit its type')
  return verificationKey(key.export({ type: 'spki', format: 'pem' }).toString(), algorithms)
}

/** @param {import('node:crypto').KeyObject} key */
function algorithmsOf ({ asymmetricKeyType: type, asymmetricKeyDetails: details }) {
  if (type === 'rsa') {
    const bits = details?.modulusLength ?? 0
    if (bits < MIN_RSA_BITS) throw new Error(`an RSA key of ${bits} bits; at least ${MIN_RSA_BITS} are needed`)
    return RSA
  }
  if (type === 'ec') {
    const algorithms = EC[details?.namedCurve ?? '']
    if (algorithms === undefined) throw new Error(`the curve ${details?.namedCurve} is not supported`)
    return algorithms
  }
  if (type === 'ed25519' || type === 'ed448') return ED
  throw new Error(`keys of type ${type} are not supported`)
}

/** @param {string} key @param {Algorithm[]} algorithms */
const nameOf = (key, algorithms) => `${algorithms}\n${key}`

/**
 * @param {string} key
 * @param {Algorithm[]} algorithms
 * @returns {VerificationKey}
 */
function verificationKey (key, algorithms) {
  /** @type {typeof import('fast-jwt')} */
  const { createVerifier } = createRequire(import.meta.url)('fast-jwt')
  // The authenticator checks times, with the clock of this process, and caches results.
  const verify = createVerifier({ key, algorithms, cache: false, ignoreExpiration: true, ignoreNotBefore: true })
  return {
    algorithms,
    name: nameOf(key, algorithms),
    withdrawnAt: null,
    verify (token) {
      try {
        return verify(token)
      } catch (error) {
        throw new InkcastError('unauthorized', reason(error))
      }
    }
  }
}

/**
 * fast-jwt's errors may quote the token: only their codes are passed on.
 * @param {unknown} error
 */
function reason (error) {
  switch (/** @type {{ code?: unknown }} */ (error)?.code) {
    case 'FAST_JWT_INVALID_SIGNATURE':
    case 'FAST_JWT_VERIFY_ERROR':
    case 'FAST_JWT_MISSING_SIGNATURE': return 'the token\'s signature is not valid'
    case 'FAST_JWT_INVALID_ALGORITHM': return 'the token\'s algorithm is not allowed'
    case 'FAST_JWT_INVALID_CRIT_HEADER': return 'the token has a critical header that is not understood'
    default: return 'the token is not a well formed JWT'
  }
}
