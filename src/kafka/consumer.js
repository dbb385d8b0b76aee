import { Backoff } from '../base/common/backoff.js'
import { createSession } from './consumer-session.js'

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
 *
 * @param {object} dependencies
 * @param {import('./contract.js').KafkaDriver} dependencies.kafka
 * @param {{ topic: string, groupId: string }} dependencies.settings
 * @param {import('./batch.js').BatchHandler} dependencies.handle
 * @param {(signal: AbortSignal) => Promise<unknown>} [dependencies.prepare] done before each connection
 * @param {(partitions: number[]) => void} [dependencies.onAssigned] called with the partitions of each
 *   assignment
 * @param {(partition: number, records: number) => void} [dependencies.onLag] called every 10 s with the number of
 *   records of each partition that are not done
 * @param {import('./batch.js').LastReached} [dependencies.lastReached]
 * @param {(partition: number) => void} [dependencies.onLostEnd] called when a partition has lost records that were
 *   already read; reading continues behind the loss
 * @param {(error: unknown) => void} [dependencies.onFailure] called at each replacement
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 */
export function createConsumer ({
  kafka, settings, handle, prepare, onAssigned, onLag, lastReached,
  onLostEnd = () => {},
  onFailure,
  log,
  clock,
  random
}) {
  const stopping = new AbortController()
  /** @type {import('./consumer-session.js').ConsumerSession | undefined} */
  let session
  /** @type {Promise<void> | undefined} */
  let running
  let restarts = 0
  /** @type {string | undefined} */
  let stuckAt
  /** @type {string | undefined} */
  let failure
  /** Time of the last response of a session that has ended; at first, the start. */
  let heardAt = clock.monotonic()

  async function run () {
    const backoff = new Backoff({ min: 200, max: 10_000, random })
    while (!stopping.signal.aborted) {
      const since = clock.monotonic()
      try {
        await prepare?.(stopping.signal)
        session = createSession({
          kafka, settings, handle, onAssigned,
          onJoined: joined,
          onLag,
          lastReached,
          onLostEnd,
          onStuck: stuck,
          log,
          clock,
          random
        })
        await session.run(stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) break
        if (clock.monotonic() - since > STABLE) backoff.reset()
        await failed(error, backoff.next())
      } finally {
        heardAt = session?.status().heardAt ?? heardAt
        session = undefined
      }
    }
  }

  function joined () {
    if (failure !== undefined) log.info(settings, 'the Kafka consumer works again')
    failure = undefined
  }

  /**
   * A second consumer that is stuck at the same record is not replaced again: that would not help.
   * @param {string} where partition and offset
   */
  function stuck (where) {
    if (where === stuckAt) return false
    stuckAt = where
    return true
  }

  /** @param {unknown} error @param {number} waitMs */
  async function failed (error, waitMs) {
    const message = error instanceof Error ? error.message : String(error)
    // repetitions are logged at debug; an error that is expected to pass, such as a coordinator that is not ready yet,
    // is a warning
    const level =
      failure === message
        ? 'debug'
        : /** @type {{ retriable?: boolean }} */ (error).retriable === true
            ? 'warn'
            : 'error'
    log[level](
      { err: error, ...settings, restarts, waitMs: Math.round(waitMs) },
      'the Kafka consumer failed and is replaced'
    )
    failure = message
    restarts++
    onFailure?.(error)
    onAssigned?.([])
    await clock.sleep(waitMs, stopping.signal).catch(() => {})
  }

  return {
    /** Resolves at once; the consumer joins and rejoins by itself. `status` reports its state. */
    async start () {
      running ??= run()
    },

    /** Lets the batches in progress end, commits and leaves the group. */
    async stop () {
      stopping.abort(new Error('stopped'))
      await running
    },

    /** Replaces the current consumer by a new one. @param {Error} error the reason */
    replace (error) {
      session?.fail(error)
    },

    /**
     * @param {number} partition
     * @returns {Promise<number | undefined>} number of its records that could be read and were not; records behind an
     *   open transaction do not count. undefined: unknown
     */
    async readable (partition) {
      return session?.readable(partition)
    },

    /**
     * Reads an assigned partition again from an earlier offset. To be called during a batch of that partition, which
     * ends with it. Commits do not go back.
     * @param {number} partition
     * @param {number} next
     * @param {number} committed
     */
    async rewind (partition, next, committed) {
      if (session === undefined) throw new Error('the consumer is being replaced')
      session.rewind(partition, next, committed)
    },

    /**
     * @param {number} partition
     * @returns {Promise<number>} the offset up to which the group has read it, -1 if the group has committed nothing
     */
    async committed (partition) {
      await session?.flush()
      const inspector = await kafka.inspect({ retries: 1 })
      try {
        const all = await inspector.committed(settings.groupId, settings.topic)
        return all.find((each) => each.partition === partition)?.offset ?? -1
      } finally {
        inspector.close()
      }
    },

    /** @param {number} partition @returns {Promise<{ low: number, high: number }>} its current first and end offset */
    async ends (partition) {
      const inspector = await kafka.inspect({ retries: 1 })
      try {
        const found = (await inspector.ends(settings.topic)).find((each) => each.partition === partition)
        if (found === undefined) throw new Error(`Kafka does not know partition ${partition}`)
        return { low: found.low, high: found.high }
      } finally {
        inspector.close()
      }
    },

    /** @returns {ConsumerStatus} */
    status () {
      const now = session?.status() ?? { joined: false, partitions: [], heardAt, reason: undefined }
      const reason = failure ?? now.reason ?? (now.joined ? undefined : 'the consumer has not joined its group yet')
      return {
        ready: reason === undefined,
        reason,
        joined: now.joined,
        partitions: now.partitions,
        silence: clock.monotonic() - (now.heardAt ?? heardAt),
        restarts
      }
    }
  }
}
