import { within } from '../base/common/wait.js'

/** Interval of requests for the partitions' ends, ms. */
const INTERVAL = 10_000
/** A consumer counts as stuck when a partition has unread records this many times in a row without progress. */
const STUCK_AFTER = 6
/** Timeout of a request for the number of readable records, ms. */
const ASK_TIMEOUT = 2000

/**
 * @typedef {object} Progress
 * @property {number | undefined} next offset of the next record; undefined before the first one
 * @property {boolean} busy a batch is in progress
 */

/**
 * Compares the ends of partitions with a consumer's progress, over a connection of its own, because the consumer's own
 * knowledge is as old as its last response. The lag is correct while a batch is stuck, and a consumer that is alive but
 * receives nothing is detected.
 */
export class LagMonitor {
  #dependencies
  /** @type {Map<number, { next: number, times: number }>} partitions with records and without progress */
  #standing = new Map()
  /** @type {import('./contract.js').Inspector | undefined} */
  #inspector
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #timer
  #stopped = false

  /**
   * @param {object} dependencies
   * @param {Pick<import('./contract.js').KafkaDriver, 'inspect'>} dependencies.kafka
   * @param {{ topic: string, groupId: string }} dependencies.settings
   * @param {() => Map<number, Progress>} dependencies.progress of the assigned partitions
   * @param {(partition: number, records: number) => void} [dependencies.onLag]
   * @param {(partition: number, next: number) => void} dependencies.onStuck
   * @param {import('../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../base/common/clock.js').Clock, 'timer'>} dependencies.clock
   * @param {number} [dependencies.interval] ms
   */
  constructor (dependencies) {
    const { interval = INTERVAL } = dependencies
    this.#dependencies = { ...dependencies, interval }
  }

  async #poll () {
    const { kafka, settings: { topic }, log, clock, interval } = this.#dependencies
    try {
      this.#inspector ??= await kafka.inspect({ retries: 1 })
      if (this.#stopped) return this.#close()
      const ends = await this.#inspector.ends(topic)
      const committed = await this.#committedOffsets(this.#inspector)
      if (!this.#stopped) this.#look(ends, committed)
    } catch (error) {
      log.debug({ err: error, topic }, 'the lag is unknown at the moment')
      this.#close()
    }
    if (!this.#stopped) this.#timer = clock.timer(interval, () => { this.#poll() })
  }

  /** Offsets of partitions without a delivery so far. @param {import('./contract.js').Inspector} from */
  async #committedOffsets (from) {
    const { settings: { topic, groupId }, progress } = this.#dependencies
    const partitions = [...progress()].filter(([, { next }]) => next === undefined).map(([partition]) => partition)
    if (partitions.length === 0) return new Map()
    const found = await from.committed(groupId, topic)
    return new Map(found.map(({ partition, offset }) => [partition, offset]))
  }

  /**
   * @param {{ partition: number, high: number, low: number }[]} ends
   * @param {Map<number, number>} committed -1 for none
   */
  #look (ends, committed) {
    const { progress, onLag, onStuck } = this.#dependencies
    const now = progress()
    for (const partition of this.#standing.keys()) if (!now.has(partition)) this.#standing.delete(partition)
    for (const { partition, high, low } of ends) {
      const own = now.get(partition)
      if (own === undefined) continue
      const next = Math.max(own.next ?? committed.get(partition) ?? 0, low)
      const records = Math.max(0, high - next)
      onLag?.(partition, records)
      const before = this.#standing.get(partition)
      if (records === 0 || own.busy || before?.next !== next) this.#standing.set(partition, { next, times: 0 })
      else if (++before.times >= STUCK_AFTER) onStuck(partition, next)
    }
  }

  /** @param {number} partition @returns {Promise<number | undefined>} never rejects */
  async #unread (partition) {
    const { kafka, settings: { topic }, progress, log } = this.#dependencies
    const own = progress().get(partition)
    if (own === undefined) return undefined
    /** @type {import('./contract.js').Inspector | undefined} */
    let asking
    try {
      asking = await kafka.inspect({ retries: 0 })
      const ends = await asking.ends(topic)
      const found = ends.find((end) => end.partition === partition)
      const next = own.next ?? (await this.#committedOffsets(asking)).get(partition) ?? -1
      return found === undefined ? undefined : Math.max(0, found.high - Math.max(next, found.low))
    } catch (error) {
      log.debug({ err: error, topic }, 'the end of a partition is unknown at the moment')
      return undefined
    } finally {
      asking?.close()
    }
  }

  #close () {
    this.#inspector?.close()
    this.#inspector = undefined
  }

  /**
   * @param {number} partition
   * @returns {Promise<number | undefined>} number of its records that the consumer could read and has not; undefined:
   *   unknown
   */
  readable (partition) { return within(this.#unread(partition), ASK_TIMEOUT, undefined, this.#dependencies.clock) }

  start () {
    const { clock, interval } = this.#dependencies
    this.#timer ??= clock.timer(interval, () => { this.#poll() })
  }

  stop () {
    this.#stopped = true
    this.#timer?.stop()
    this.#close()
  }
}
