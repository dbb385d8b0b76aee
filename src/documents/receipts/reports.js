import { Backoff, retry } from '../../base/common/backoff.js'
import { InkcastError, publicError } from '../../base/common/errors.js'
import { receiptRecord } from './summary.js'

/** Time for retries with Redis and the uplink; after it a receipt is lost, ms. Exported for tests: a time. */
export const GIVE_UP = 60_000

/**
 * Reports of a worker about its receipts: parts to the other workers that the record reached, and a summary to the
 * uplink, if it is the last one of them.
 *
 * @typedef {import('./receipt.js').Receipt} Receipt
 *
 * @typedef {object} ReportDependencies
 * @property {Pick<import('../../log/publish/uplink.js').Uplink, 'send'>} uplink
 * @property {import('./redis-receipts.js').ReceiptParts} [parts] default: this worker is alone
 * @property {import('../../base/common/log.js').Log} log
 * @property {import('../../base/common/clock.js').Clock} clock
 * @property {Pick<import('../../base/common/random.js').Random, 'number'>} random
 */
export class Reports {
  /**
   * Calls in progress, as many as receipts. Each has a signal of its own: Node walks all listeners of a signal for each
   * one that is added or removed, which with thousands of repeated calls takes a whole core.
   * @type {Set<AbortController>}
   */
  #calls = new Set()
  #isStopped = false

  /** @param {ReportDependencies} dependencies */
  constructor ({ uplink, parts, log, clock, random }) {
    this.uplink = uplink
    this.parts = parts
    this.log = log
    this.clock = clock
    this.random = random
  }

  /** For the case that this worker dies. @param {Receipt} receipt all members are added in this turn */
  announceSoon (receipt) {
    const name = nameOf(receipt)
    if (this.parts !== undefined && name !== undefined) queueMicrotask(() => this.#announce(receipt, name))
  }

  /** @param {Receipt} receipt @param {string} name */
  async #announce (receipt, name) {
    const { about, delivered, unasked, sharedId } = receipt
    try {
      receipt.holder = this.#others.holder()
      await this.#others.announce(name, { about, delivered, unasked, shared: sharedId !== undefined }, receipt.holder)
      receipt.announced = true
    } catch (error) {
      this.log.debug({ err: error }, 'a receipt could not be announced')
    }
  }

  /** @param {Receipt} receipt @returns {Promise<boolean>} whether other workers have to report as well */
  async finish (receipt) {
    const part = receipt.part()
    receipt.forgetMembers()
    const { sharedId } = receipt
    return this.#send(receipt, sharedId === undefined
      ? [part]
      : await this.#insist(() => this.#others.report(sharedId, part, receipt.announced)))
  }

  /**
   * Ends a receipt although other workers have not reported: they are late, or have died.
   * @param {Receipt} receipt
   */
  async close (receipt) {
    await this.#send(receipt, await this.#insist(() => this.#others.close(/** @type {string} */ (receipt.sharedId))))
  }

  /** From now on nothing is lost if this worker dies. @param {Receipt} receipt */
  settled (receipt) {
    if (receipt.holder === undefined) return
    this.#others.settled(/** @type {string} */ (nameOf(receipt)), receipt.holder).catch((error) =>
      this.log.debug({ err: error }, 'a closed receipt could not be removed: it expires'))
    receipt.holder = undefined
  }

  /** Aborts what is in progress. */
  stop () {
    this.#isStopped = true
    const reason = new InkcastError('unavailable')
    for (const call of this.#calls) call.abort(reason)
  }

  /** Of a receipt that is shared, or has a holder. */
  get #others () { return /** @type {import('./redis-receipts.js').ReceiptParts} */ (this.parts) }

  /**
   * @param {Receipt} receipt
   * @param {(import('./summary.js').Part | number)[]} parts of all workers; empty: another worker sends them
   * @returns {Promise<boolean>} whether it was empty
   */
  async #send ({ about }, parts) {
    if (parts.length === 0) return true
    const record = receiptRecord(about, parts, this.clock.now())
    await this.#insist(() => this.uplink.send(record))
    return false
  }

  /** @template T @param {() => Promise<T>} attempt */
  async #insist (attempt) {
    if (this.#isStopped) throw new InkcastError('unavailable')
    const call = new AbortController()
    this.#calls.add(call)
    try {
      return await insist(attempt, call.signal, this.clock, this.random)
    } finally {
      this.#calls.delete(call)
    }
  }
}

/** @param {Receipt} receipt @returns {string | undefined} its id among what this worker leaves if it dies */
const nameOf = ({ sharedId, ackId }) => sharedId ?? (ackId === undefined ? undefined : String(ackId))

/**
 * @template T
 * @param {() => Promise<T>} attempt
 * @param {AbortSignal} signal
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'sleep'>} clock
 * @param {Pick<import('../../base/common/random.js').Random, 'number'>} random
 * @returns {Promise<T>}
 */
export function insist (attempt, signal, clock, random) {
  const deadline = clock.monotonic() + GIVE_UP
  return retry(attempt, {
    signal,
    clock,
    backoff: new Backoff({ min: 100, random }),
    retryable: (error) =>
      clock.monotonic() < deadline && !(error instanceof InkcastError && !publicError(error).retryable)
  })
}
