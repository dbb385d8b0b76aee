import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'

/**
 * @typedef {object} ProducerRecord
 * @property {string | Buffer | null} key records of one key keep their order
 * @property {Buffer | null} value
 * @property {import('./contract.js').Headers} headers
 * @property {number} [partition] default: the key's
 */

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

/** Minimum that Kafka adds to a record, to each of its headers, and to a batch, bytes. */
const OVERHEAD = 40
const HEADER_OVERHEAD = 10
const BATCH_OVERHEAD = 64
/** Lower limit of the batch size when batches are too large for the topic, bytes. */
const MIN_BATCH_BYTES = 1024
const SWEEP_INTERVAL = 250

/**
 * Sends records of one topic, one request at a time. Records that are sent meanwhile go into the next request: with
 * little load there is no delay, and under load requests grow. A failed batch is retried before later ones, which keeps
 * the order.
 *
 * The producer is idempotent: the broker recognizes a batch that was sent again because its acknowledgement was lost.
 * docs/decisions/0011-kafka-producer.md
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'produce'>} dependencies.kafka
 * @param {string} dependencies.topic
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 * @param {Partial<Record<keyof typeof LIMITS, number>>} [dependencies.limits]
 * @param {(records: number) => void} [dependencies.onPending] called with the number of pending records whenever it
 *   changes
 */
