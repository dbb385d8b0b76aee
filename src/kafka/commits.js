/** Interval of commits, ms; after a crash the records of this time are delivered again. */
const COMMIT_INTERVAL = 1000

/**
 * Remembers which offsets are done and commits them once per interval. Offsets of a failed commit go into the next one.
 */
export class Commits {
  #dependencies
  /** Uncommitted offset after the last record that is done, by partition. @type {Map<number, number>} */
  #offsets = new Map()
  /** Offset below which nothing is committed, by partition. @type {Map<number, number>} */
  #floors = new Map()
  /** Increases with each assignment of partitions. */
  generation = 0
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #timer
  #closed = false

  /**
   * @param {object} dependencies
   * @param {(offsets: import('./contract.js').CommittedOffset[]) => Promise<void>} dependencies.commit
   * @param {string} dependencies.topic for the log
   * @param {() => string} dependencies.topicId committed with each offset, because an offset means nothing in another
   *   topic of the same name
   * @param {import('../base/common/log.js').Log} dependencies.log
   * @param {Pick<import('../base/common/clock.js').Clock, 'timer'>} dependencies.clock
   */
  constructor (dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Commits now. Never rejects.
   * @param {(offsets: import('./contract.js').CommittedOffset[]) => Promise<void>} [by] that of a delivery, which works
   *   while the consumer stops
   */
  async flush (by = this.#dependencies.commit) {
    const { topic, topicId, log } = this.#dependencies
    this.#timer?.stop()
    this.#timer = undefined
    if (this.#offsets.size === 0) return
    const committing = [...this.#offsets]
    const since = this.generation
    this.#offsets.clear()
    try {
      await by(committing.map(([partition, offset]) => ({ partition, offset, metadata: topicId() })))
    } catch (error) {
      log.debug({ err: error, topic }, 'offsets were not committed')
      if (since !== this.generation) return
      for (const [partition, offset] of committing)
        if (!this.#offsets.has(partition)) this.#offsets.set(partition, offset)
      this.#schedule()
    }
  }

  #schedule () {
    if (!this.#closed) this.#timer ??= this.#dependencies.clock.timer(COMMIT_INTERVAL, () => { this.flush() })
  }

  /**
   * @param {number} since generation in which the work began; in a later one the partition may have another owner,
   *   whose progress this commit would set back
   * @param {number} partition
   * @param {number} next offset after the last record that is done
   */
  done (since, partition, next) {
    if (since !== this.generation || next < (this.#floors.get(partition) ?? 0)) return
    this.#offsets.set(partition, next)
    this.#schedule()
  }

  /**
   * The partition is read again from an earlier offset. Commits stay where they are until it is done up to this one:
   * they say which records without a log were carried out.
   * @param {number} partition
   * @param {number} floor
   */
  hold (partition, floor) { this.#floors.set(partition, floor) }

  /** Begins a new assignment, at the committed offsets. */
  reset () {
    this.generation++
    this.#offsets.clear()
    this.#floors.clear()
  }

  close () {
    this.#closed = true
    this.#timer?.stop()
  }
}
