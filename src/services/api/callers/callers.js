import { LruCache } from '../../../base/common/lru.js'
import { InkcastError } from '../../../base/common/errors.js'
import { createReloadedFiles } from '../../../config/reloaded-files.js'
import { KeySet } from '../../../people/auth/key-set.js'
import { readIssuer } from '../../../people/auth/token-parts.js'
import { checkPublication } from '../../../wire/publication.js'
import { Book, WEBHOOK } from './book.js'
import { Caller } from './caller.js'
import { CallerRates } from './caller-rates.js'
import { loadCallers } from './callers-file.js'
import { digestOf } from './credentials.js'
import { verifyFor } from './issuers.js'
import { LOCAL, checkName, checkOnThisMachine } from './local.js'
import { ALL_RIGHTS, checkRights } from './rights.js'

/**
 * @typedef {import('../../../wire/publication.js').Publication} Publication
 */

/** JWTs come again with every request; verifying one costs 50 us and more. */
const CACHED_TOKENS = 1000
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const ANY_WEBHOOK = { name: WEBHOOK, rights: ALL_RIGHTS, rate: undefined }

/**
 * Callers of the api, whichever door they come through: who they are, and what they may do. A door calls `identify`
 * once per request or stream; `admit` decides on each operation, and on each publication of a batch or a stream.
 */
export class Callers {
  #production
  #log
  #metrics
  #clock
  /** Rates and debts of callers. */
  rates
  /** Whether callers need a token or a certificate; otherwise only those on this machine are served. */
  needToken
  /** Those of API_TOKENS. */
  #own
  /** The settings in force; a reload replaces it. */
  #book
  /** @type {Map<string, KeySet>} by URL */
  #keySets = new Map()
  /** @type {LruCache<Caller>} by hash of the token */
  #cache = new LruCache(CACHED_TOKENS)
  #local
  #webhook
  #files
  #tenants

