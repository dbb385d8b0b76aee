import { unlessAborted } from '../base/common/wait.js'
import { createCommits } from './commits.js'
import { createBatches } from './consumer-batches.js'
import { createLagMonitor } from './lag.js'
import { PartitionState } from './partition-state.js'
import { createTopicWatch } from './topic-watch.js'

/**
 * One life of a consumer, from its connection until it fails or is stopped.
 *
 * @typedef {object} ConsumerSession
 * @property {(error: unknown) => void} fail ends it as if the consumer had failed with this error
 * @property {(partition: number, next: number, floor: number) => void} rewind see createConsumer
 * @property {() => Promise<void>} flush see createConsumer
 * @property {(signal: AbortSignal) => Promise<void>} run until the signal aborts; rejects when the consumer fails
 * @property {(partition: number) => Promise<number | undefined>} readable number of records of an assigned partition
 *   that could be read and were not; undefined: unknown
 * @property {() => SessionStatus} status
 *
 * @typedef {object} SessionStatus
 * @property {boolean} joined
 * @property {number[]} partitions
 * @property {number | undefined} heardAt monotonic time of a broker's last response; undefined: there was none yet
 * @property {string | undefined} reason why it is not ready
 */

/** After this time without a response Kafka is reported as unavailable, ms. */
const SILENCE = 5000
/** After this time without a response the consumer is replaced, ms. */
const LONG_SILENCE = 75_000
/** A batch that takes longer than this is reported, ms. */
const SLOW_BATCH = 15_000
/** Time for batches in progress when the consumer stops, ms. */
const STOP_GRACE = 3000
const COMMIT_TIMEOUT = 2000

/**
 * @param {object} dependencies
 * @param {import('./contract.js').KafkaDriver} dependencies.kafka
 * @param {{ topic: string, groupId: string }} dependencies.settings
 * @param {import('./batch.js').BatchHandler} dependencies.handle
 * @param {(partitions: number[]) => void} [dependencies.onAssigned]
 * @param {() => void} dependencies.onJoined
 * @param {(partition: number, records: number) => void} [dependencies.onLag]
 * @param {import('./batch.js').LastReached} [dependencies.lastReached]
 * @param {(partition: number) => void} dependencies.onLostEnd
 * @param {(where: string) => boolean} dependencies.onStuck returns whether to replace the consumer
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 * @returns {ConsumerSession}
 */
