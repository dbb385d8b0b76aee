import { dirname } from 'node:path'
import { LruCache } from '../../../base/common/lru.js'
import { InkcastError } from '../../../base/common/errors.js'
import { TokenBucket } from '../../../base/common/token-bucket.js'
import { createReloadedFiles } from '../../../config/reloaded-files.js'
import { createKeySet } from '../../../people/auth/key-set.js'
import { readIssuer } from '../../../people/auth/token-parts.js'
import { checkPublication } from '../../../wire/publication.js'
import { Book, WEBHOOK } from './book.js'
import { Caller } from './caller.js'
import { readCallers } from './callers-file.js'
import { digestOf } from './credentials.js'
import { verifyFor } from './issuers.js'
import { LOCAL, checkName, checkOnThisMachine } from './local.js'
import { ALL_RIGHTS, checkRights } from './rights.js'

/**
 * Callers of the api, whichever door they come through: who they are, and what they may do. A door calls `identify`
 * once per request or stream; `admit` decides on each operation, and on each publication of a batch or a stream.
 *
 * @typedef {ReturnType<typeof createCallers>} Callers
 * @typedef {Pick<Callers, 'admit' | 'admitPublication' | 'publishFor'>} Admission
 * @typedef {import('../../../wire/publication.js').Publication} Publication
 * @typedef {import('./book.js').Entry} Entry
 */

/** JWTs come again with every request; verifying one costs 50 us and more. */
const CACHED_TOKENS = 1000
/**
 * Refused publications and calls of one caller that cost it nothing. Refusing takes CPU time as well, so above this the
 * caller is refused before its request is read.
 */
const FREE_REFUSALS = { perSecond: 1000, burst: 2000 }
/** Decoding for this time costs a caller as much as a refusal, ms of CPU time. */
const DECODING_PER_REFUSAL = 0.25
/** Shorter requests are not measured, bytes: their number is limited by the rate. */
const MEASURED = 64 * 1024
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * @param {object} dependencies
 * @param {Readonly<{ tokens: readonly string[], callersFile?: string }>} dependencies.settings config.api; tokens as
 *   `name:token`, where one name may have several, to change them without a gap
 * @param {boolean} dependencies.production config.production
 * @param {import('../../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../../observe/metrics/metrics.js').Metrics, 'api_calls' | 'settings_file_wrong' |
 *   'settings_file_loads'>} dependencies.metrics
 * @param {import('../../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../base/common/random.js').Random} dependencies.random
 * @param {number} [dependencies.reloadEvery] ms, for tests
 */