  /**
   * @param {Pick<import('../../../observe/services.js').Services, 'log' | 'clock' | 'random'> & Own} dependencies
   *
   * @typedef {object} Own
   * @property {Readonly<{ tokens: readonly string[], callersFile?: string }>} settings config.api; tokens as
   *   `name:token`, where one name may have several, to change them without a gap
   * @property {boolean} production config.production
   * @property {Pick<import('../../../people/tenants/budgets.js').TenantBudgets, 'names' | 'publishes'>} [tenants]
   * @property {Pick<import('../../../observe/metrics/metrics.js').Metrics, 'api_calls' | 'settings_file_wrong' |
   *   'settings_file_loads'>} metrics
   * @property {number} [reloadEvery] ms, for tests
   */
  constructor ({ settings, production, tenants, log, metrics, clock, random, reloadEvery }) {
    this.#tenants = tenants
    this.#production = production
    this.#log = log
    this.#metrics = metrics
    this.#clock = clock
    this.rates = new CallerRates({ metrics, clock })
    this.needToken = settings.tokens.length > 0 || settings.callersFile !== undefined
    this.#own = settings.tokens.map((entry) => {
      const at = entry.indexOf(':')
      const name = entry.slice(0, at)
      return { digest: digestOf(entry.slice(at + 1)), entry: { name, rights: ALL_RIGHTS, rate: undefined } }
    })
    this.#book = new Book({ tokens: this.#own, certificates: [], issuers: new Map(), subjects: [] })
    this.#local = new Caller(this.#book, { name: LOCAL, rights: ALL_RIGHTS, rate: undefined })
    this.#webhook = new Caller(this.#book, ANY_WEBHOOK, { find: (book) => book.webhook ?? ANY_WEBHOOK })
    const { callersFile: path } = settings
    // a caller whose key was withdrawn is refused where it is admitted
    const newKeySet = (/** @type {string} */ url) => new KeySet({ url, log, clock, random, onChange () {} })
    this.#files = path === undefined ? undefined : createReloadedFiles({
      setting: 'API_CALLERS_FILE', path, log, metrics, every: reloadEvery, clock,
      load: (readText) => loadCallers({
        path, readText, own: this.#own, tenants: tenants?.names, keySets: this.#keySets, newKeySet
      }),
      apply: (loaded) => this.#apply(loaded)
    })
  }

  /** @param {Awaited<ReturnType<typeof loadCallers>>} loaded */
  #apply ({ contents, used }) {
    const before = this.#keySets
    this.#book = new Book({ ...contents, tokens: [...this.#own, ...contents.tokens] })
    this.rates.change(contents.entries)
    this.#keySets = used
    this.#cache.clear()
    for (const [url, keySet] of before) if (!used.has(url)) keySet.stop()
  }

  /** @throws {Error} in production without callers, and if API_CALLERS_FILE is wrong */
  async start () {
    if (!this.needToken) {
      if (this.#production) throw new Error('API_TOKENS: required in production, as name:token,… (or API_CALLERS_FILE)')
      this.#log.info('API_TOKENS is not set: the api serves any program on this machine, and no other')
    }
    await this.#files?.start()
  }

  async stop () {
    await this.#files?.stop()
    await Promise.all([...this.#keySets.values()].map((keySet) => keySet.stop()))
  }

  /**
   * Finds the caller. The `Authorization` header decides, and where there is none the client certificate.
   *
   * @param {object} request
   * @param {string | undefined} request.authorization the header's value
   * @param {import('./credentials.js').Certificate} [request.certificate] of the client, verified
   * @param {string | undefined} request.address of the client
   * @param {Record<string, unknown>} request.headers by lower-case name; of gRPC, `host` is the `:authority`
   * @returns {Caller | Promise<Caller>}
   * @throws {InkcastError} (or rejects with) unauthorized, token_expired, unavailable; without callers in the
   *   settings forbidden, origin_refused
   */
  identify ({ authorization, certificate, address, headers }) {
    if (!this.needToken) {
      checkOnThisMachine({ address, headers })
      return this.#local
    }
    if (!this.#production) checkName(headers.host)
    if (authorization === undefined && certificate !== undefined) {
      const find = (/** @type {Book} */ book) => book.byCertificate(certificate)
      const entry = find(this.#book)
      if (entry === undefined)
        throw new InkcastError('unauthorized', 'the client certificate names no caller of this api')
      return new Caller(this.#book, entry, { find })
    }
    const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined)
      throw new InkcastError('unauthorized', 'the header authorization: Bearer <token> is needed')
    return this.#byToken(token)
  }

  /** @param {string} token @returns {Caller | Promise<Caller>} */
  #byToken (token) {
    const digest = digestOf(token)
    const find = (/** @type {Book} */ book) => book.byToken(digest)
    const entry = find(this.#book)
    if (entry !== undefined) return new Caller(this.#book, entry, { find })
    if (this.#book.hasIssuers && JWT.test(token)) return this.#byJwt(token, digest.toString('base64'))
    throw new InkcastError('unauthorized', 'the token is not one of a caller of this api')
  }

  /** @param {string} token @param {string} digest @returns {Caller | Promise<Caller>} */
  #byJwt (token, digest) {
    this.#refreshKeys()
    const known = this.#cache.get(digest, this.#clock.now())
    if (known !== undefined) return known
    const book = this.#book
    const issuer = book.issuer(readIssuer(token))
    if (issuer === undefined) throw new InkcastError('unauthorized', 'the token\'s claim iss: not an issuer of callers')
    const found = (/** @type {import('./issuers.js').Verified} */ verified) => {
      const find = (/** @type {Book} */ book) => book.byJwt(verified)
      const entry = find(this.#book)
      if (entry === undefined)
        throw new InkcastError('unauthorized', `the token's claim ${issuer.claim} names no caller of this api`)
      const caller = new Caller(this.#book, entry, { find, expiresAt: verified.expiresAt, key: verified.key })
      if (this.#book === book) this.#cache.set(digest, caller, verified.expiresAt)
      return caller
    }
    const verified = verifyFor(issuer, token, this.#clock.now())
    return verified instanceof Promise ? verified.then(found) : found(verified)
  }

  /** Keys that their issuer has withdrawn are noticed without a further request, too. */
  #refreshKeys () { for (const keySet of this.#keySets.values()) keySet.keepFresh() }

  /**
   * The one decision on what a caller may do, by the settings as they are now: after a reload it is another one for
   * streams and connections that are open. Counts a publication against the caller's rate.
   *
   * @param {Caller} caller
   * @param {Publication | import('./rights.js').Request} request
   * @throws {InkcastError} forbidden, rate_limited, unauthorized, token_expired
   */
  admit (caller, request) {
    try {
      const { name, rights, tenant } = caller.entryIn(this.#book, this.#clock)
      checkRights(name, rights, request)
      this.rates.take(name, request)
      if (tenant !== undefined && 'operator' in request) this.#tenants?.publishes(tenant)
      this.#metrics.api_calls.count(name, 'admitted')
    } catch (error) {
      if (error instanceof InkcastError) this.#metrics.api_calls.count(caller.name, error.code)
      const limited = error instanceof InkcastError && error.code === 'rate_limited'
      if ('operator' in request && !limited) this.rates.refused(caller.name)
      else this.rates.charge(caller.name, 1)
      throw error
    }
  }

  /**
   * The same, and the check of the publication itself, for what is published in lanes. Nothing may happen between the
   * two: a message has a thousand publications, and its refusals count before the next one is decoded.
   *
   * @param {Caller} caller
   * @param {Publication} publication
   * @param {number} maxBytes of its value
   * @returns {Publication} with the caller as its source
   * @throws {InkcastError} as `admit` and `checkPublication`
   */
  admitPublication (caller, publication, maxBytes) {
    this.admit(caller, publication)
    try {
      return { ...checkPublication(publication, { maxBytes }), source: caller.name }
    } catch (error) {
      this.#chargeIfWrong(caller, error)
      throw error
    }
  }

  /**
   * The publish path for one caller.
   * @param {Caller} caller
   * @param {import('../publish.js').Publish} publish
   * @returns {import('../publish.js').Publish}
   */
  publishFor (caller, publish) {
    return async (publication, options) => {
      this.admit(caller, publication)
      try {
        return await publish({ ...publication, source: caller.name }, options)
      } catch (error) {
        this.#chargeIfWrong(caller, error)
        throw error
      }
    }
  }

  /** @param {Caller} caller @param {unknown} error of a publication that was admitted, and counts against the rate */
  #chargeIfWrong ({ name }, error) {
    if (error instanceof InkcastError && error.status < 500) this.rates.charge(name, 1)
  }

  /**
   * The service at UPLINK_URL: all rights, unless API_CALLERS_FILE narrows them.
   * @param {import('../publish.js').Publish} publish
   */
  forWebhook (publish) {
    const { rates } = this
    return {
      publish: this.publishFor(this.#webhook, publish),
      refused: (/** @type {number | undefined} */ count) => rates.refused(WEBHOOK, count),
      decoding: (/** @type {number} */ bytes, /** @type {() => any} */ decode) =>
        rates.decoding(WEBHOOK, bytes, decode),
      owes: () => rates.owes(WEBHOOK)
    }
  }

  /**
   * For what is open for long: whether the caller would still be admitted. Counts nothing.
   *
   * @param {Caller} caller
   * @param {import('./rights.js').Request} [request]
   * @throws {InkcastError} unauthorized, token_expired; with a request forbidden
   */
  check (caller, request) {
    this.#refreshKeys()
    const { name, rights } = caller.entryIn(this.#book, this.#clock)
    if (request !== undefined) checkRights(name, rights, request)
  }
}
