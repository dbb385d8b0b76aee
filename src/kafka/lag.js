import { within } from '../common/wait.js'

/** How often the ends of the partitions are asked for, ms. */
const INTERVAL = 10_000
/**
 * So many times in a row a partition has records and nothing is done with them, and its consumer is taken to be stuck.
 */
const STUCK_AFTER = 6
/** So long Kafka may take to say what there is to read, ms. */
const ASK_TIMEOUT = 2000

/**
 * @typedef {object} Progress
 * @property {number | undefined} next the offset of the record that comes next; undefined before the first
 * @property {boolean} busy a batch is in progress
 */

/**
 * Compares what a topic holds with how far a consumer is, over a connection of its own: what the consumer itself says
 * is only as true as its last answer. It sees the lag grow while a batch is stuck, and a consumer that is alive
 * and gets nothing.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'inspect'>} dependencies.kafka
 * @param {{ topic: string, groupId: string }} dependencies.settings
 * @param {() => Map<number, Progress>} dependencies.progress of the partitions that are the consumer's own now
 * @param {(partition: number, records: number) => void} [dependencies.onLag]
 * @param {(partition: number, next: number) => void} dependencies.onStuck
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {number} [dependencies.interval] ms
 */
export function createLagMonitor ({
  kafka,
  settings: { topic, groupId },
  progress, onLag, onStuck, log, interval = INTERVAL
}) {
  /** @type {Map<number, { next: number, times: number }>} partitions that have records and stand still */
  const standing = new Map()
  /** @type {import('./contract.js').Inspector | undefined} */
  let inspector
  /** @type {NodeJS.Timeout | undefined} */
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
      log.debug({ err: error, topic }, 'the lag is not known at the moment')
      close()
    }
    if (!stopped) timer = setTimeout(poll, interval)
  }

  /** @param {import('./contract.js').Inspector} from of partitions that nothing came from yet */
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
   * @returns {Promise<number | undefined>} how many of its records the consumer could read and has not, now; undefined:
   *   not known
   */
  const readable = (partition) => within(unread(partition), ASK_TIMEOUT, undefined)

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
      log.debug({ err: error, topic }, 'the end of a partition is not known at the moment')
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
      timer ??= setTimeout(poll, interval)
    },
    stop () {
      stopped = true
      clearTimeout(timer)
      close()
    }
  }
}
