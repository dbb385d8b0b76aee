import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { InkcastError } from '../../base/common/errors.js'
import { LruCache } from '../../base/common/lru.js'
import { anonymousIdentity, identityFromClaims } from './identity.js'
import { checkIssuedFor } from './issued-for.js'
import { KeySet } from './key-set.js'
import { keyFromPem, keyFromSecret } from './keys.js'
import { readHeader } from './token-parts.js'

/** @typedef {import('./identity.js').Identity} Identity */
/** @typedef {import('./keys.js').VerificationKey} VerificationKey */
/** @typedef {ReturnType<typeof createAuthenticator>} Authenticator */

/** Longest token, characters (a JWT is ASCII): no more than a proxy lets through in a header. */
const MAX_TOKEN_LENGTH = 16_384
/** How far the clocks of issuer and gateway may be apart, ms. */
const CLOCK_TOLERANCE = 5000

// The same token comes again with each tab and each reconnect, and then verifying its public-key signature (50 us and
// more) is spared; an HMAC (4 us) costs no more than keeping it would. Longer tokens (many grants) are not kept: 5,000
// tokens of 2 KB are what the cache may hold of the heap, with their claims some 30 MB.
const CACHED_TOKENS = 5000
const MAX_CACHED_LENGTH = 2048

/**
 * Tells who a token stands for.
 *
 * @param {object} dependencies
 * @param {Readonly<{ secret?: string, keys?: import('../../config/access-settings.js').PublicKeys, allowAnonymous?:
 *   boolean, issuers?: readonly string[], audiences?: readonly string[] }>} dependencies.settings config.auth; at most
 *   one of the first two
 * @param {import('../tenants/names.js').TenantNames} [dependencies.tenants]
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 */
export function createAuthenticator ({ settings, tenants, log, clock, random }) {
  const { secret, keys, allowAnonymous = false, issuers = [], audiences = [] } = settings
  const expected = issuers.length > 0 || audiences.length > 0 ? { issuers, audiences } : undefined
  /** @type {LruCache<Identity>} by hash of the token: tokens are credentials, and long */
  const cache = new LruCache(CACHED_TOKENS)
  /** @type {VerificationKey | null} */
  let ownKey = secret === undefined ? null : keyFromSecret(secret)
  /** @type {(() => void)[]} */
  const withdrawnListeners = []
  const keySet = keys?.url === undefined ? null : new KeySet({
    url: keys.url, log, clock, random,
    onChange (withdrawn) {
      cache.clear()
      if (withdrawn) for (const listener of withdrawnListeners) listener()
    }
  })
  const hasKey = secret !== undefined || keys !== undefined

  /**
   * @param {string} token
   * @param {VerificationKey} key
   * @param {string} [digest] of the token; absent: it is not kept
   */
  function verify (token, key, digest) {
    const claims = key.verify(token)
    if (expected !== undefined) checkIssuedFor(claims, expected)
    const { identity, notBefore } = identityFromClaims(claims, keySet === null ? undefined : key, tenants)
    const now = clock.now()
    if (now < notBefore - CLOCK_TOLERANCE) throw new InkcastError('unauthorized', 'the token is not valid yet')
    const expiresAt = (identity.expiresAt ?? Infinity) + CLOCK_TOLERANCE
    if (now >= expiresAt) throw new InkcastError('token_expired')
    if (digest !== undefined && token.length <= MAX_CACHED_LENGTH) cache.set(digest, identity, expiresAt)
    return identity
  }

  return {
    /** Reads the key file, or fetches the key set; a key set that can't be fetched does not fail the start. */
    async start () {
      if (keys?.file !== undefined) {
        try {
          ownKey = keyFromPem(await readFile(keys.file, 'utf8'))
        } catch (error) {
          throw new Error(
            `AUTH_JWKS_URL=file://${keys.file}: ${error instanceof Error ? error.message : error}`, { cause: error }
          )
        }
      }
      await keySet?.start()
    },

    async stop () {
      cache.clear()
      await keySet?.stop()
    },

    /**
     * @param {() => void} listener called when the issuer withdrew keys: identities of their tokens have
     *   `key.withdrawnAt` from then on
     */
    onWithdrawn (listener) { withdrawnListeners.push(listener) },
    hasKey,

    /**
     * Synchronous, unless the key set has to be fetched first. A token that is present must be valid, even if
     * connections without one are allowed: its owner does not expect to be anonymous.
     *
     * @param {unknown} token as the client sent it; undefined or null: none
     * @returns {Identity | Promise<Identity>}
     * @throws {InkcastError} (or rejects with) unauthorized, token_expired; unavailable if the key set can't be fetched
     */
    authenticate (token) {
      if (token === undefined || token === null) {
        if (!allowAnonymous) throw new InkcastError('unauthorized', 'a token is needed')
        return anonymousIdentity(random)
      }
      if (typeof token !== 'string') throw new InkcastError('unauthorized', 'the token is not a string')
      if (token.length > MAX_TOKEN_LENGTH)
        throw new InkcastError('unauthorized', `the token is longer than ${MAX_TOKEN_LENGTH} characters`)
      if (!hasKey)
        throw new InkcastError(
          'unauthorized', 'a token was given, but the gateway has no key to verify it: set AUTH_JWT_SECRET, or send no token'
        )

      if (secret !== undefined && ownKey !== null) return verify(token, ownKey)
      // also where every token is in the cache
      keySet?.keepFresh()
      const digest = hash('sha256', token, 'base64')
      const known = cache.get(digest, clock.now())
      if (known !== undefined) return known
      if (keySet === null) {
        if (ownKey === null) throw new Error('authenticator: not started')
        return verify(token, ownKey, digest)
      }
      const key = keySet.find(readHeader(token))
      return key instanceof Promise ? key.then((found) => verify(token, found, digest)) : verify(token, key, digest)
    }
  }
}
