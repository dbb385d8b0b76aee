import { Backoff } from '../common/backoff.js'
import { systemClock } from '../common/clock.js'
import { createSession } from './consumer-session.js'

/**
 * @typedef {object} ConsumerStatus
 * @property {boolean} ready it is a member of its group and gets on
 * @property {string} [reason] why it is not ready
 * @property {boolean} joined
 * @property {number[]} partitions
 * @property {number} pollAge ms since the last answer of a broker, Infinity before the first
 * @property {number} restarts how often it had to be replaced
 */

/** A consumer that ran this long has recovered: the next failure is tried again soon. */
const STABLE = 60_000

/**
 * A member of a consumer group that replaces itself when it fails: kafkajs gives up for good on errors it deems
 * final, and in the field consumers have stopped without a word.
 *
 * @param {object} dependencies
 * @param {import('./contract.js').KafkaDriver} dependencies.kafka
 * @param {{ topic: string, groupId: string }} dependencies.settings
 * @param {import('./batch.js').BatchHandler} dependencies.handle
 * @param {(signal: AbortSignal) => Promise<unknown>} [dependencies.prepare] done before each connection
 * @param {(partitions: number[]) => void} [dependencies.onAssigned] told which partitions are its own now
 * @param {(partition: number, records: number) => void} [dependencies.onLag] told every 10 s how many records of each
 *   partition are not done
 * @param {import('./batch.js').LastReached} [dependencies.lastReached]
 * @param {(partition: number) => void} [dependencies.onLostEnd] told of a partition that has lost records which were
 *   read already; reading goes on behind the loss
 * @param {(error: unknown) => void} [dependencies.onFailure] told of each replacement
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 */
export function createConsumer ({
  kafka, settings, handle, prepare, onAssigned, onLag, lastReached,
  onLostEnd = () => {},
  onFailure,
  log,
  clock = systemClock
}) {
  const stopping = new AbortController()
  /** @type {import('./consumer-session.js').Session | undefined} */
  let session
  /** @type {Promise<void> | undefined} */
  let running
  let restarts = 0
  /** @type {string | undefined} */
  let stuckAt
  /** @type {string | undefined} */
  let failure

  async function run () {
    const backoff = new Backoff({ min: 200, max: 10_000 })
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
          clock
        })
        await session.run(stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) break
        if (clock.monotonic() - since > STABLE) backoff.reset()
        await failed(error, backoff.next())
      } finally {
        session = undefined
      }
    }
  }

  function joined () {
    if (failure !== undefined) log.info(settings, 'the Kafka consumer works again')
    failure = undefined
  }

  /**
   * Where a new consumer was stuck as well another one will be: that is no longer for us to mend.
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
    // the same failure over and over is one line; what kafkajs would try again itself, such as a coordinator that is
    // not ready yet, is no alarm
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
    /** Resolves at once: it joins, and joins again, by itself; `status` says how far it is. */
    async start () {
      running ??= run()
    },

    /** Lets the batches in progress come to their end, commits and leaves the group. */
    async stop () {
      stopping.abort(new Error('stopped'))
      await running
    },

    /** Ends the consumer that there is now; another one takes its place. @param {Error} error why */
    replace (error) {
      session?.fail(error)
    },

    /**
     * @param {number} partition
     * @returns {Promise<number | undefined>} how many of its records could be read and were not: none while an open
     *   transaction holds them back; undefined: not known
     */
    async readable (partition) {
      return session?.readable(partition)
    },

    /**
     * Commits an offset of a partition of ours, and goes on there. To be called while a batch of the partition is in
     * progress, which is then over.
     * @param {number} partition
     * @param {number} next
     */
    async rewind (partition, next) {
      if (session === undefined) throw new Error('the consumer is being replaced')
      await session.rewind(partition, next)
    },

    /** @param {number} partition @returns {Promise<{ low: number, high: number }>} where it begins and ends now */
    async ends (partition) {
      const inspector = await kafka.inspect({ retries: 1 })
      try {
        const found = (await inspector.ends(settings.topic)).find((each) => each.partition === partition)
        if (found === undefined) throw new Error(`Kafka tells nothing of partition ${partition}`)
        return { low: found.low, high: found.high }
      } finally {
        inspector.close()
      }
    },

    /** @returns {ConsumerStatus} */
    status () {
      const now = session?.status() ?? { joined: false, partitions: [], pollAge: Infinity, reason: undefined }
      const reason = failure ?? now.reason ?? (now.joined ? undefined : 'the consumer has not joined its group yet')
      return {
        ready: reason === undefined,
        reason,
        joined: now.joined,
        partitions: now.partitions,
        pollAge: now.pollAge,
        restarts
      }
    }
  }
}
