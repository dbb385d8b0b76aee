import { randomUUID } from 'node:crypto'
import os from 'node:os'
import { systemClock } from '../clock.js'
import { InkcastError } from '../errors.js'
import { MAX_WORKERS } from '../wire/session-id.js'

/**
 * The number of a gateway worker, cluster-wide its own: a lease in Redis, renewed by heartbeat. Whoever owns a
 * number owns the sessions whose ids begin with it.
 *
 * While Redis is away nobody can take a number, so a worker that cannot renew goes on serving; it stops when Redis
 * says that somebody else has its number.
 */

/** How long a number stays with a worker that no longer renews it, ms. */
export const LEASE_TIME = 10_000
const RENEWALS_PER_LEASE = 3
/** How long an answer about another worker is believed, ms: it is asked for per stray request. */
const OWNER_CACHE_TIME = 1000

/**
 * Where a worker can be reached by others.
 * @typedef {object} WorkerAddress
 * @property {string} machine
 * @property {string} path unix socket of its private listener on that machine
 */

/** This machine, as its workers see each other: a container or network namespace has no unix socket in common. */
export const thisMachine = () => `${os.hostname()}:${process.getuid?.() ?? ''}`

/**
 * @param {object} dependencies
 * @param {Pick<import('../redis/client.js').RedisConnection, 'scripts'>} dependencies.redis
 * @param {string} dependencies.slot names the place of this process: the process that takes it again gets the same number
 * @param {WorkerAddress} dependencies.address
 * @param {() => void} dependencies.onLost another worker has the number: stop serving
 * @param {import('../log.js').Log} dependencies.log
 * @param {import('../clock.js').Clock} [dependencies.clock]
 * @param {number} [dependencies.leaseTime] ms
 */
export function createWorkerLease ({ redis, slot, address, onLost, log, clock = systemClock, leaseTime = LEASE_TIME }) {
  const token = randomUUID()
  /** @type {number | undefined} */
  let number
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {Map<number, { address: WorkerAddress | undefined, until: number }>} bounded by MAX_WORKERS */
  const owners = new Map()

  async function renew () {
    try {
      if (await redis.scripts.renew([EXPIRY, OWNERS], [/** @type {number} */ (number), token, leaseTime]) === 1) return
      clearInterval(timer)
      log.fatal({ workerNumber: number }, 'another worker has this worker\'s number')
      onLost()
    } catch (error) {
      log.warn({ err: error }, 'the worker number could not be renewed')
    }
  }

  return {
    /** @returns {number} */
    get number () {
      if (number === undefined) throw new Error('the lease has not been claimed')
      return number
    },

    /** @throws {InkcastError} unavailable: Redis is away, or all numbers are taken */
    async start () {
      const claimed = await redis.scripts.claim([EXPIRY, OWNERS, SLOTS], [slot, JSON.stringify({ ...address, slot, token }), leaseTime, MAX_WORKERS])
      if (claimed === -1) throw new InkcastError('unavailable', `all ${MAX_WORKERS} worker numbers are taken`)
      number = claimed
      timer = setInterval(renew, leaseTime / RENEWALS_PER_LEASE)
      timer.unref()
    },

    async stop () {
      clearInterval(timer)
      if (number === undefined) return
      await redis.scripts.renew([EXPIRY, OWNERS], [number, token, 0]).catch((error) => log.debug({ err: error }, 'the worker number was not given back'))
    },

    /**
     * @param {number} workerNumber
     * @returns {Promise<WorkerAddress | undefined>} undefined: nobody has that number
     */
    async owner (workerNumber) {
      const known = owners.get(workerNumber)
      if (known !== undefined && known.until > clock.now()) return known.address
      const json = await redis.scripts.owner([EXPIRY, OWNERS], [workerNumber])
      const address = json === null ? undefined : JSON.parse(json)
      owners.set(workerNumber, { address, until: clock.now() + OWNER_CACHE_TIME })
      return address
    }
  }
}

// All in one slot of Redis Cluster, so that one script may touch them.
const EXPIRY = 'inkcast:{workers}:expiry'
const OWNERS = 'inkcast:{workers}:owners'
const SLOTS = 'inkcast:{workers}:slots'