export function createSession ({
  kafka,
  settings: { topic, groupId },
  handle, onAssigned, onJoined: onReady, onLag, lastReached, onLostEnd, onStuck, log, clock, random
}) {
  const subscription = kafka.consume({ topic, groupId }, {
    onJoined,
    onRebalance () {
      joined = false
      // The broker accepts commits until this member joins again. Uncommitted records will be delivered again.
      commits.flush()
      batches.abortAll()
    },
    onResponse () {
      lastPoll = clock.monotonic()
      heard = true
    },
    onSkip (partition, next) {
      const state = partitions.get(partition)
      if (state !== undefined) state.next = next
    },
    onFailure: (error) => fail(error),
    handle: (delivery) => batches.handle(delivery)
  })
  const topicWatch = createTopicWatch({
    clock,
    random,
    kafka,
    settings: { topic, groupId },
    onChanged: (error) => {
      commits.reset()
      fail(error)
    }
  })
  const commits = createCommits({ commit: subscription.commit, topic, topicId: () => topicWatch.id, log, clock })
  const ofPartitions = {
    kafka, topic, onLostEnd, log, clock, random,
    isSameTopic: topicWatch.verify,
    seek: subscription.seek
  }
  /** Those that are assigned. @type {Map<number, PartitionState>} */
  const partitions = new Map()
  const batches = createBatches({
    accepts,
    handle: (fetched, signal) => {
      const next = partitions.get(fetched.partition)?.next ?? -1
      return handle({ ...fetched, topicId: topicWatch.id, contiguous: fetched.from <= next }, signal)
    },
    commits,
    onDone: (partition, next, last) => partitions.get(partition)?.done(next, last),
    onFailure: (error) => fail(error),
    clock
  })
  const lag = createLagMonitor({
    clock,
    kafka,
    settings: { topic, groupId },
    progress: () => {
      const busy = batches.busy()
      return new Map([...partitions].map(([partition, { next }]) => [partition, { next, busy: busy.has(partition) }]))
    },
    onLag,
    onStuck: (partition, next) => {
      if (onStuck(`${partition}@${next}`))
        fail(new Error(`partition ${partition} has records, but the consumer receives none of them`))
    },
    log
  })
  let joined = false
  /** Whether the partitions of this assignment begin at the right offsets. @type {Promise<boolean>} */
  let begun = Promise.resolve(false)
  let lastPoll = clock.monotonic()
  let heard = false
  let silent = false
  /** @type {(error: unknown) => void} */
  let fail = () => {}

  /** @param {{ partitions: number[], leader: boolean }} assignment */
  function onJoined ({ partitions: assigned, leader }) {
    joined = true
    lastPoll = clock.monotonic()
    heard = true
    batches.abortAll() // those of the previous assignment
    commits.reset()
    partitions.clear()
    for (const partition of assigned) partitions.set(partition, new PartitionState(partition, ofPartitions))
    const states = new Map(partitions)
    begun = topicWatch.outdated(assigned).then(
      async (outdated) => {
        for (const [partition, place] of (await lastReached?.(topicWatch.id, assigned)) ?? []) {
          const state = states.get(partition)
          if (state !== undefined) state.reached = place
        }
        for (const partition of outdated) subscription.seek(partition, 0)
        if (outdated.length > 0)
          log.warn(
            { topic, partitions: outdated },
            'the topic was deleted and created again: its partitions are read from the beginning'
          )
        return true
      },
      (error) => {
        fail(error)
        return false
      }
    )
    lag.start()
    log.info({ topic, groupId, partitions: assigned, leader }, 'joined the Kafka consumer group')
    onAssigned?.(assigned)
    onReady()
  }

  /** @param {import('./contract.js').Fetched} fetched @returns {Promise<boolean>} whether it may be handled */
  async function accepts (fetched) {
    try {
      return await begun && await partitions.get(fetched.partition)?.accepts(fetched) === true
    } catch (error) {
      fail(error)
      return false
    }
  }

  async function start () {
    await topicWatch.start()
    await subscription.start()
  }

  /** Lets batches in progress end, and commits their offsets before the consumer leaves the group. */
  async function stop () {
    await batches.close(STOP_GRACE)
    await Promise.race([commits.flush(), clock.sleep(COMMIT_TIMEOUT)])
  }

  /** @returns {number} ms without an expected response; during a delivery none is expected */
  function silence () {
    if (batches.awaited) lastPoll = clock.monotonic()
    return clock.monotonic() - lastPoll
  }

  /** Detects requests that get no response and no error. */
  function watch () {
    const ms = silence()
    if (ms > LONG_SILENCE) fail(new Error(`no response from Kafka for ${Math.round(ms / 1000)} s`))
    const nowSilent = ms > SILENCE
    if (nowSilent !== silent) {
      silent = nowSilent
      if (silent) log.warn({ topic, groupId, ms }, 'Kafka does not respond to the consumer')
      else log.info({ topic, groupId }, 'Kafka responds to the consumer again')
    }
  }

  return {
    fail: (error) => fail(error),

    readable: lag.readable,

    flush: () => commits.flush(),

    rewind (partition, next, floor) {
      const state = partitions.get(partition)
      if (state === undefined) throw new Error(`partition ${partition} is not assigned to this consumer`)
      commits.hold(partition, floor)
      state.next = next
      subscription.seek(partition, next)
    },

    async run (signal) {
      /** @type {Promise<never>} */
      const failed = new Promise((_resolve, reject) => {
        fail = reject
      })
      const ended = unlessAborted(failed, signal).catch((error) => {
        if (!signal.aborted) throw error
      })
      ended.catch(() => {}) // handled below
      const watchdog = clock.every(1000, watch)
      let starting = true
      const started = start().finally(() => {
        starting = false
      })
      try {
        await Promise.race([started, ended])
        await ended
        await stop()
      } finally {
        joined = false
        watchdog.stop()
        commits.close()
        lag.stop()
        topicWatch.stop()
        batches.close(0)
        if (!(await subscription.close()))
          log.warn({ topic, groupId }, 'the Kafka consumer did not close in time and is abandoned')
        // a connection that is made later would join the group and hold partitions without reading them
        if (starting)
          started.then(
            () => subscription.close(),
            () => {}
          )
      }
    },

    status () {
      const slow = batches.slowest()
      const quiet = silence()
      return {
        joined,
        partitions: [...partitions.keys()],
        heardAt: heard ? lastPoll : undefined,
        reason:
          slow > SLOW_BATCH
            ? `a batch has been in progress for ${Math.round(slow / 1000)} s`
            : quiet > SILENCE
              ? `no response from Kafka for ${Math.round(quiet / 1000)} s`
              : undefined
      }
    }
  }
}