export function createProducer ({ kafka, topic, log, clock, random, limits: given = {}, onPending = () => {} }) {
  const limits = { ...LIMITS, ...given }
  /** @type {Waiting[]} records in no batch yet */
  let queue = []
  /** @type {Waiting[]} */
  let batch = []
  let pendingRecords = 0
  let pendingBytes = 0
  let stopped = false
  let failing = false
  /** @type {import('./contract.js').TopicProducer | undefined} */
  let producer
  /** @type {Promise<import('./contract.js').SendFailure | undefined> | undefined} */
  let connecting
  let pumping = false
  let batchBytes = limits.batchBytes
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  let sweeper
  const aborter = new AbortController()

  /** @param {Waiting} waiting @param {InkcastError} [error] */
  function settle (waiting, error) {
    if (waiting.settled) return
    waiting.settled = true
    pendingRecords--
    pendingBytes -= waiting.bytes
    onPending(pendingRecords)
    if (error) waiting.reject(error)
    else waiting.resolve()
  }

  /** @param {object} details @param {string} message logged as a warning once until records are accepted again */
  function fails (details, message) {
    log[failing ? 'debug' : 'warn']({ topic, ...details }, message)
    failing = true
  }

  /**
   * Rejects records whose timeout is over. A record that was never tried leaves the queue, so it is not written later.
   */
  function sweep () {
    const now = clock.monotonic()
    const before = pendingRecords
    for (const waiting of batch) if (waiting.deadline <= now) settle(waiting, lateError(waiting.tried))
    const late = queue.findIndex(({ deadline }) => deadline > now)
    for (const waiting of queue.splice(0, late === -1 ? queue.length : late)) settle(waiting, lateError(false))
    // the driver may retry for a minute before it reports a failure
    if (pendingRecords < before)
      fails({ records: before - pendingRecords }, 'Kafka does not respond: sends have failed by timeout')
    if (pendingRecords === 0) {
      sweeper?.stop()
      sweeper = undefined
    }
  }

  function takeBatch () {
    let bytes = 0
    let count = 0
    while (
      count < queue.length &&
      count < limits.batchRecords &&
      (count === 0 || bytes + queue[count].bytes <= batchBytes)
    )
      bytes += queue[count++].bytes
    return queue.splice(0, count)
  }

  async function pump () {
    if (pumping) return
    pumping = true
    // records of one turn of the event loop go into one request
    await new Promise((resolve) => { clock.soon(() => resolve(undefined)) })
    while (queue.length > 0 && !aborter.signal.aborted) {
      batch = takeBatch()
      await deliver(batch)
      batch = []
    }
    pumping = false
  }

  /** @param {Waiting[]} taken */
  async function deliver (taken) {
    const backoff = new Backoff({ min: 20, max: 1000, random })
    for (;;) {
      const failure = await connect() ?? await attempt(taken)
      if (failure === undefined) {
        if (failing) log.info({ topic }, 'Kafka accepts records again')
        failing = false
        return
      }
      if (failure.rejected) return refuse(taken, failure.error)
      fails({ err: failure.error.cause, records: taken.length }, 'Kafka does not accept records; retrying')
      await clock.sleep(backoff.next(), aborter.signal).catch(() => {})
      if (aborter.signal.aborted || taken.every(({ settled }) => settled)) return giveUp(taken)
    }
  }

  /** @returns {Promise<import('./contract.js').SendFailure | undefined>} undefined: connected. Never rejects */
  function connect () {
    return connecting ??= tryToConnect().finally(() => { connecting = undefined })
  }

  /** @returns {Promise<import('./contract.js').SendFailure | undefined>} */
  async function tryToConnect () {
    if (producer !== undefined) return undefined
    try {
      const connected = await kafka.produce(topic)
      if (aborter.signal.aborted) {
        connected.close()
        throw aborter.signal.reason
      }
      // a batch within the limit as a whole is within it in each of its partitions
      batchBytes = Math.min(
        limits.batchBytes,
        Math.max(MIN_BATCH_BYTES, (connected.maxBytes ?? Infinity) - BATCH_OVERHEAD)
      )
      producer = connected
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
  async function attempt (taken) {
    const sending = taken.filter(({ tried, settled }) => tried || !settled)
    if (sending.length === 0) return undefined
    for (const waiting of sending) waiting.tried = true
    const failure = await /** @type {import('./contract.js').TopicProducer} */ (producer).send(
      sending.map(({ message }) => message)
    )
    if (failure === undefined) for (const waiting of sending) settle(waiting)
    else if (failure.outOfSequence) {
      log.warn(
        { err: failure.error.cause, topic, records: sending.length },
        'Kafka has lost the sequence of this producer: a new producer sends the records again'
      )
      replaceProducer()
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
  async function refuse (taken, error) {
    if (taken.length === 1) return settle(taken[0], error)
    const partitions = byPartition(taken)
    if (partitions.length > 1) {
      for (const part of partitions) await deliver(part)
      return
    }
    if (error.code === 'value_too_large')
      batchBytes = Math.max(MIN_BATCH_BYTES, Math.min(batchBytes, Math.floor(sizeOf(taken) / 2)))
    const middle = taken.length >> 1
    await deliver(taken.slice(0, middle))
    await deliver(taken.slice(middle))
  }

  /**
   * Replaces the producer: the sequence numbers of a batch with an unknown outcome must not be reused for other
   * records, which the broker could take for duplicates.
   * @param {Waiting[]} taken
   */
  function giveUp (taken) {
    replaceProducer()
    for (const waiting of taken) settle(waiting, lateError(waiting.tried))
  }

  function replaceProducer () {
    producer?.close()
    producer = undefined
  }

  return {
    /**
     * Connects in the background, so that the first record does not wait for it. Resolves at once, also while Kafka is
     * unavailable.
     */
    async start () {
      connect()
    },

    /**
     * @param {ProducerRecord} record
     * @returns {Promise<void>} resolves when all in-sync replicas have it. Rejects with `unavailable` if it was
     *   certainly not written (at once above the limit of pending records), with `timeout` if that is unknown, with
     *   `value_too_large` if the topic refuses it
     */
    send ({ key, value, headers, partition }) {
      const bytes = sizeOfRecord(key, value, headers)
      if (stopped) return Promise.reject(new InkcastError('unavailable', 'the gateway is shutting down'))
      if (pendingRecords >= limits.records || (pendingBytes + bytes > limits.bytes && pendingRecords > 0)) {
        return Promise.reject(new InkcastError('unavailable', 'too many records are waiting for Kafka'))
      }
      return new Promise((resolve, reject) => {
        queue.push({
          message: { key, value, headers, partition, chosen: undefined },
          bytes,
          deadline: clock.monotonic() + limits.timeout,
          tried: false,
          settled: false,
          resolve,
          reject
        })
        pendingRecords++
        pendingBytes += bytes
        onPending(pendingRecords)
        sweeper ??= clock.every(SWEEP_INTERVAL, sweep)
        pump()
      })
    },

    /**
     * Waits until all records are acknowledged, then closes; those left after graceMs are rejected.
     * @param {number} [graceMs]
     */
    async stop (graceMs = 5000) {
      stopped = true
      const end = clock.monotonic() + graceMs
      while (pendingRecords > 0 && clock.monotonic() < end) await clock.sleep(20)
      aborter.abort()
      sweeper?.stop()
      for (const waiting of [...batch, ...queue]) settle(waiting, lateError(waiting.tried))
      queue = []
      await producer?.close()
    }
  }
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

/** @param {boolean} tried */
function lateError (tried) {
  return tried
    ? new InkcastError('timeout', 'Kafka has not acknowledged it in time')
    : new InkcastError('unavailable', 'Kafka is not available')
}
