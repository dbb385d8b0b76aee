import { Backoff, retry } from '../base/common/backoff.js'

/** Interval of checks of the topic id, ms. */
const INTERVAL = 10_000
/** Brokers learn of a started broker or a new topic one after the other: retries take about 2 s. */
const TRIES = 6

/**
 * @template T
 * @param {() => Promise<T>} ask
 * @param {{ clock: import('../base/common/clock.js').Clock, random: import('../base/common/random.js').Random }}
 *   sources
 */
function retried (ask, { clock, random }) {
  const backoff = new Backoff({ min: 100, max: 1000, random })
  return retry(ask, { backoff, clock, retryable: () => backoff.tries < TRIES - 1 })
}

/**
 * Detects a topic that was deleted and created again under its name. Its offsets begin at 0 again, so neither the
 * offsets that documents remember nor the group's committed offsets mean anything in the new topic.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'topicId' | 'inspect'>} dependencies.kafka
 * @param {{ topic: string, groupId: string }} dependencies.settings
 * @param {(error: Error) => void} dependencies.onChanged called when it is another topic, or missing
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 */
export function createTopicWatch ({ kafka, settings: { topic, groupId }, onChanged, clock, random }) {
  let id = ''
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  let timer
  let stopped = false

  /** @returns {Promise<boolean>} whether it is the same topic */
  async function verify () {
    if (id === '') return true
    try {
      const now = await retried(() => kafka.topicId(topic), { clock, random })
      if (now === id) return true
      onChanged(new Error(`topic ${topic} was deleted and created again`))
    } catch (error) {
      onChanged(/** @type {Error} */ (error))
    }
    return false
  }

  async function committedOffsets () {
    const inspector = await kafka.inspect({ retries: 1 })
    try {
      return await inspector.committed(groupId, topic)
    } finally {
      inspector.close()
    }
  }

  async function look () {
    // an unavailable Kafka is not a changed topic
    if (await kafka.topicId(topic).catch(() => id) !== id) await verify()
    if (!stopped) timer = clock.timer(INTERVAL, look)
  }

  return {
    /** Topic id, '' where Kafka cannot report it. */
    get id () { return id },

    async start () {
      id = await retried(() => kafka.topicId(topic), { clock, random })
      if (id !== '' && !stopped) timer = clock.timer(INTERVAL, look)
    },

    stop () {
      stopped = true
      timer?.stop()
    },

    /**
     * To be called with each assignment, before its first record is processed.
     * @param {number[]} partitions
     * @returns {Promise<number[]>} partitions whose committed offset belongs to an older topic: they begin at 0
     */
    async outdated (partitions) {
      if (id === '' || partitions.length === 0 || !await verify()) return []
      const committed = await retried(committedOffsets, { clock, random })
      return committed
        .filter(({ partition, metadata }) => partitions.includes(partition) && metadata && metadata !== id)
        .map(({ partition }) => partition)
    },

    verify
  }
}
