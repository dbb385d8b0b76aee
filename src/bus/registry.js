import { InkcastError } from '../common/errors.js'
import { WORKERS } from '../redis/keys.js'

/**
 * How long workers that this process knew may be missing after a loss of data, ms: the lease of one that died together
 * with the data would have ended by then (worker-lease.js, and a look of worker-watch.js).
 */
const MISSING = 13_000
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
 *
 * @param {object} dependencies
 * @param {Pick<import('../redis/client.js').RedisConnection, 'scripts'>} dependencies.redis
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export function createRegistry ({ redis, clock }) {
  /**
   * Of the data that is known to be complete; workers: number and incarnation of each.
   * @type {{ name: string, workers: Map<string, string> } | undefined}
   */
  let complete
  /** Time when the loss was noticed, monotonic ms. @type {number | undefined} */
  let lostAt
  /** @type {import('../common/clock.js').Timer | undefined} */
  let timer
  let isRunning = false

  /**
   * @param {string} [known] the workers are not looked at if the data has this name
   * @returns {Promise<boolean>} whether every worker and user is known
   */
  async function look (known = '') {
    const [name, settling, words] = await redis.scripts.registry(
      [WORKERS.registry, WORKERS.incarnations, WORKERS.settling], [known]
    )
    if (known !== '' && name === known) return settling === 0
    /** @type {Map<string, string>} */
    const workers = new Map()
    for (let i = 0; i < words.length; i += 2) workers.set(words[i], words[i + 1])
    if (complete !== undefined && name !== complete.name) {
      lostAt ??= clock.monotonic()
      const isMissing = [...complete.workers].some(([number, incarnation]) => workers.get(number) !== incarnation)
      if (isMissing && clock.monotonic() - lostAt < MISSING) return false
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

    /** @throws {InkcastError} unavailable */
    async assertComplete () {
      if (await look(complete?.name)) return
      throw new InkcastError('unavailable', 'redis has lost its data, and the workers write theirs again')
    }
  }
}