export function createCallers ({ settings, production, log, metrics, clock, random, reloadEvery }) {
  const { tokens, callersFile } = settings
  const needToken = tokens.length > 0 || callersFile !== undefined
  const own = tokens.map((entry) => {
    const at = entry.indexOf(':')
    const name = entry.slice(0, at)
    return { digest: digestOf(entry.slice(at + 1)), entry: { name, rights: ALL_RIGHTS, rate: undefined } }
  })
  let book = new Book({ tokens: own, certificates: [], issuers: new Map(), subjects: [] })
  /** @type {Map<string, TokenBucket>} by caller, and by caller and operation with a space between */
  let rates = new Map()
  /** Names are those of callers only, so there are few. @type {Map<string, TokenBucket>} by caller */
  const refusals = new Map()
  /** @type {Map<string, import('./issuers.js').KeySet>} by URL */
  let keySets = new Map()
  /** @type {LruCache<Caller>} by hash of the token */
  const cache = new LruCache(CACHED_TOKENS)
  const local = new Caller(book, { name: LOCAL, rights: ALL_RIGHTS, rate: undefined })
  const anyWebhook = { name: WEBHOOK, rights: ALL_RIGHTS, rate: undefined }
  const webhook = new Caller(book, anyWebhook, { find: (book) => book.webhook ?? anyWebhook })

  const files = callersFile === undefined
    ? undefined
    : createReloadedFiles({
        setting: 'API_CALLERS_FILE', path: callersFile, log, metrics, every: reloadEvery, clock,
        async load (readText) {
          /** @type {typeof keySets} */
          const used = new Map()
          const contents = await readCallers({
            text: await readText(callersFile),
            folder: dirname(callersFile),
            readText,
            taken: new Set(own.map(({ entry }) => entry.name)),
            keySetAt (url) {
              const keySet = used.get(url) ?? keySets.get(url) ??
                // a caller whose key was withdrawn is refused where it is admitted
                createKeySet({ url, log, clock, random, onChange () {} })
              used.set(url, keySet)
              return keySet
            }
          })
          // a set that cannot be fetched fails nothing: its callers are `unavailable` until it can
          await Promise.all([...used].map(([url, keySet]) => keySets.has(url) ? undefined : keySet.start()))
          return { contents, used }
        },
        apply: ({ contents, used }) => {
          const before = keySets
          book = new Book({ ...contents, tokens: [...own, ...contents.tokens] })
          rates = ratesOf(contents.entries)
          keySets = used
          cache.clear()
          for (const [url, keySet] of before) if (!used.has(url)) keySet.stop()
        }
      })

  /** @param {readonly Entry[]} entries */
  function ratesOf (entries) {
    const now = clock.monotonic()
    /** @type {typeof rates} */
    const next = new Map()
    /** @param {string} key @param {import('../../../base/common/token-bucket.js').Rate} settings */
    const add = (key, settings) => {
      const rate = rates.get(key)
      rate?.change(settings, now)
      next.set(key, rate ?? new TokenBucket(settings, now))
    }
    for (const { name, rate, rates: single = [] } of entries) {
      if (rate !== undefined) add(name, rate)
      for (const [what, settings] of single) add(`${name} ${what}`, settings)
    }
    return next
  }

  /** @param {string} token @returns {Caller | Promise<Caller>} */
  function byToken (token) {
    const digest = digestOf(token)
    const find = (/** @type {Book} */ book) => book.byToken(digest)
    const entry = find(book)
    if (entry !== undefined) return new Caller(book, entry, { find })
    if (book.hasIssuers && JWT.test(token)) return byJwt(token, digest.toString('base64'))
    throw new InkcastError('unauthorized', 'the token is not one of a caller of this api')
  }

  /** @param {string} token @param {string} digest @returns {Caller | Promise<Caller>} */
  function byJwt (token, digest) {
    for (const keySet of keySets.values()) keySet.keepFresh()
    const known = cache.get(digest, clock.now())
    if (known !== undefined) return known
    const issuer = book.issuer(readIssuer(token))
    if (issuer === undefined) throw new InkcastError('unauthorized', 'the token\'s claim iss: not an issuer of callers')
    const at = book
    const found = (/** @type {import('./issuers.js').Verified} */ verified) => {
      const find = (/** @type {Book} */ book) => book.byJwt(verified)
      const entry = find(book)
      if (entry === undefined)
        throw new InkcastError('unauthorized', `the token's claim ${issuer.claim} names no caller of this api`)
      const caller = new Caller(book, entry, { find, expiresAt: verified.expiresAt, key: verified.key })
      if (book === at) cache.set(digest, caller, verified.expiresAt)
      return caller
    }
    const verified = verifyFor(issuer, token, clock.now())
    return verified instanceof Promise ? verified.then(found) : found(verified)
  }

  /**
   * @param {Caller} caller
   * @param {Publication | import('./rights.js').Request} request
   */
  function admit (caller, request) {
    try {
      const { name, rights } = caller.entryIn(book, clock)
      checkRights(name, rights, request)
      if (rates.size > 0) {
        const what = 'operator' in request ? request.operator : request.operation
        take(`${name} ${what}`, `${name} calls ${what}`)
        if ('operator' in request) take(name, `${name} publishes`)
      }
      metrics.api_calls.count(name, 'admitted')
    } catch (error) {
      if (error instanceof InkcastError) metrics.api_calls.count(caller.name, error.code)
      const limited = error instanceof InkcastError && error.code === 'rate_limited'
      if ('operator' in request && !limited) refused(caller)
      else chargeRefusals(caller, 1)
      throw error
    }
  }

  /** @param {string} key of a rate @param {string} does the caller and what it does, for the message */
  function take (key, does) {
    const bucket = rates.get(key)
    bucket?.mustTake(clock.monotonic(), () => `the caller ${does} more than ${bucket.rate.perSecond} per second`)
  }

  /** @param {Caller} caller @param {number} count */
  function chargeRefusals ({ name }, count) {
    let rate = refusals.get(name)
    if (rate === undefined) refusals.set(name, rate = new TokenBucket(FREE_REFUSALS, clock.monotonic()))
    rate.charge(count, clock.monotonic())
  }

  /** @param {Caller} caller */
  const owes = ({ name }) => refusals.get(name)?.owes(clock.monotonic()) ?? 0

  /** @param {Caller} caller @param {number} [count] */
  function refused (caller, count = 1) {
    rates.get(caller.name)?.charge(count, clock.monotonic())
    chargeRefusals(caller, count)
  }

  /**
   * Decodes a part of a request, and charges the caller the CPU time that it took: bytes do not show it.
   *
   * @template T
   * @param {Caller} caller
   * @param {number} bytes of that part
   * @param {() => T} decode
   * @returns {T}
   */
  function decoding (caller, bytes, decode) {
    if (bytes < MEASURED) return decode()
    const before = clock.cpu()
    try {
      return decode()
    } finally {
      chargeRefusals(caller, (clock.cpu() - before) / DECODING_PER_REFUSAL)
    }
  }

  /**
   * @param {Caller} caller
   * @param {unknown} error of a publication that was admitted, and counts against the rate
   */
  function chargeIfWrong (caller, error) {
    if (error instanceof InkcastError && error.status < 500) chargeRefusals(caller, 1)
  }

  /** @param {Caller} caller @param {Publication} publication @param {number} maxBytes of its value */
  function admitPublication (caller, publication, maxBytes) {
    admit(caller, publication)
    try {
      return { ...checkPublication(publication, { maxBytes }), source: caller.name }
    } catch (error) {
      chargeIfWrong(caller, error)
      throw error
    }
  }

  /**
   * @param {Caller} caller
   * @param {import('../publish.js').Publish} publish
   * @returns {import('../publish.js').Publish}
   */
  const publishFor = (caller, publish) => async (publication) => {
    admit(caller, publication)
    try {
      return await publish({ ...publication, source: caller.name })
    } catch (error) {
      chargeIfWrong(caller, error)
      throw error
    }
  }

  return {
    /**
     * The service at UPLINK_URL: all rights, unless API_CALLERS_FILE narrows them.
     * @param {import('../publish.js').Publish} publish
     */
    forWebhook: (publish) => ({
      publish: publishFor(webhook, publish),
      refused: (/** @type {number | undefined} */ count) => refused(webhook, count),
      decoding: (/** @type {number} */ bytes, /** @type {() => any} */ decode) => decoding(webhook, bytes, decode),
      owes: () => owes(webhook)
    }),

    /** Whether callers need a token or a certificate; otherwise only those on this machine are served. */
    needToken,

    /** @throws {Error} in production without callers, and if API_CALLERS_FILE is wrong */
    async start () {
      if (!needToken) {
        if (production) throw new Error('API_TOKENS: required in production, as name:token,… (or API_CALLERS_FILE)')
        log.info('API_TOKENS is not set: the api serves any program on this machine, and no other')
      }
      await files?.start()
    },

    async stop () {
      await files?.stop()
      await Promise.all([...keySets.values()].map((keySet) => keySet.stop()))
    },

    /**
     * Who calls. The `Authorization` header decides, and where there is none the client certificate.
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
      if (!needToken) {
        checkOnThisMachine({ address, headers })
        return local
      }
      if (!production) checkName(headers.host)
      if (authorization === undefined && certificate !== undefined) {
        const find = (/** @type {Book} */ book) => book.byCertificate(certificate)
        const entry = find(book)
        if (entry === undefined)
          throw new InkcastError('unauthorized', 'the client certificate names no caller of this api')
        return new Caller(book, entry, { find })
      }
      const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      if (token === undefined)
        throw new InkcastError('unauthorized', 'the header authorization: Bearer <token> is needed')
      return byToken(token)
    },

    /**
     * The one decision on what a caller may do, by the settings as they are now: after a reload it is another one for
     * streams and connections that are open. Counts a publication against the caller's rate.
     *
     * @type {(caller: Caller, request: Publication | import('./rights.js').Request) => void}
     * @throws {InkcastError} forbidden, rate_limited, unauthorized, token_expired
     */
    admit,

    /**
     * The same, and the check of the publication itself, for what is published in lanes. Nothing may happen between the
     * two: a message has a thousand publications, and its refusals count before the next one is decoded.
     *
     * @type {(caller: Caller, publication: Publication, maxBytes: number) => Publication} the publication with the
     *   caller as its source
     * @throws {InkcastError} as `admit` and `checkPublication`
     */
    admitPublication,

    /**
     * Charges a caller for publications that were refused without `admit`: they are not well formed, or their message
     * has too many. They count against the caller's rate, as those that it admits.
     *
     * @type {(caller: Caller, count?: number) => void}
     */
    refused,

    decoding,

    /** @type {(caller: Caller) => number} ms for which nothing of the caller may be read; 0: it may */
    owes,

    /**
     * Before a request is read that is likely to be refused as well.
     * @param {Caller} caller
     * @throws {InkcastError} rate_limited: too much of the caller was refused lately
     */
    checkDebt (caller) {
      const retryInMs = owes(caller)
      if (retryInMs > 0) {
        metrics.api_calls.count(caller.name, 'rate_limited')
        const { name } = caller
        throw new InkcastError('rate_limited', `requests of the caller ${name} were refused too often, or took too long to decode`, {
          retryInMs
        })
      }
    },

    /**
     * For what is open for long: whether the caller would still be admitted. Counts nothing.
     *
     * @param {Caller} caller
     * @param {import('./rights.js').Request} [request]
     * @throws {InkcastError} unauthorized, token_expired; with a request forbidden
     */
    check (caller, request) {
      // a key that its issuer has withdrawn is noticed without a further request, too
      for (const keySet of keySets.values()) keySet.keepFresh()
      const { name, rights } = caller.entryIn(book, clock)
      if (request !== undefined) checkRights(name, rights, request)
    },

    /**
     * The publish path for one caller.
     * @type {(caller: Caller, publish: import('../publish.js').Publish) => import('../publish.js').Publish}
     */
    publishFor
  }
}
