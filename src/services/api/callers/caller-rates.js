import { InkcastError } from '../../../base/common/errors.js'
import { TokenBucket } from '../../../base/common/token-bucket.js'

/**
 * Refused publications and calls of one caller that cost it nothing. Refusing takes CPU time as well, so above this the
 * caller is refused before its request is read.
 */
const FREE_REFUSALS = { perSecond: 1000, burst: 2000 }
/** Decoding for this time costs a caller as much as a refusal, ms of CPU time. */
const DECODING_PER_REFUSAL = 0.25
/** Shorter requests are not measured, bytes: their number is limited by the rate. */
const MEASURED = 64 * 1024

/** How often callers may call, and the debt of each for refused work. Callers are given by their names. */
export class CallerRates {
  /** @type {Map<string, TokenBucket>} by caller, and by caller and operation with a space between */
  #rates = new Map()
  /** Names are those of callers only, so there are few. @type {Map<string, TokenBucket>} by caller */
  #refusals = new Map()
  #metrics
  #clock

  /**
   * @param {object} dependencies
   * @param {Pick<import('../../../observe/metrics/metrics.js').Metrics, 'api_calls'>} dependencies.metrics
   * @param {Pick<import('../../../base/common/clock.js').Clock, 'monotonic' | 'cpu'>} dependencies.clock
   */
  constructor ({ metrics, clock }) {
    this.#metrics = metrics
    this.#clock = clock
  }

  /** Applies changed settings. @param {readonly import('./book.js').Entry[]} entries */
  change (entries) {
    const now = this.#clock.monotonic()
    const before = this.#rates
    this.#rates = new Map()
    /** @param {string} key @param {import('../../../base/common/token-bucket.js').Rate} settings */
    const add = (key, settings) => {
      const rate = before.get(key)
      rate?.change(settings, now)
      this.#rates.set(key, rate ?? new TokenBucket(settings, now))
    }
    for (const { name, rate, rates: single = [] } of entries) {
      if (rate !== undefined) add(name, rate)
      for (const [what, settings] of single) add(`${name} ${what}`, settings)
    }
  }

  /**
   * Counts a call or publication.
   * @param {string} name
   * @param {import('../../../wire/publication.js').Publication | import('./rights.js').Request} request
   * @throws {InkcastError} rate_limited
   */
  take (name, request) {
    if (this.#rates.size === 0) return
    const publishes = 'operator' in request
    const operation = publishes ? request.operator : request.operation
    this.#takeOne(`${name} ${operation}`, `${name} calls ${operation}`)
    if (publishes) this.#takeOne(name, `${name} publishes`)
  }

  /** @param {string} key of a rate @param {string} does the caller and what it does, for the message */
  #takeOne (key, does) {
    const bucket = this.#rates.get(key)
    bucket?.mustTake(this.#clock.monotonic(), () => `the caller ${does} more than ${bucket.rate.perSecond} per second`)
  }

  /** Charges refused work that does not count against the caller's rate. @param {string} name @param {number} count */
  charge (name, count) {
    const now = this.#clock.monotonic()
    let debt = this.#refusals.get(name)
    if (debt === undefined) this.#refusals.set(name, debt = new TokenBucket(FREE_REFUSALS, now))
    debt.charge(count, now)
  }

  /**
   * Charges a caller for publications that were refused, also without `admit`: they are not well formed, or their
   * message has too many. They count against the caller's rate, as those that it admits.
   * @param {string} name
   * @param {number} [count]
   */
  refused (name, count = 1) {
    this.#rates.get(name)?.charge(count, this.#clock.monotonic())
    this.charge(name, count)
  }

  /** @param {string} name @returns {number} ms for which nothing of the caller may be read; 0: it may */
  owes (name) { return this.#refusals.get(name)?.owes(this.#clock.monotonic()) ?? 0 }

  /**
   * Before a request is read that is likely to be refused as well.
   * @param {string} name
   * @throws {InkcastError} rate_limited: too much of the caller was refused lately
   */
  checkDebt (name) {
    const retryInMs = this.owes(name)
    if (retryInMs <= 0) return
    this.#metrics.api_calls.count(name, 'rate_limited')
    const message = `requests of the caller ${name} were refused too often, or took too long to decode`
    throw new InkcastError('rate_limited', message, { retryInMs })
  }

  /**
   * Decodes a part of a request, and charges the caller the CPU time that it took: bytes do not show it.
   *
   * @template T
   * @param {string} name
   * @param {number} bytes of that part
   * @param {() => T} decode
   * @returns {T}
   */
  decoding (name, bytes, decode) {
    if (bytes < MEASURED) return decode()
    const before = this.#clock.cpu()
    try {
      return decode()
    } finally {
      this.charge(name, (this.#clock.cpu() - before) / DECODING_PER_REFUSAL)
    }
  }
}
