import { Backoff } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { fetchJson } from '../../base/common/fetch-json.js'
import { keyFromJwk } from './keys.js'

/**
 * The issuer's keys (RFC 7517), kept in memory. jose's createRemoteJWKSet does not fit: it drops its keys when they
 * are old and the issuer is down, and its cool-down begins at the last success only, so that tokens with made-up key
 * ids make one request each to an issuer that fails.
 *
 * @typedef {import('./keys.js').VerificationKey} VerificationKey
 */

/**
 * After this long the keys are fetched again, in the background and by a timer: keys that were withdrawn go, new ones
 * are there before they are used.
 */
const MAX_AGE = 600_000
/** Between two fetches: tokens with made-up key ids must not become requests to the issuer. */
const COOL_DOWN = 10_000
const TIMEOUT = 5000
const MAX_KEYS = 100
const MAX_BYTES = 1_048_576
/** How often it is looked whether the keys are that old, ms. */
const LOOK_EVERY = 5000
/** How many unknown key ids are remembered. */
const MAX_UNKNOWN = 1000

/**
 * @param {object} dependencies
 * @param {string} dependencies.url
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'number'>} dependencies.random
 * @param {(withdrawn: boolean) => void} dependencies.onChange the set has changed; results of an older set may be
 *   invalid. withdrawn: keys were removed from the set
 */
export function createKeySet ({ url, log, clock, random, onChange }) {
  const stopping = new AbortController()
  const backoff = new Backoff({ min: 1000, max: 30_000, random })
  /** @type {Map<string, VerificationKey[]> | null} by key id, '' for keys without; null before the first fetch */
  let keys = null
  /**
   * Those that it had before: an issuer that leaves one out by mistake gets the same back. By id and name.
   * @type {Map<string, VerificationKey>}
   */
  const withdrawn = new Map()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  let body = ''
  let staleAt = -Infinity
  let nextFetchAt = -Infinity
  /** @type {Promise<void> | null} */
  let fetching = null
  /** Unknown key ids that were asked for since the last fetch, and those that it did not bring. */
  let asked = new Set()
  let missing = new Set()

  async function fetchKeys () {
    try {
      const json = await fetchJson(url, { timeout: TIMEOUT, maxBytes: MAX_BYTES, signal: stopping.signal, clock })
      const fetched = readKeys(json, log)
      const changed = body !== (body = JSON.stringify(json))
      const some = replace(fetched)
      missing = asked
      asked = new Set()
      backoff.reset()
      nextFetchAt = clock.monotonic() + COOL_DOWN
      staleAt = clock.monotonic() + MAX_AGE
      if (changed) onChange(some)
    } catch (error) {
      nextFetchAt = clock.monotonic() + backoff.next()
      if (!stopping.signal.aborted) log.warn({ err: error, keepsKeys: keys !== null }, 'cannot fetch the key set')
      throw new InkcastError('unavailable', 'the keys that verify tokens cannot be fetched')
    }
  }

  /**
   * @param {Map<string, VerificationKey[]>} fetched
   * @returns {boolean} whether keys are missing that were there before
   */
  function replace (fetched) {
    const old = new Map([...withdrawn, ...named(keys)])
    for (const [kid, list] of fetched) {
      fetched.set(kid, list.map((key) => {
        const name = `${kid}\n${key.name}`
        const same = old.get(name) ?? key
        old.delete(name)
        withdrawn.delete(name)
        same.withdrawnAt = null
        return same
      }))
    }
    keys = fetched
    let some = false
    for (const [name, key] of old) {
      if (key.withdrawnAt !== null) continue
      key.withdrawnAt = clock.now()
      some = true
      if (withdrawn.size >= MAX_KEYS) withdrawn.delete(/** @type {string} */ (withdrawn.keys().next().value))
      withdrawn.set(name, key)
    }
    return some
  }

  /** One fetch at a time, shared by all who wait for it. */
  const refresh = () => fetching ??= fetchKeys().finally(() => { fetching = null })

  /** Fetches keys that are old, in the background. */
  function keepFresh () {
    const now = clock.monotonic()
    if (now >= staleAt && now >= nextFetchAt && !stopping.signal.aborted) refresh().catch(() => {})
  }

  /** @param {string} kid @param {string} alg */
  function lookup (kid, alg) {
    const candidates = (keys?.get(kid) ?? []).filter(({ algorithms }) => algorithms.includes(alg))
    if (candidates.length > 0 || kid !== '') return candidates.at(0)
    // A token need not name its key (RFC 7515, 4.1.4), but then there must be no choice.
    const all = [...keys?.values() ?? []].flat().filter(({ algorithms }) => algorithms.includes(alg))
    return all.length === 1 ? all[0] : undefined
  }

  /** @param {string} kid @param {string} alg */
  async function fetchFor (kid, alg) {
    if (asked.size < MAX_UNKNOWN) asked.add(kid)
    await refresh()
    const key = lookup(kid, alg)
    if (key === undefined) throw unknownKey()
    return key
  }

  return {
    /** The first fetch; if it fails, tokens are `unavailable` until a later one succeeds. */
    async start () {
      timer ??= clock.every(LOOK_EVERY, keepFresh).unref()
      await refresh().catch(() => {})
    },

    async stop () {
      timer?.stop()
      timer = undefined
      stopping.abort()
      await fetching?.catch(() => {})
    },

    keepFresh,

    /**
     * The key of a token: at once if it is known, or after the set was fetched again.
     * @param {{ kid: string | undefined, alg: string }} header
     * @returns {VerificationKey | Promise<VerificationKey>}
     * @throws {InkcastError} unauthorized: the issuer has no such key; unavailable: the key set cannot be fetched
     */
    find ({ kid = '', alg }) {
      keepFresh()
      const now = clock.monotonic()
      const key = lookup(kid, alg)
      if (key !== undefined) return key
      if (fetching !== null || now >= nextFetchAt) return fetchFor(kid, alg)
      if (missing.has(kid)) throw unknownKey()
      // It may be a key that the issuer made since the last fetch: do not send the user away for good.
      if (asked.size < MAX_UNKNOWN) asked.add(kid)
      throw new InkcastError('unavailable', 'the token names a key that is not known yet')
    }
  }
}

const unknownKey = () =>
  new InkcastError('unauthorized', 'the token was signed with a key that its issuer does not have')

/** @param {Map<string, VerificationKey[]> | null} keys @returns {[name: string, key: VerificationKey][]} */
function named (keys) {
  return [...(keys ?? [])].flatMap(([kid, list]) =>
    list.map((key) => /** @type {[string, VerificationKey]} */ ([`${kid}\n${key.name}`, key]))
  )
}

/**
 * @param {unknown} json
 * @param {import('../../base/common/log.js').Log} log
 */
function readKeys (json, log) {
  const list = /** @type {{ keys?: unknown } | null} */ (json)?.keys
  if (!Array.isArray(list)) throw new Error('not a key set: it has no list "keys"')
  /** @type {Map<string, VerificationKey[]>} */
  const keys = new Map()
  for (const jwk of list.slice(0, MAX_KEYS)) {
    try {
      const { kid = '', ...key } = keyFromJwk(jwk)
      keys.set(kid, [...keys.get(kid) ?? [], key])
    } catch (error) {
      // A set may hold keys for other purposes; that is no reason to worry.
      log.debug({ reason: error instanceof Error ? error.message : 'unknown' }, 'a key of the key set is not used')
    }
  }
  if (keys.size === 0) log.warn('the key set has no key that can verify a token')
  return keys
}
