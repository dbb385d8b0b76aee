import { Backoff, retry } from '../../base/common/backoff.js'
import { throughOutages } from '../../redis/through-outages.js'
import { LEASE_TIME } from './worker-lease.js'

/** Interval between looks at the leases, ms, with an extra look when one is about to expire. */
const INTERVAL = 1000
/** After this time without a look by any process, leases start again, ms. */
const PAUSE = 3 * INTERVAL
/** A claim to clean up expires after this time without a renewal, ms. */
const CLAIM_TIME = 5000
/**
 * Time from the first cleanup to the second, ms. Writes of a worker that was cut off from Redis may arrive after the
 * first one: Linux goes on sending the bytes of a closed connection, for about 100 s (tcp_orphan_retries).
 */
export const AGAIN = 100_000
/** The mark of the second cleanup, behind the name (watch.lua). */
const SECOND = '~'
/** How long ends are kept, for processes that cannot reach Redis, ms. */
const TOLD_FOR = 3_600_000

/** @param {number} number @param {number} incarnation @returns {string} as in keys and values */
export const incarnationName = (number, incarnation) => `${number}.${incarnation}`

/** @param {string} name @returns {[number: number, incarnation: number]} */
const parseName = (name) => /** @type {[number, number]} */ (name.split('.').map(Number))

/**
 * Those of a number always increase (claim.lua).
 * @param {string} name
 * @param {string} ended of the same number
 * @returns {boolean} whether it has ended with that one, or before
 */
export const endedWith = (name, ended) => parseName(name)[1] <= parseName(ended)[1]

/**
 * See WorkerWatch.
 * @typedef {(number: number, incarnation: number, signal: AbortSignal, isLast: boolean) => Promise<void>} Clean
 */

/**
 * Watches the leases of all workers, and reports those that have ended: expired, released, or taken over by the next
 * process.
 *
 * A worker's data is named by its incarnation, `<number>.<incarnation>` (`WorkerLease`), because numbers are
 * reused soon. An incarnation that has ended never returns.
 *
 * - `onWorkerGone(number, incarnation)` is called on **every** process that watches, about a second after the end at
 *   the latest, in the order of the ends: release all state about that worker. It is called for ends after `start()`;
 *   use `liveIncarnations()` for earlier ones.
 * - `clean(number, incarnation)` is called on **one** process of the cluster, after `grace`, in which clients may
 *   reconnect: it reports the worker's clients. It is called once more 100 s later, for what arrived late, and then
 *   deletes the worker's keys (`isLast`). If it rejects, it is called again; if the process dies, another process is
 *   assigned. It may therefore restart after any step, and run twice at a time after an outage of Redis: each step must
 *   be idempotent.
 *
 * An outage of Redis ends no worker: leases could not be renewed during it, so they start again.
 */
export class WorkerWatch {
  #stopping = new AbortController()
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  /** The last end that was reported. */
  #newest = ''
  /** The incarnation that this process is cleaning up; '': none. */
  #claimed = ''
  #parts

  /**
   * @param {object} parts
   * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'client' | 'keys'>} parts.redis
   * @param {((number: number, incarnation: number) => void)[]} [parts.onWorkerGone]
   * @param {Clean} [parts.clean] default: this process cleans nothing up
   * @param {number} parts.grace how long a worker's data is kept after its last renewal, ms; the same in all processes
   * @param {import('../../base/common/log.js').Log} parts.log
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   * @param {import('../../base/common/random.js').Random} parts.random
   */
  constructor (parts) { this.#parts = parts }

  /** Waits for Redis: without the newest end, later ones could be missed. @throws other errors of Redis */
  async start () {
    this.#lookAfter(await throughOutages(() => this.#look(), { ...this.#parts, signal: this.#stopping.signal }))
  }

  /** Another process continues a cleanup that is in progress. */
  stop () {
    this.#stopping.abort()
    this.#timer?.stop()
  }

  /** @param {number} ms */
  #lookAfter (ms) { this.#timer = this.#parts.clock.timer(ms, () => this.#watch()).unref() }

  async #watch () {
    let next = INTERVAL
    try {
      next = await this.#look()
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'the leases of workers could not be checked')
    }
    if (!this.#stopping.signal.aborted) this.#lookAfter(next)
  }

  /** @returns {Promise<number>} ms until the next look */
  async #look () {
    const { redis, clean, grace } = this.#parts
    const { workers: keys } = redis.keys
    const wanted = clean !== undefined && this.#claimed === '' ? 1 : 0
    const [last, nextExpiry, ended, claims] = await redis.scripts.watch(
      [
        keys.expiry, keys.incarnations, keys.ending, keys.ended, keys.unclean, keys.watched,
        keys.settling
      ],
      [this.#newest, LEASE_TIME, PAUSE, grace, CLAIM_TIME, wanted, TOLD_FOR, this.#claimed, AGAIN]
    )
    this.#newest = last
    for (const name of ended) this.#tell(name)
    if (claims.length > 0 && !this.#stopping.signal.aborted) this.#cleanUp(claims[0])
    return nextExpiry < 0 ? INTERVAL : Math.min(INTERVAL, nextExpiry + 1)
  }

  /** @param {string} name */
  #tell (name) {
    const { onWorkerGone = [], log } = this.#parts
    const [number, incarnation] = parseName(name)
    log.info({ workerNumber: number, incarnation }, 'a worker has ended')
    for (const listener of onWorkerGone) {
      try {
        listener(number, incarnation)
      } catch (error) {
        log.error({ err: error }, 'the handler of the end of a worker failed')
      }
    }
  }

  /** @param {string} claim an incarnation, or with SECOND behind it */
  async #cleanUp (claim) {
    const { redis, clean, log, clock, random } = this.#parts
    const { signal } = this.#stopping
    const isLast = claim.endsWith(SECOND)
    const name = isLast ? claim.slice(0, -SECOND.length) : claim
    this.#claimed = claim
    await retry(async () => {
      await clean?.(...parseName(name), signal, isLast)
      await redis.client.zrem(redis.keys.workers.unclean, claim)
    }, {
      signal,
      backoff: new Backoff({ min: 100, max: 5000, random }),
      clock,
      onFailure: (error) =>
        log.warn({ err: error, incarnation: name }, 'the data of an ended worker could not be cleaned up, retrying')
    }).catch(() => {}) // stopped
    this.#claimed = ''
  }
}

/**
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'client' | 'keys'>} redis
 * @param {Iterable<string>} names incarnations, as returned by `incarnationName`
 * @returns {Promise<Set<string>>} the live ones, in one round trip
 */
export async function liveIncarnations (redis, names) {
  const asked = [...new Set(names)]
  if (asked.length === 0) return new Set()
  const numbers = asked.map((name) => name.slice(0, name.indexOf('.')))
  const known = await redis.client.hmget(redis.keys.workers.incarnations, ...numbers)
  return new Set(asked.filter((name, i) => name === `${numbers[i]}.${known[i]}`))
}
