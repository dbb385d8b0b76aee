import { Backoff } from '../base/common/backoff.js'
import { inspect } from './ask.js'
import { ConsumerSession } from './consumer-session.js'

/**
 * @typedef {object} ConsumerStatus
 * @property {boolean} ready it is a member of its group and makes progress
 * @property {string} [reason] why it is not ready
 * @property {boolean} joined
 * @property {number[]} partitions
 * @property {number} silence ms since a broker last responded, also to a consumer that was replaced since; before the
 *   first response, since the start
 * @property {number} restarts number of replacements
 */

/** After this time without a failure the next replacement comes without backoff, ms. */
const STABLE = 60_000

/**
 * A member of a consumer group that is replaced when it fails. kafkajs gives up for good on some errors, and in the
 * field consumers have stopped without an error.
 */
export class Consumer {
  #dependencies
  #stopping = new AbortController()
  /** Undefined between two. @type {ConsumerSession | undefined} */
  #session
  /** @type {Promise<void> | undefined} */
  #running
  #restarts = 0
  /** Partition and offset where a consumer was stuck. @type {string | undefined} */
  #stuckAt
  /** Message of the last failure, until a consumer has joined. @type {string | undefined} */
  #failure
  /** Time of the last response of a session that has ended; at first, the start. */
  #heardAt

  /** @param {import('./batch.js').ConsumerDependencies} dependencies */
  constructor (dependencies) {
    this.#dependencies = dependencies
    this.#heardAt = dependencies.clock.monotonic()
  }

  async #run () {
    const { reader, clock, random } = this.#dependencies
    const { signal } = this.#stopping
    const backoff = new Backoff({ min: 200, max: 10_000, random })
    while (!signal.aborted) {
      const since = clock.monotonic()
      try {
        await reader.prepare?.(signal)
        this.#session = new ConsumerSession({
          ...this.#dependencies,
          onJoined: () => this.#joined(),
          onStuck: (where) => this.#stuck(where)
        })
        await this.#session.run(signal)
      } catch (error) {
        if (signal.aborted) break
        if (clock.monotonic() - since > STABLE) backoff.reset()
        await this.#failed(error, backoff.next())
      } finally {
        this.#heardAt = this.#session?.status().heardAt ?? this.#heardAt
        this.#session = undefined
      }
    }
  }

  #joined () {
    const { settings, log } = this.#dependencies
    if (this.#failure !== undefined) log.info(settings, 'the Kafka consumer works again')
    this.#failure = undefined
  }

  /**
   * A second consumer that is stuck at the same record is not replaced again: that would not help.
   * @param {string} where partition and offset
   */
  #stuck (where) {
    if (where === this.#stuckAt) return false
    this.#stuckAt = where
    return true
  }

  /** @param {unknown} error @param {number} waitMs */
  async #failed (error, waitMs) {
    const { settings, reader, log, clock } = this.#dependencies
    const message = error instanceof Error ? error.message : String(error)
    // repetitions are logged at debug; an error that is expected to pass, such as a coordinator that is not ready yet,
    // is a warning
    const level =
      this.#failure === message
        ? 'debug'
        : /** @type {{ retriable?: boolean }} */ (error).retriable === true
            ? 'warn'
            : 'error'
    log[level](
      { err: error, ...settings, restarts: this.#restarts, waitMs: Math.round(waitMs) },
      'the Kafka consumer failed and is replaced'
    )
    this.#failure = message
    this.#restarts++
    reader.onFailure?.(error)
    reader.onAssigned?.([])
    await clock.sleep(waitMs, this.#stopping.signal).catch(() => {})
  }

  /** Resolves at once; the consumer joins and rejoins by itself. `status` reports its state. */
  async start () {
    if (this.#running !== undefined) return
    // it may have waited for Redis since it was made
    this.#heardAt = this.#dependencies.clock.monotonic()
    this.#running = this.#run()
  }

  /** Lets the batches in progress end, commits and leaves the group. */
  async stop () {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
  }

  /** Replaces the current consumer by a new one. @param {Error} error the reason */
  replace (error) {
    this.#session?.fail(error)
  }

  /**
   * @param {number} partition
   * @returns {Promise<number | undefined>} number of its records that could be read and were not; records behind an
   *   open transaction do not count. undefined: unknown
   */
  async readable (partition) {
    return this.#session?.lag.readable(partition)
  }

  /**
   * Reads an assigned partition again from an earlier offset. To be called during a batch of that partition, which
   * ends with it. Commits do not go back.
   * @param {number} partition
   * @param {number} next
   * @param {number} committed
   */
  async rewind (partition, next, committed) {
    if (this.#session === undefined) throw new Error('the consumer is being replaced')
    this.#session.rewind(partition, next, committed)
  }

  /**
   * @param {number} partition
   * @returns {Promise<number>} the offset up to which the group has read it, -1 if the group has committed nothing
   */
  async committed (partition) {
    await this.#session?.commits.flush()
    const { kafka, settings: { groupId, topic } } = this.#dependencies
    const all = await inspect(kafka, (inspector) => inspector.committed(groupId, topic))
    return all.find((each) => each.partition === partition)?.offset ?? -1
  }

  /** @param {number} partition @returns {Promise<{ low: number, high: number }>} its current first and end offset */
  async ends (partition) {
    const { kafka, settings: { topic } } = this.#dependencies
    const all = await inspect(kafka, (inspector) => inspector.ends(topic))
    const found = all.find((each) => each.partition === partition)
    if (found === undefined) throw new Error(`Kafka does not know partition ${partition}`)
    return { low: found.low, high: found.high }
  }

  /** @returns {number[]} assigned partitions, none during a rebalance */
  assigned () {
    const { joined, partitions } = this.status()
    return joined ? partitions : []
  }

  /** @returns {ConsumerStatus} */
  status () {
    const now = this.#session?.status() ?? { joined: false, partitions: [], heardAt: this.#heardAt, reason: undefined }
    const reason = this.#failure ?? now.reason ?? (now.joined ? undefined : 'the consumer has not joined its group yet')
    return {
      ready: reason === undefined,
      reason,
      joined: now.joined,
      partitions: now.partitions,
      silence: this.#dependencies.clock.monotonic() - (now.heardAt ?? this.#heardAt),
      restarts: this.#restarts
    }
  }
}
