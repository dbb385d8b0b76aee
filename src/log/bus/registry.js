import { InkcastError } from '../../base/common/errors.js'

/**
 * How long workers may be missing in Redis after a loss of data, ms: the lease of one that died together
 * with the data would have ended by then (worker-lease.js, and a look of worker-watch.js).
 */
export const MISSING = 13_000
/**
 * Time in which each worker that reaches Redis writes its data again, ms: the interval of renewals (worker-lease.js),
 * and a reserve. This process may not have known one that had just started.
 */
const RENEWED = 4000
/**
 * Interval at which the workers are noted, ms. Shorter while there are none: a loss of data right after the
 * first one came would look like that.
 */
const NOTE_EVERY = 5000
const NOTE_FIRST = 250

/**
 * Tells whether Redis knows all workers and their users. After a loss of data (FLUSHALL, an empty restart) an empty
 * list does not mean that there are no workers: they write their data again within seconds. This process recognizes
 * the loss by the name of the data, and waits until each worker of before is there again, and none registers its users
 * any more. A restart or a failover, in which the last registrations may be lost, gives the data another name as well.
 * A process that has just started does not know who was there before. It does not trust data without a worker, nor data
 * that Redis marks as doubted: that a worker has written first, or again after a loss (include/data_name.lua). Nor does
 * it after a further loss, before it has known the data to be complete.
 *
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection,
 *   'scripts' | 'keys' | 'isCluster' | 'isInProcess' | 'areRegistered'>} dependencies.redis
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 */
export function createRegistry ({ redis, clock }) {
  const { workers: keys } = redis.keys
  /**
   * Of the data that is known to be complete; workers: number and incarnation of each.
   * @type {{ name: string, workers: Map<string, string> } | undefined}
   */
  let complete
  /** At the last look. @type {string | undefined} */
  let lastName
  /** Time of the first look that found it, monotonic ms. */
  let namedAt = 0
  /** Time when the loss was noticed, monotonic ms. @type {number | undefined} */
  let lostAt
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  let isRunning = false

  /**
   * @param {string} [known] the workers are not looked at if the data has this name
   * @returns {Promise<boolean>} whether every worker and user is known
   */
  async function look (known = '') {
    const [name, settling, isDoubted, words] = await redis.scripts.registry(
      [keys.registry, keys.incarnations, keys.settling, keys.doubted], [known]
    )
    const now = clock.monotonic()
    if (name !== lastName) namedAt = now
    lastName = name
    if (known !== '' && name === known) return settling === 0
    /** @type {Map<string, string>} */
    const workers = new Map()
    for (let i = 0; i < words.length; i += 2) workers.set(words[i], words[i + 1])
    if (complete === undefined) {
      // the store of this process has lost nothing since this process began
      if ((name === '' || isDoubted === 1) && now - namedAt < MISSING && !redis.isInProcess) return false
    } else if (name !== complete.name) {
      lostAt ??= now
      const isMissing = [...complete.workers].some(([number, incarnation]) => workers.get(number) !== incarnation)
      if (now - lostAt < (isMissing ? MISSING : RENEWED)) return false
    }
    if (settling > 0) return false
    // without workers there may be a name later: that is no loss
    complete = name === '' ? undefined : { name, workers }
    lostAt = undefined
    return true
  }

  /** Looks now, and then again and again. */
  async function note () {
    // a failure shows in the command that needs it
    await look().catch(() => {})
    if (isRunning) timer = clock.timer(complete === undefined ? NOTE_FIRST : NOTE_EVERY, note).unref()
  }

  return {
    start () {
      if (isRunning) return
      isRunning = true
      note()
    },

    stop () {
      isRunning = false
      timer?.stop()
    },

    /**
     * @param {string} [userKey] a key of a user with its registrations: they must be complete on its node as well
     * @throws {InkcastError} unavailable
     */
    async assertComplete (userKey) {
      const isOfNode = redis.isCluster && userKey !== undefined
      // the workers of now: one that is new may have registered the user
      const isComplete = await look(isOfNode ? '' : complete?.name) &&
        (!isOfNode || complete === undefined || await redis.areRegistered(userKey, [...complete.workers]))
      if (!isComplete) throw new InkcastError('unavailable', 'redis has lost its data, and the workers write theirs again')
    }
  }
}
