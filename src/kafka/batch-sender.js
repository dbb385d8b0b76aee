import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'

/**
 * @typedef {object} Waiting
 * @property {import('./contract.js').OutgoingMessage} message
 * @property {number} bytes
 * @property {number} deadline ms since 1970
 * @property {boolean} tried it was part of a request, so it may have been written
 * @property {boolean} settled its `send` has ended; a tried record stays in its batch nevertheless
 * @property {() => void} resolve
 * @property {(error: InkcastError) => void} reject
 */

/** Minimum that Kafka adds to a batch, bytes. */
const BATCH_OVERHEAD = 64
/** Lower limit of the batch size when batches are too large for the topic, bytes. */
const MIN_BATCH_BYTES = 1024

/**
 * Sends the batches of a producer, one at a time: retries, splits a batch that is refused, and replaces the driver's
 * producer when its sequence is lost.
 */
export class BatchSender {
  #services
  #parts
  #aborter = new AbortController()
  #signal = this.#aborter.signal
  /** Maximum size of a batch that the topic accepts, as far as known. */
  batchBytes
  #failing = false
  /** @type {import('./contract.js').TopicProducer | undefined} */
  #producer
  /** @type {Promise<import('./contract.js').SendFailure | undefined> | undefined} */
  #connecting

  /**
   * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock' | 'random'>} services
   * @param {object} parts
   * @param {Pick<import('./contract.js').KafkaDriver, 'produce'>} parts.kafka
   * @param {string} parts.topic
   * @param {number} parts.batchBytes maximum
   * @param {(waiting: Waiting, error?: InkcastError) => void} parts.settle
   */
  constructor (services, parts) {
    this.#services = services
    this.#parts = parts
    this.batchBytes = parts.batchBytes
  }

  /** @param {object} details @param {string} message logged as a warning once until records are accepted again */
  fails (details, message) {
    this.#services.log[this.#failing ? 'debug' : 'warn']({ topic: this.#parts.topic, ...details }, message)
    this.#failing = true
  }

  /** Resolves when all of them are written or given up. @param {Waiting[]} taken */
  async deliver (taken) {
    const { log, clock, random } = this.#services
    const backoff = new Backoff({ min: 20, max: 1000, random })
    for (;;) {
      const failure = await this.connect() ?? await this.#attempt(taken)
      if (failure === undefined) {
        if (this.#failing) log.info({ topic: this.#parts.topic }, 'Kafka accepts records again')
        this.#failing = false
        return
      }
      if (failure.rejected) return this.#refuse(taken, failure.error)
      this.fails({ err: failure.error.cause, records: taken.length }, 'Kafka does not accept records; retrying')
      await clock.sleep(backoff.next(), this.#signal).catch(() => {})
      if (this.#signal.aborted || taken.every(({ settled }) => settled)) return this.#giveUp(taken)
    }
  }

  /** @returns {Promise<import('./contract.js').SendFailure | undefined>} undefined: connected. Never rejects */
  connect () {
    return this.#connecting ??= this.#tryToConnect().finally(() => { this.#connecting = undefined })
  }

  /** @returns {Promise<import('./contract.js').SendFailure | undefined>} */
  async #tryToConnect () {
    if (this.#producer !== undefined) return undefined
    try {
      const connected = await this.#parts.kafka.produce(this.#parts.topic)
      if (this.#signal.aborted) {
        connected.close()
        throw this.#signal.reason
      }
      // a batch within the limit as a whole is within it in each of its partitions
      this.batchBytes = Math.min(
        this.#parts.batchBytes,
        Math.max(MIN_BATCH_BYTES, (connected.maxBytes ?? Infinity) - BATCH_OVERHEAD)
      )
      this.#producer = connected
      return undefined
    } catch (error) {
      return { rejected: false, error: new InkcastError('unavailable', undefined, { cause: error }) }
    }
  }

  /**
   * A batch that was tried stays unchanged, so that the broker recognizes it.
   * @param {Waiting[]} taken
   * @returns {Promise<import('./contract.js').SendFailure | undefined>} undefined: written
   */
  async #attempt (taken) {
    const sending = taken.filter(({ tried, settled }) => tried || !settled)
    if (sending.length === 0) return undefined
    for (const waiting of sending) waiting.tried = true
    const failure = await /** @type {import('./contract.js').TopicProducer} */ (this.#producer).send(
      sending.map(({ message }) => message)
    )
    for (const waiting of sending) if (failure === undefined || waiting.message.written) this.#parts.settle(waiting)
    if (failure?.outOfSequence) {
      this.#services.log.warn(
        { err: failure.error.cause, topic: this.#parts.topic, records: sending.length },
        'Kafka has lost the sequence of this producer: a new producer sends the records again'
      )
      this.#replaceProducer()
    }
    return failure
  }

  /**
   * A broker refuses all records of a partition when one of them is invalid, or when together they are too large; it
   * may have accepted those of other partitions. Therefore each partition's records are sent separately, by the same
   * producer, so that the broker recognizes duplicates, and then in halves.
   * @param {Waiting[]} taken
   * @param {InkcastError} error
   */
  async #refuse (taken, error) {
    if (taken.length === 1) return this.#parts.settle(taken[0], error)
    const partitions = byPartition(taken)
    if (partitions.length > 1) {
      for (const part of partitions) await this.deliver(part)
      return
    }
    if (error.code === 'value_too_large')
      this.batchBytes = Math.max(MIN_BATCH_BYTES, Math.min(this.batchBytes, Math.floor(sizeOf(taken) / 2)))
    const middle = taken.length >> 1
    await this.deliver(taken.slice(0, middle))
    await this.deliver(taken.slice(middle))
  }

  /**
   * Replaces the producer: the sequence numbers of a batch with an unknown outcome must not be reused for other
   * records, which the broker could take for duplicates.
   * @param {Waiting[]} taken
   */
  #giveUp (taken) {
    this.#replaceProducer()
    for (const waiting of taken) this.#parts.settle(waiting, lateError(waiting.tried))
  }

  #replaceProducer () {
    this.close()
    this.#producer = undefined
  }

  /** Ends retries. */
  abort () { this.#aborter.abort() }

  async close () { await this.#producer?.close() }
}

/** @param {Waiting[]} taken @returns {Waiting[][]} by the partition they were sent to, in their order */
function byPartition (taken) {
  /** @type {Map<number | undefined, Waiting[]>} */
  const parts = new Map()
  for (const waiting of taken) {
    const part = parts.get(waiting.message.chosen)
    if (part === undefined) parts.set(waiting.message.chosen, [waiting])
    else part.push(waiting)
  }
  return [...parts.values()]
}

/** @param {Waiting[]} taken */
const sizeOf = (taken) => taken.reduce((sum, { bytes }) => sum + bytes, 0)

/** Error of a record whose time is over. @param {boolean} tried */
export function lateError (tried) {
  return tried
    ? new InkcastError('timeout', 'Kafka has not acknowledged it in time')
    : new InkcastError('unavailable', 'Kafka is not available')
}
