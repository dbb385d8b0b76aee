/** Interval of commits, ms; after a crash the records of this time are delivered again. */
const COMMIT_INTERVAL = 1000

/**
 * Remembers which offsets are done and commits them once per interval. Offsets of a failed commit go into the next one.
 *
 * @param {object} dependencies
 * @param {(offsets: import('./contract.js').CommittedOffset[]) => Promise<void>} dependencies.commit
 * @param {string} dependencies.topic for the log
 * @param {() => string} dependencies.topicId committed with each offset, because an offset means nothing in another
 *   topic of the same name
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../base/common/clock.js').Clock, 'timer'>} dependencies.clock
 * @param {number} [dependencies.interval] ms
 */
export function createCommits ({ commit, topic, topicId, log, clock, interval = COMMIT_INTERVAL }) {
  /** Uncommitted offset after the last record that is done, by partition. @type {Map<number, number>} */
  const offsets = new Map()
  /** Offset below which nothing is committed, by partition. @type {Map<number, number>} */
  const floors = new Map()
  let generation = 0
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  let timer
  let closed = false

  async function commitAll (by = commit) {
    timer?.stop()
    timer = undefined
    if (offsets.size === 0) return
    const committing = [...offsets]
    const since = generation
    offsets.clear()
    try {
      await by(committing.map(([partition, offset]) => ({ partition, offset, metadata: topicId() })))
    } catch (error) {
      log.debug({ err: error, topic }, 'offsets were not committed')
      if (since !== generation) return
      for (const [partition, offset] of committing) if (!offsets.has(partition)) offsets.set(partition, offset)
      schedule()
    }
  }

  function schedule () {
    if (!closed) timer ??= clock.timer(interval, () => { commitAll() })
  }

  return {
    /** Increases with each assignment of partitions. */
    get generation () { return generation },

    /**
     * @param {number} since generation in which the work began; in a later one the partition may have another owner,
     *   whose progress this commit would set back
     * @param {number} partition
     * @param {number} next offset after the last record that is done
     */
    done (since, partition, next) {
      if (since !== generation || next < (floors.get(partition) ?? 0)) return
      offsets.set(partition, next)
      schedule()
    },

    /**
     * The partition is read again from an earlier offset. Commits stay where they are until it is done up to this one:
     * they say which records without a log were carried out.
     * @param {number} partition
     * @param {number} floor
     */
    hold (partition, floor) { floors.set(partition, floor) },

    /**
     * Commits now. Never rejects.
     * @param {typeof commit} [by] that of a delivery, which works while the consumer stops
     */
    flush: commitAll,

    /** Begins a new assignment, at the committed offsets. */
    reset () {
      generation++
      offsets.clear()
      floors.clear()
    },

    close () {
      closed = true
      timer?.stop()
    }
  }
}
