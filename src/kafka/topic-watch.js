import { Backoff, retry } from '../common/backoff.js'

/** How often it is looked whether the topic is still the same one, ms. */
const INTERVAL = 10_000
/**
 * A broker that has just started, or a topic that was just made, is not known everywhere yet: some tries, for about 2
 * s.
 */
const TRIES = 6

/**
 * @template T
 * @param {() => Promise<T>} ask
 */
function patiently (ask) {
  const backoff = new Backoff({ min: 100, max: 1000 })
  return retry(ask, { backoff, retryable: () => backoff.tries < TRIES - 1 })
}

/**
 * Recognises a topic that was deleted and made anew under its name: its offsets begin at 0 again, so neither what
 * documents remember of the old ones nor what the group has committed says anything about the new ones.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'topicId' | 'inspect'>} dependencies.kafka
 * @param {{ topic: string, groupId: string }} dependencies.settings
 * @param {(error: Error) => void} dependencies.onChanged told when it is another one, or not there
 */
export function createTopicWatch ({ kafka, settings: { topic, groupId }, onChanged }) {
  let id = ''
  /** @type {Map<number, number>} by partition where it ended when it was last looked at */
  const ends = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let stopped = false

  /** @returns {Promise<boolean>} whether it is the same topic */
  async function verify () {
    if (id === '') return true
    try {
      const now = await patiently(() => kafka.topicId(topic))
      if (now === id) return true
      onChanged(new Error(`topic ${topic} was deleted and made anew`))
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
    // Kafka may be away for a moment: that is for others to judge
    if (await kafka.topicId(topic).catch(() => id) !== id) await verify()
    if (!stopped) timer = setTimeout(look, INTERVAL)
  }

  return {
    /** Which of the topics of this name it is, '' where Kafka cannot tell. */
    get id () { return id },

    async start () {
      id = await patiently(() => kafka.topicId(topic))
      if (id !== '' && !stopped) timer = setTimeout(look, INTERVAL)
    },

    stop () {
      stopped = true
      clearTimeout(timer)
    },

    /**
     * To be asked after the group has given us partitions, before anything of them is processed.
     * @param {number[]} partitions
     * @returns {Promise<number[]>} those whose committed offset is one of an older topic: they have to begin at 0
     */
    async outdated (partitions) {
      if (id === '' || partitions.length === 0 || !await verify()) return []
      const committed = await patiently(committedOffsets)
      return committed
        .filter(({ partition, metadata }) => partitions.includes(partition) && metadata && metadata !== id)
        .map(({ partition }) => partition)
    },

    /**
     * @param {import('./contract.js').Fetched} batch
     * @param {number | undefined} next the offset that should come next, undefined for the first
     * @returns {Promise<boolean>} whether the batch is of this topic. It is asked about only where offsets went back
     */
    async accepts ({ partition, messages, highWatermark: end }, next = 0) {
      const before = ends.get(partition) ?? 0
      ends.set(partition, end)
      if (end >= before && Number(messages[0].offset) >= next) return true
      return verify()
    }
  }
}
