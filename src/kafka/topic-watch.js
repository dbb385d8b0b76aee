import { askWithRetries, inspect } from './ask.js'

/** Interval of checks of the topic id, ms. */
const INTERVAL = 10_000

/**
 * Detects a topic that was deleted and created again under its name. Its offsets begin at 0 again, so neither the
 * offsets that documents remember nor the group's committed offsets mean anything in the new topic.
 */
export class TopicWatch {
  #dependencies
  /** Topic id, '' where Kafka cannot report it. */
  id = ''
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #timer
  #stopped = false

  /**
   * @param {object} dependencies
   * @param {Pick<import('./contract.js').KafkaDriver, 'topicId' | 'inspect'>} dependencies.kafka
   * @param {{ topic: string, groupId: string }} dependencies.settings
   * @param {(error: Error) => void} dependencies.onChanged called when it is another topic, or missing
   * @param {import('../base/common/clock.js').Clock} dependencies.clock
   * @param {import('../base/common/random.js').Random} dependencies.random
   */
  constructor (dependencies) {
    this.#dependencies = dependencies
  }

  #ask () {
    const { kafka, settings: { topic } } = this.#dependencies
    return askWithRetries(() => kafka.topicId(topic), this.#dependencies)
  }

  /** @returns {Promise<boolean>} whether it is the same topic */
  async verify () {
    const { settings: { topic }, onChanged } = this.#dependencies
    if (this.id === '') return true
    try {
      const now = await this.#ask()
      if (now === this.id) return true
      onChanged(new Error(`topic ${topic} was deleted and created again`))
    } catch (error) {
      onChanged(/** @type {Error} */ (error))
    }
    return false
  }

  async #look () {
    // an unavailable Kafka is not a changed topic
    const { kafka, settings: { topic } } = this.#dependencies
    if (await kafka.topicId(topic).catch(() => this.id) !== this.id) await this.verify()
    this.#schedule()
  }

  #schedule () {
    if (!this.#stopped) this.#timer = this.#dependencies.clock.timer(INTERVAL, () => { this.#look() })
  }

  async start () {
    this.id = await this.#ask()
    if (this.id !== '') this.#schedule()
  }

  stop () {
    this.#stopped = true
    this.#timer?.stop()
  }

  /**
   * To be called with each assignment, before its first record is processed.
   * @param {number[]} partitions
   * @returns {Promise<number[]>} partitions whose committed offset belongs to an older topic: they begin at 0
   */
  async outdated (partitions) {
    if (this.id === '' || partitions.length === 0 || !await this.verify()) return []
    const { kafka, settings: { topic, groupId } } = this.#dependencies
    const committed = await askWithRetries(
      () => inspect(kafka, (inspector) => inspector.committed(groupId, topic)), this.#dependencies)
    return committed
      .filter(({ partition, metadata }) => partitions.includes(partition) && metadata && metadata !== this.id)
      .map(({ partition }) => partition)
  }
}
