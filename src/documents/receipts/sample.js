import { receiptOpened } from '../../observe/metrics/points.js'

/**
 * A share of the records of this worker that get a receipt without a request: clients that acknowledge by themselves
 * are asked, and the time until then becomes a metric and a span. All workers choose the same records.
 * docs/internals/decisions/0032-receipts.md
 *
 * @typedef {import('./receipt.js').Receipt} Receipt
 */
export class Sample {
  /** Hashes below it are in the sample. */
  #below
  #most
  /** Weight of its open receipts. */
  #weight = 0
  #clock
  #metrics
  #records
  #clients
  #sinceProduced
  #sinceWritten

  /**
   * @param {object} parts
   * @param {number} parts.share 0 to 1
   * @param {number} parts.most clients in its open receipts
   * @param {Pick<import('../../observe/metrics/metrics.js').Metrics,
   *   'sampled_records' | 'sampled_acknowledgements' | 'sampled_seconds'>} parts.metrics
   * @param {Pick<import('../../base/common/clock.js').Clock, 'now'>} parts.clock
   */
  constructor ({ share, most, metrics, clock }) {
    this.#below = share * 2 ** 32
    this.#most = most
    this.#clock = clock
    this.#metrics = metrics
    this.#records = metrics.sampled_records
    this.#clients = metrics.sampled_acknowledgements
    this.#sinceProduced = metrics.sampled_seconds.labels({ since: 'produced' })
    this.#sinceWritten = metrics.sampled_seconds.labels({ since: 'written' })
  }

  /** @param {import('../../wire/publication.js').Publication} publication @returns {boolean} */
  has ({ traceId, timestamp, keep }) {
    // a kept record reaches most of its clients over the log of the user
    return !keep && hash(traceId, timestamp) < this.#below
  }

  /** Whether it may open one more receipt. */
  get hasRoom () { return this.#weight < this.#most }

  /** There is no room for a record. */
  leaveOut () { this.#records.inc({ result: 'left_out' }) }

  /** @param {Receipt} receipt about to ask its first client */
  begin (receipt) {
    this.#records.inc({ result: 'asked' })
    if (receiptOpened.hasSubscribers)
      receiptOpened.publish({ by: this.#metrics, receipt, publication: receipt.sampled })
  }

  /** @param {number} difference of the weight of its open receipts */
  weigh (difference) { this.#weight += difference }

  /** @param {NonNullable<Receipt['sampled']>} record @param {number} ms since it was written */
  acknowledged ({ timestamp }, ms) {
    this.#sinceWritten.observe(ms / 1000)
    // clocks of other machines may be ahead
    this.#sinceProduced.observe(Math.max(0, this.#clock.now() - timestamp) / 1000)
  }

  /** @param {Receipt} receipt that is closed */
  finish (receipt) {
    this.#clients.inc({ result: 'acknowledged' }, receipt.acknowledged)
    this.#clients.inc({ result: 'unanswered' }, receipt.asked - receipt.acknowledged)
    receipt.stage?.end({ asked: receipt.asked, acknowledged: receipt.acknowledged })
    receipt.forgetMembers()
  }
}

/**
 * FNV-1a, then the finalizer of MurmurHash3: trace ids may differ in their last characters alone.
 * @param {string} traceId
 * @param {number} timestamp
 * @returns {number} 0 to 2^32 - 1
 */
function hash (traceId, timestamp) {
  let h = 0x811c9dc5
  for (let i = 0; i < traceId.length; i++) h = Math.imul(h ^ traceId.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ timestamp, 0x01000193)
  h = Math.imul(h ^ h >>> 16, 0x85ebca6b)
  h = Math.imul(h ^ h >>> 13, 0xc2b2ae35)
  return (h ^ h >>> 16) >>> 0
}
