import { askWithRetries, inspect } from './ask.js'

/** Interval of checks of the topic id, ms. */
const INTERVAL = 10_000

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
      const now = await askWithRetries(() => kafka.topicId(topic), { clock, random })
      if (now === id) return true
      onChanged(new Error(`topic ${topic} was deleted and created again`))
    } catch (error) {
      onChanged(/** @type {Error} */ (error))
    }
    return false
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
      id = await askWithRetries(() => kafka.topicId(topic), { clock, random })
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
      const committed = await askWithRetries(
        () => inspect(kafka, (inspector) => inspector.committed(groupId, topic)), { clock, random })
      return committed
        .filter(({ partition, metadata }) => partitions.includes(partition) && metadata && metadata !== id)
        .map(({ partition }) => partition)
    },

    verify
  }
}
