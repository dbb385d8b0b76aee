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
 *
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
export function createLagMonitor ({
  kafka,
  settings: { topic, groupId },
  progress, onLag, onStuck, log, clock, interval = INTERVAL
}) {
  /** @type {Map<number, { next: number, times: number }>} partitions with records and without progress */
  const standing = new Map()
  /** @type {import('./contract.js').Inspector | undefined} */
  let inspector
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  let timer
  let stopped = false

  async function poll () {
    try {
      inspector ??= await kafka.inspect({ retries: 1 })
      if (stopped) return close()
      const ends = await inspector.ends(topic)
      const committed = await committedOffsets(inspector)
      if (!stopped) look(ends, committed)
    } catch (error) {
      log.debug({ err: error, topic }, 'the lag is unknown at the moment')
      close()
    }
    if (!stopped) timer = clock.timer(interval, poll)
  }

  /** Offsets of partitions without a delivery so far. @param {import('./contract.js').Inspector} from */
  async function committedOffsets (from) {
    const partitions = [...progress()].filter(([, { next }]) => next === undefined).map(([partition]) => partition)
    if (partitions.length === 0) return new Map()
    const found = await from.committed(groupId, topic)
    return new Map(found.map(({ partition, offset }) => [partition, offset]))
  }

  /**
   * @param {{ partition: number, high: number, low: number }[]} ends
   * @param {Map<number, number>} committed -1 for none
   */
  function look (ends, committed) {
    const now = progress()
    for (const partition of standing.keys()) if (!now.has(partition)) standing.delete(partition)
    for (const { partition, high, low } of ends) {
      const own = now.get(partition)
      if (own === undefined) continue
      const next = Math.max(own.next ?? committed.get(partition) ?? 0, low)
      const records = Math.max(0, high - next)
      onLag?.(partition, records)
      const before = standing.get(partition)
      if (records === 0 || own.busy || before?.next !== next) standing.set(partition, { next, times: 0 })
      else if (++before.times >= STUCK_AFTER) onStuck(partition, next)
    }
  }

  /**
   * @param {number} partition
   * @returns {Promise<number | undefined>} number of its records that the consumer could read and has not; undefined:
   *   unknown
   */
  const readable = (partition) => within(unread(partition), ASK_TIMEOUT, undefined, clock)

  /** @param {number} partition @returns {Promise<number | undefined>} never rejects */
  async function unread (partition) {
    const own = progress().get(partition)
    if (own === undefined) return undefined
    /** @type {import('./contract.js').Inspector | undefined} */
    let asking
    try {
      asking = await kafka.inspect({ retries: 0 })
      const ends = await asking.ends(topic)
      const found = ends.find((end) => end.partition === partition)
      const next = own.next ?? (await committedOffsets(asking)).get(partition) ?? -1
      return found === undefined ? undefined : Math.max(0, found.high - Math.max(next, found.low))
    } catch (error) {
      log.debug({ err: error, topic }, 'the end of a partition is unknown at the moment')
      return undefined
    } finally {
      asking?.close()
    }
  }

  function close () {
    inspector?.close()
    inspector = undefined
  }

  return {
    readable,
    start () {
      timer ??= clock.timer(interval, poll)
    },
    stop () {
      stopped = true
      timer?.stop()
      close()
    }
  }
}
