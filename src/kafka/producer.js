import { InkcastError } from '../base/common/errors.js'
import { BatchSender, lateError } from './batch-sender.js'

/** @typedef {import('./batch-sender.js').Waiting} Waiting */

/**
 * @typedef {object} ProducerRecord
 * @property {string | Buffer | null} key records of one key keep their order
 * @property {Buffer | null} value
 * @property {import('./contract.js').Headers} headers
 * @property {number} [partition] default: the key's
 */

export const LIMITS = Object.freeze({
  /** Maximum number of pending records, sent or not; further ones are refused at once. */
  records: 10_000,
  /** Maximum size of pending records. */
  bytes: 32 * 2 ** 20,
  /** Timeout of an acknowledgement, ms. */
  timeout: 10_000,
  /** Maximum size of a request. Larger ones save little and delay the response. */
  batchRecords: 500,
  batchBytes: 512 * 1024
})

/** Minimum that Kafka adds to a record, and to each of its headers, bytes. */
const OVERHEAD = 40
const HEADER_OVERHEAD = 10
const SWEEP_INTERVAL = 250

/**
 * Sends records of one topic, one request at a time. Records that are sent meanwhile go into the next request: with
 * little load there is no delay, and under load requests grow. A failed batch is retried before later ones, which keeps
 * the order.
 *
 * The producer is idempotent: the broker recognizes a batch that was sent again because its acknowledgement was lost.
 * docs/internals/decisions/0011-kafka-producer.md
 */
export class Producer {
  #clock
  #limits
  #onPending
  #sender
  /** @type {Waiting[]} records in no batch yet */
  #queue = []
  /** @type {Waiting[]} */
  #batch = []
  #pendingRecords = 0
  #pendingBytes = 0
  #stopped = false
  #pumping = false
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #sweeper

  /**
   * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock' | 'random'> & Own} dependencies
   *
   * @typedef {object} Own
   * @property {Pick<import('./contract.js').KafkaDriver, 'produce'>} kafka
   * @property {string} topic
   * @property {Partial<Record<keyof typeof LIMITS, number>>} [limits]
   * @property {(records: number) => void} [onPending] called with the number of pending records whenever it changes
   */
  constructor ({ kafka, topic, limits = {}, onPending = () => {}, ...services }) {
    this.#clock = services.clock
    this.#limits = { ...LIMITS, ...limits }
    this.#onPending = onPending
    this.#sender = new BatchSender(services, {
      kafka, topic,
      batchBytes: this.#limits.batchBytes,
      settle: (waiting, error) => this.#settle(waiting, error)
    })
  }

  /** @param {Waiting} waiting @param {InkcastError} [error] why it is given up, if Kafka does not have it */
  #settle (waiting, error) {
    if (waiting.settled) return
    waiting.settled = true
    this.#pendingRecords--
    this.#pendingBytes -= waiting.bytes
    this.#onPending(this.#pendingRecords)
    if (error && !waiting.message.written) waiting.reject(error)
    else waiting.resolve()
  }

  /**
   * Resolves records that the driver has written, and rejects those whose timeout is over. A record that was never
   * tried leaves the queue, so it is not written later.
   */
  #sweep () {
    const now = this.#clock.monotonic()
    // one broker has them; the call waits for another one
    for (const waiting of this.#batch) if (waiting.message.written) this.#settle(waiting)
    const before = this.#pendingRecords
    for (const waiting of this.#batch) if (waiting.deadline <= now) this.#settle(waiting, lateError(waiting.tried))
    const late = this.#queue.findIndex(({ deadline }) => deadline > now)
    for (const waiting of this.#queue.splice(0, late === -1 ? this.#queue.length : late))
      this.#settle(waiting, lateError(false))
    // the driver may retry for a minute before it reports a failure
    if (this.#pendingRecords < before)
      this.#sender.fails({ records: before - this.#pendingRecords }, 'Kafka does not respond: sends have failed by timeout')
    if (this.#pendingRecords === 0) {
      this.#sweeper?.stop()
      this.#sweeper = undefined
    }
  }

  #takeBatch () {
    let bytes = 0
    let count = 0
    while (
      count < this.#queue.length &&
      count < this.#limits.batchRecords &&
      (count === 0 || bytes + this.#queue[count].bytes <= this.#sender.batchBytes)
    )
      bytes += this.#queue[count++].bytes
    return this.#queue.splice(0, count)
  }

  async #pump () {
    if (this.#pumping) return
    this.#pumping = true
    // records of one turn of the event loop go into one request
    await new Promise((resolve) => { this.#clock.soon(() => resolve(undefined)) })
    while (this.#queue.length > 0) {
      this.#batch = this.#takeBatch()
      await this.#sender.deliver(this.#batch)
      this.#batch = []
    }
    this.#pumping = false
  }

  /**
   * Connects in the background, so that the first record does not wait for it. Resolves at once, also while Kafka is
   * unavailable.
   */
  async start () {
    this.#sender.connect()
  }

  /**
   * @param {ProducerRecord} record
   * @returns {Promise<void>} resolves when all in-sync replicas have it. Rejects with `unavailable` if it was
   *   certainly not written (at once above the limit of pending records), with `timeout` if that is unknown, with
   *   `value_too_large` if the topic refuses it
   */
  send ({ key, value, headers, partition }) {
    const bytes = sizeOfRecord(key, value, headers)
    if (this.#stopped) return Promise.reject(new InkcastError('unavailable', 'the gateway is shutting down'))
    const { records, bytes: maxBytes } = this.#limits
    if (this.#pendingRecords >= records || (this.#pendingBytes + bytes > maxBytes && this.#pendingRecords > 0)) {
      return Promise.reject(new InkcastError('unavailable', 'too many records are waiting for Kafka'))
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({
        message: { key, value, headers, partition, chosen: undefined },
        bytes,
        deadline: this.#clock.monotonic() + this.#limits.timeout,
        tried: false,
        settled: false,
        resolve,
        reject
      })
      this.#pendingRecords++
      this.#pendingBytes += bytes
      this.#onPending(this.#pendingRecords)
      this.#sweeper ??= this.#clock.every(SWEEP_INTERVAL, () => this.#sweep())
      this.#pump()
    })
  }

  /**
   * Waits until all records are acknowledged, then closes; those left after graceMs are rejected.
   * @param {number} [graceMs]
   */
  async stop (graceMs = 5000) {
    this.#stopped = true
    const end = this.#clock.monotonic() + graceMs
    while (this.#pendingRecords > 0 && this.#clock.monotonic() < end) await this.#clock.sleep(20)
    this.#sender.abort()
    this.#sweeper?.stop()
    for (const waiting of [...this.#batch, ...this.#queue]) this.#settle(waiting, lateError(waiting.tried))
    this.#queue = []
    await this.#sender.close()
  }
}

/**
 * @param {string | Buffer | null} key
 * @param {Buffer | null} value
 * @param {import('./contract.js').Headers} headers
 * @returns {number} minimum size in a batch, bytes
 */
function sizeOfRecord (key, value, headers) {
  let bytes = OVERHEAD + (key === null ? 0 : Buffer.byteLength(key)) + (value === null ? 0 : value.length)
  for (const name in headers) {
    const held = headers[name]
    if (Array.isArray(held))
      for (const one of held) bytes += HEADER_OVERHEAD + Buffer.byteLength(name) + Buffer.byteLength(one)
    else bytes += HEADER_OVERHEAD + Buffer.byteLength(name) + (held === undefined ? 0 : Buffer.byteLength(held))
  }
  return bytes
}
