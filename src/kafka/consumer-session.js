import { unlessAborted } from '../base/common/wait.js'
import { Commits } from './commits.js'
import { ConsumerBatches } from './consumer-batches.js'
import { LagMonitor } from './lag.js'
import { PartitionState } from './partition-state.js'
import { TopicWatch } from './topic-watch.js'

/**
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

/** One life of a consumer, from its connection until it fails or is stopped. */
export class ConsumerSession {
  #settings
  #reader
  #onJoined
  #log
  #clock
  #subscription
  #topicWatch
  commits
  #ofPartitions
  #batches
  lag
  /** Those that are assigned. @type {Map<number, PartitionState>} */
  #partitions = new Map()
  #joined = false
  /** Whether the partitions of this assignment begin at the right offsets. @type {Promise<boolean>} */
  #begun = Promise.resolve(false)
  #lastPoll
  #heard = false
  #silent = false
  /** Ends it as if the consumer had failed with this error. @type {(error: unknown) => void} */
  fail = () => {}

  /**
   * @param {import('./batch.js').ConsumerDependencies & Calls} dependencies
   *
   * @typedef {object} Calls
   * @property {() => void} onJoined
   * @property {(where: string) => boolean} onStuck returns whether to replace the consumer
   */
  constructor ({ kafka, settings, reader, onJoined, onStuck, log, clock, random }) {
    this.#settings = settings
    this.#reader = reader
    this.#onJoined = onJoined
    this.#log = log
    this.#clock = clock
    this.#lastPoll = clock.monotonic()
    const { topic } = settings
    const fail = (/** @type {unknown} */ error) => this.fail(error)
    const topicWatch = this.#topicWatch = new TopicWatch({
      kafka, settings, clock, random,
      onChanged: (error) => {
        this.commits.reset()
        fail(error)
      }
    })
    const subscription = this.#subscription = kafka.consume(settings, this.#handlers())
    this.commits = new Commits({ commit: subscription.commit, topic, topicId: () => topicWatch.id, log, clock })
    this.#ofPartitions = {
      kafka, topic, log, clock, random,
      onLostEnd: (/** @type {number} */ partition) => reader.onLostEnd?.(partition),
      isSameTopic: () => topicWatch.verify(),
      seek: subscription.seek
    }
    this.#batches = new ConsumerBatches({
      accepts: (fetched) => this.#accepts(fetched),
      handle: (fetched, signal) => {
        const next = this.#partitions.get(fetched.partition)?.next ?? -1
        return reader.handle({ ...fetched, topicId: topicWatch.id, contiguous: fetched.from <= next }, signal)
      },
      commits: this.commits,
      onDone: (partition, next, last) => this.#partitions.get(partition)?.done(next, last),
      onFailure: fail,
      clock
    })
    this.lag = new LagMonitor({
      kafka, settings, log, clock,
      progress: () => {
        const busy = this.#batches.busy()
        return new Map(Array.from(this.#partitions, ([id, { next }]) => [id, { next, busy: busy.has(id) }]))
      },
      onLag: (partition, records) => reader.onLag?.(partition, records),
      onStuck: (partition, next) => {
        if (onStuck(`${partition}@${next}`))
          fail(new Error(`partition ${partition} has records, but the consumer receives none of them`))
      }
    })
  }

  /** @returns {import('./contract.js').SubscriptionHandlers} */
  #handlers () {
    return {
      onJoined: (assignment) => this.#assigned(assignment),
      onRebalance: () => {
        this.#joined = false
        // The broker accepts commits until this member joins again. Uncommitted records will be delivered again.
        this.commits.flush()
        this.#batches.abortAll()
      },
      onResponse: () => this.#hear(),
      onSkip: (partition, next) => {
        const state = this.#partitions.get(partition)
        if (state !== undefined) state.next = next
      },
      onFailure: (error) => this.fail(error),
      handle: (delivery) => this.#batches.handle(delivery)
    }
  }

  #hear () {
    this.#lastPoll = this.#clock.monotonic()
    this.#heard = true
  }

  /** @param {{ partitions: number[], leader: boolean }} assignment */
  #assigned ({ partitions: assigned, leader }) {
    this.#joined = true
    this.#hear()
    this.#batches.abortAll() // those of the previous assignment
    this.commits.reset()
    this.#partitions.clear()
    for (const partition of assigned) this.#partitions.set(partition, new PartitionState(partition, this.#ofPartitions))
    this.#begun = this.#begin(assigned, new Map(this.#partitions)).catch((error) => {
      this.fail(error)
      return false
    })
    this.lag.start()
    this.#log.info({ ...this.#settings, partitions: assigned, leader }, 'joined the Kafka consumer group')
    this.#reader.onAssigned?.(assigned)
    this.#onJoined()
  }

  /**
   * Finds where the partitions of an assignment begin.
   * @param {number[]} assigned
   * @param {Map<number, PartitionState>} states
   */
  async #begin (assigned, states) {
    const outdated = await this.#topicWatch.outdated(assigned)
    for (const [partition, place] of await this.#reader.lastReached?.(this.#topicWatch.id, assigned) ?? []) {
      const state = states.get(partition)
      if (state !== undefined) state.reached = place
    }
    for (const partition of outdated) this.#subscription.seek(partition, 0)
    if (outdated.length > 0)
      this.#log.warn(
        { topic: this.#settings.topic, partitions: outdated },
        'the topic was deleted and created again: its partitions are read from the beginning'
      )
    return true
  }

  /** @param {import('./contract.js').Fetched} fetched @returns {Promise<boolean>} whether it may be handled */
  async #accepts (fetched) {
    try {
      return await this.#begun && await this.#partitions.get(fetched.partition)?.accepts(fetched) === true
    } catch (error) {
      this.fail(error)
      return false
    }
  }

  async #start () {
    await this.#topicWatch.start()
    await this.#subscription.start()
  }

  /** Lets batches in progress end, and commits their offsets before the consumer leaves the group. */
  async #stop () {
    await this.#batches.close(STOP_GRACE)
    await Promise.race([this.commits.flush(), this.#clock.sleep(COMMIT_TIMEOUT)])
  }

  /** @returns {number} ms without an expected response; during a delivery none is expected */
  #silence () {
    if (this.#batches.awaited) this.#lastPoll = this.#clock.monotonic()
    return this.#clock.monotonic() - this.#lastPoll
  }

  /** Detects requests that get no response and no error. */
  #watch () {
    const ms = this.#silence()
    if (ms > LONG_SILENCE) this.fail(new Error(`no response from Kafka for ${Math.round(ms / 1000)} s`))
    const nowSilent = ms > SILENCE
    if (nowSilent !== this.#silent) {
      this.#silent = nowSilent
      if (nowSilent) this.#log.warn({ ...this.#settings, ms }, 'Kafka does not respond to the consumer')
      else this.#log.info(this.#settings, 'Kafka responds to the consumer again')
    }
  }

  /** @param {number} partition @param {number} next @param {number} floor see Consumer */
  rewind (partition, next, floor) {
    const state = this.#partitions.get(partition)
    if (state === undefined) throw new Error(`partition ${partition} is not assigned to this consumer`)
    this.commits.hold(partition, floor)
    state.next = next
    this.#subscription.seek(partition, next)
  }

  /** @param {AbortSignal} signal runs until it aborts; rejects when the consumer fails */
  async run (signal) {
    /** @type {Promise<never>} */
    const failed = new Promise((_resolve, reject) => { this.fail = reject })
    const ended = unlessAborted(failed, signal).catch((error) => {
      if (!signal.aborted) throw error
    })
    ended.catch(() => {}) // handled below
    const watchdog = this.#clock.every(1000, () => this.#watch())
    let starting = true
    const started = this.#start().finally(() => { starting = false })
    try {
      await Promise.race([started, ended])
      await ended
      await this.#stop()
    } finally {
      this.#joined = false
      watchdog.stop()
      this.commits.close()
      this.lag.stop()
      this.#topicWatch.stop()
      this.#batches.close(0)
      if (!(await this.#subscription.close()))
        this.#log.warn(this.#settings, 'the Kafka consumer did not close in time and is abandoned')
      // a connection that is made later would join the group and hold partitions without reading them
      if (starting)
        started.then(() => this.#subscription.close(), () => {})
    }
  }

  /** @returns {SessionStatus} */
  status () {
    const slow = this.#batches.slowest()
    const quiet = this.#silence()
    return {
      joined: this.#joined,
      partitions: [...this.#partitions.keys()],
      heardAt: this.#heard ? this.#lastPoll : undefined,
      reason:
        slow > SLOW_BATCH
          ? `a batch has been in progress for ${Math.round(slow / 1000)} s`
          : quiet > SILENCE
            ? `no response from Kafka for ${Math.round(quiet / 1000)} s`
            : undefined
    }
  }
}
