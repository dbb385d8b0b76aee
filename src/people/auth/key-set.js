import { Backoff } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { fetchJson } from '../../base/common/fetch-json.js'
import { keyFromJwk } from './keys.js'

/** @typedef {import('./keys.js').VerificationKey} VerificationKey */

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
 * The issuer's keys (RFC 7517), kept in memory. jose's createRemoteJWKSet does not fit: it drops its keys when they
 * are old and the issuer is down, and its cool-down begins at the last success only, so that tokens with made-up key
 * ids make one request each to an issuer that fails.
 */
export class KeySet {
  #parts
  #stopping = new AbortController()
  #backoff
  /** By key id, '' for keys without; null before the first fetch. @type {Map<string, VerificationKey[]> | null} */
  #keys = null
  /**
   * Those that it had before: an issuer that leaves one out by mistake gets the same back. By id and name.
   * @type {Map<string, VerificationKey>}
   */
  #withdrawn = new Map()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  #body = ''
  #staleAt = -Infinity
  #nextFetchAt = -Infinity
  /** @type {Promise<void> | null} */
  #fetching = null
  /** Unknown key ids that were asked for since the last fetch, and those that it did not bring. */
  #asked = new Set()
  #missing = new Set()

  /**
   * @param {object} parts
   * @param {string} parts.url
   * @param {import('../../base/common/log.js').Log} parts.log
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'number'>} parts.random
   * @param {(withdrawn: boolean) => void} parts.onChange the set has changed; results of an older set may be invalid.
   *   withdrawn: keys were removed from the set
   */
  constructor (parts) {
    this.#parts = parts
    this.#backoff = new Backoff({ min: 1000, max: 30_000, random: parts.random })
  }

  /** The first fetch; if it fails, tokens are `unavailable` until a later one succeeds. */
  async start () {
    this.#timer ??= this.#parts.clock.every(LOOK_EVERY, () => this.keepFresh()).unref()
    await this.#refresh().catch(() => {})
  }

  async stop () {
    this.#timer?.stop()
    this.#timer = undefined
    this.#stopping.abort()
    await this.#fetching?.catch(() => {})
  }

  /** Fetches keys that are old, in the background. */
  keepFresh () {
    const now = this.#parts.clock.monotonic()
    const due = now >= this.#staleAt && now >= this.#nextFetchAt && !this.#stopping.signal.aborted
    if (due) this.#refresh().catch(() => {})
  }

  /**
   * The key of a token: at once if it is known, or after the set was fetched again.
   * @param {{ kid: string | undefined, alg: string }} header
   * @returns {VerificationKey | Promise<VerificationKey>}
   * @throws {InkcastError} unauthorized: the issuer has no such key; unavailable: the key set cannot be fetched
   */
  find ({ kid = '', alg }) {
    this.keepFresh()
    const key = this.#lookup(kid, alg)
    if (key !== undefined) return key
    if (this.#fetching !== null || this.#parts.clock.monotonic() >= this.#nextFetchAt) return this.#fetchFor(kid, alg)
    if (this.#missing.has(kid)) throw unknownKey()
    // It may be a key that the issuer made since the last fetch: do not send the user away for good.
    if (this.#asked.size < MAX_UNKNOWN) this.#asked.add(kid)
    throw new InkcastError('unavailable', 'the token names a key that is not known yet')
  }

  async #fetchKeys () {
    const { url, log, clock, onChange } = this.#parts
    const { signal } = this.#stopping
    try {
      const json = await fetchJson(url, { timeout: TIMEOUT, maxBytes: MAX_BYTES, signal, clock })
      const fetched = readKeys(json, log)
      const changed = this.#body !== (this.#body = JSON.stringify(json))
      const some = this.#replace(fetched)
      this.#missing = this.#asked
      this.#asked = new Set()
      this.#backoff.reset()
      this.#nextFetchAt = clock.monotonic() + COOL_DOWN
      this.#staleAt = clock.monotonic() + MAX_AGE
      if (changed) onChange(some)
    } catch (error) {
      this.#nextFetchAt = clock.monotonic() + this.#backoff.next()
      if (!signal.aborted) log.warn({ err: error, keepsKeys: this.#keys !== null }, 'cannot fetch the key set')
      throw new InkcastError('unavailable', 'the keys that verify tokens cannot be fetched')
    }
  }

  /**
   * @param {Map<string, VerificationKey[]>} fetched
   * @returns {boolean} whether keys are missing that were there before
   */
  #replace (fetched) {
    const old = new Map([...this.#withdrawn, ...named(this.#keys)])
    for (const [kid, list] of fetched) {
      fetched.set(kid, list.map((key) => {
        const name = `${kid}\n${key.name}`
        const same = old.get(name) ?? key
        old.delete(name)
        this.#withdrawn.delete(name)
        same.withdrawnAt = null
        return same
      }))
    }
    this.#keys = fetched
    let some = false
    for (const [name, key] of old) {
      if (key.withdrawnAt !== null) continue
      key.withdrawnAt = this.#parts.clock.now()
      some = true
      if (this.#withdrawn.size >= MAX_KEYS)
        this.#withdrawn.delete(/** @type {string} */ (this.#withdrawn.keys().next().value))
      this.#withdrawn.set(name, key)
    }
    return some
  }

  /** One fetch at a time, shared by all who wait for it. */
  #refresh () { return this.#fetching ??= this.#fetchKeys().finally(() => { this.#fetching = null }) }

  /** @param {string} kid @param {string} alg */
  #lookup (kid, alg) {
    const candidates = (this.#keys?.get(kid) ?? []).filter(({ algorithms }) => algorithms.includes(alg))
    if (candidates.length > 0 || kid !== '') return candidates.at(0)
    // A token need not name its key (RFC 7515, 4.1.4), but then there must be no choice.
    const all = [...this.#keys?.values() ?? []].flat().filter(({ algorithms }) => algorithms.includes(alg))
    return all.length === 1 ? all[0] : undefined
  }

  /** @param {string} kid @param {string} alg */
  async #fetchFor (kid, alg) {
    if (this.#asked.size < MAX_UNKNOWN) this.#asked.add(kid)
    await this.#refresh()
    const key = this.#lookup(kid, alg)
    if (key === undefined) throw unknownKey()
    return key
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
