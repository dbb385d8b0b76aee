import { closeQuietly } from './close.js'

/** How often the ends of the partitions are asked for, ms. */
const INTERVAL = 10_000
/**
 * So many times in a row a partition has records and nothing is done with them, and its consumer is taken to be stuck.
 */
const STUCK_AFTER = 6
const CLOSE_TIMEOUT = 1000
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
 * @param {import('kafkajs').Kafka} dependencies.kafka
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
  /** @type {import('kafkajs').Admin | undefined} */
  let admin
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let stopped = false

  async function poll () {
    try {
      if (admin === undefined) {
        admin = kafka.admin({ retry: { retries: 1 } })
        await admin.connect()
      }
      const ends = await admin.fetchTopicOffsets(topic)
      const committed = await committedOffsets(admin)
      if (!stopped) look(ends, committed)
    } catch (error) {
      log.debug({ err: error, topic }, 'the lag is not known at the moment')
      close()
    }
    if (!stopped) timer = setTimeout(poll, interval)
  }

  /** @param {import('kafkajs').Admin} admin of partitions that nothing came from yet */
  async function committedOffsets (admin) {
    const partitions = [...progress()].filter(([, { next }]) => next === undefined).map(([partition]) => partition)
    if (partitions.length === 0) return new Map()
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
    return new Map(found.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  }

  /**
   * @param {{ partition: number, high: string, low: string }[]} ends
   * @param {Map<number, number>} committed -1 for none
   */
  function look (ends, committed) {
    const now = progress()
    for (const partition of standing.keys()) if (!now.has(partition)) standing.delete(partition)
    for (const { partition, high, low } of ends) {
      const own = now.get(partition)
      if (own === undefined) continue
      const next = Math.max(own.next ?? committed.get(partition) ?? 0, Number(low))
      const records = Math.max(0, Number(high) - next)
      onLag?.(partition, records)
      const before = standing.get(partition)
      if (records === 0 || own.busy || before?.next !== next) standing.set(partition, { next, times: 0 })
      else if (++before.times >= STUCK_AFTER) onStuck(partition, next)
    }
  }

  /**
   * What a consumer could read and has not, now: kafkajs's admin tells the last stable offset, so what an open
   * transaction holds back is not among it.
   * @param {number} partition
   * @returns {Promise<number | undefined>} undefined: not known
   */
  async function readable (partition) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, ASK_TIMEOUT, undefined)
    })
    try {
      return await Promise.race([ask(partition), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** @param {number} partition @returns {Promise<number | undefined>} */
  async function ask (partition) {
    const own = progress().get(partition)
    if (own === undefined) return undefined
    const asking = kafka.admin({ retry: { retries: 0 } })
    try {
      await asking.connect()
      const ends = await asking.fetchTopicOffsets(topic)
      const found = ends.find((end) => end.partition === partition)
      const next = own.next ?? (await committedOffsets(asking)).get(partition) ?? -1
      return found === undefined ? undefined : Math.max(0, Number(found.high) - Math.max(next, Number(found.low)))
    } catch (error) {
      log.debug({ err: error, topic }, 'the end of a partition is not known at the moment')
      return undefined
    } finally {
      closeQuietly(asking, CLOSE_TIMEOUT)
    }
  }

  function close () {
    if (admin !== undefined) closeQuietly(admin, CLOSE_TIMEOUT)
    admin = undefined
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
