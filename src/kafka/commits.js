/** How often offsets are committed, ms: what comes again after a crash is what came in this time. */
const COMMIT_INTERVAL = 1000

/**
 * Remembers which offsets are done and commits them from time to time. A commit that fails is made up for by the next.
 *
 * @param {object} dependencies
 * @param {(offsets: import('./contract.js').CommittedOffset[]) => Promise<void>} dependencies.commit
 * @param {string} dependencies.topic for the log
 * @param {() => string} dependencies.topicId committed with each offset: it means nothing in another topic of this name
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {number} [dependencies.interval] ms
 */
export function createCommits ({ commit, topic, topicId, log, interval = COMMIT_INTERVAL }) {
  /** @type {Map<number, number>} by partition, the offset after the last that is done, where it is not committed yet */
  const offsets = new Map()
  let generation = 0
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let closed = false

  async function commitAll (by = commit) {
    clearTimeout(timer)
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
    if (!closed) timer ??= setTimeout(commitAll, interval)
  }

  return {
    /** Grows with each assignment of partitions. */
    get generation () { return generation },

    /**
     * @param {number} since the generation in which the work began; in a later one the partition may have another
     *   owner, which this commit would set back
     * @param {number} partition
     * @param {number} next the offset after the last that is done
     */
    done (since, partition, next) {
      if (since !== generation) return
      offsets.set(partition, next)
      schedule()
    },

    /**
     * Commits now. Never rejects.
     * @param {typeof commit} [by] that of a delivery, which works while the consumer stops
     */
    flush: commitAll,

    /** A new assignment begins, at what was committed. */
    reset () {
      generation++
      offsets.clear()
    },

    close () {
      closed = true
      clearTimeout(timer)
    }
  }
}
