import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import os from 'node:os'
import { systemClock } from '../common/clock.js'
import { InkcastError } from '../common/errors.js'
import { isAlive } from '../process/alive.js'
import { WORKERS } from '../redis/keys.js'
import { MAX_WORKERS } from '../wire/session-id.js'

/**
 * The number of a gateway worker, cluster-wide its own: a lease in Redis, renewed by heartbeat. Whoever owns a
 * number owns the sessions whose ids begin with it.
 *
 * While Redis is away nobody can take a number, so a worker that cannot renew goes on serving; it stops when Redis
 * says that somebody else has its number. A Redis that was away, or lost its data, learns of us again at once; until
 * then others do not find our sessions, and we are not ready.
 *
 * A renewal also finds out that Redis has lost its data although no connection was lost (FLUSHALL, a restore): all
 * parts of this process that keep something there are told, as after a reconnect.
 *
 * From taking a number until the lease ends, in whatever way, is an incarnation of it (worker-watch.js tells of their
 * ends). A worker that could not renew in time while others could, and whose number nobody has taken, goes on as
 * another incarnation.
 */

/** How long a number stays with a worker that no longer renews it, ms. */
export const LEASE_TIME = 10_000
const RENEWALS_PER_LEASE = 3

/**
 * Where a worker can be reached by others.
 * @typedef {object} WorkerAddress
 * @property {string} machine
 * @property {number} pid
 * @property {string} path unix socket of its private listener on that machine
 * @property {{ host: string, port: number }} [peer] its listener for other machines
 */

/**
 * This machine, as its workers see each other: who has the same name reaches their unix sockets, and can tell whether
 * their processes still run. The host name alone would not do: copies of a virtual machine share it, and so do
 * containers in the host's network.
 */
export const thisMachine = () =>
  [
    os.hostname(),
    linux(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
    linux(() => readlinkSync('/proc/self/ns/pid')),
    process.getuid?.() ?? ''
  ].join(':')

/** @param {() => string} read @returns {string} empty where there is no such thing */
function linux (read) {
  try {
    return read()
  } catch {
    return ''
  }
}

/**
 * @param {object} dependencies
 * @param {Pick<import('../redis/client.js').RedisConnection, 'scripts' | 'onBack' | 'lost' | 'hasLost'>}
 *   dependencies.redis
 * @param {string} dependencies.slot names the place of this process: the process that takes it after this one gets the
 *   same number
 * @param {WorkerAddress} dependencies.address
 * @param {() => void} dependencies.onLost another worker has the number: stop serving
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {number} [dependencies.leaseTime] ms
 */
export function createWorkerLease ({ redis, slot, address, onLost, log, leaseTime = LEASE_TIME }) {
  const token = randomUUID()
  const owner = JSON.stringify({ ...address, slot, token })
  const ownSecret = randomBytes(32).toString('base64url')
  /** @type {number | undefined} */
  let number
  let incarnation = 0
  /** @type {(incarnation: number) => void} */
  let onReborn = () => {}
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** When the lease ends as far as we know, monotonic ms: reckoned from before Redis was asked, so never too late. */
  let heldUntil = -Infinity
  /** @type {string[]} the shared secret, and the one before it: Redis may have lost its data */
  let secrets = [ownSecret]

  /** @param {number} time ms; 0 gives the number back */
  const renewFor = (time) =>
    redis.scripts.renew(
      [WORKERS.expiry, WORKERS.owners, WORKERS.secret, WORKERS.incarnations, WORKERS.ending],
      [/** @type {number} */ (number), token, time, owner, secrets[0], incarnation]
    )

  /** @param {boolean} [back] everybody is told already that Redis may have lost its data */
  async function renew (back = false) {
    const asked = systemClock.monotonic()
    try {
      const [secret, renewed, missing] = await renewFor(leaseTime)
      if (secret === '') {
        endRenewal()
        log.fatal({ workerNumber: number }, 'another worker has this worker\'s number')
        onLost()
        return
      }
      if (Number(renewed) !== incarnation) {
        incarnation = Number(renewed)
        log.warn(
          { workerNumber: number },
          'the lease of the worker number had ended: others take this worker for a new one'
        )
        onReborn(incarnation)
      }
      heldUntil = asked + leaseTime
      if (secret !== secrets[0]) secrets = [secret, secrets[0]]
      const elsewhere = await redis.hasLost()
      if ((missing === 1 || elsewhere) && !back) {
        log.warn({ workerNumber: number }, 'redis has lost its data: what this worker keeps there is written again')
        redis.lost()
      }
    } catch (error) {
      log.warn({ err: error }, 'the worker number could not be renewed')
    }
  }

  function endRenewal () {
    clearInterval(timer)
    timer = undefined
    heldUntil = -Infinity
  }
  redis.onBack(() => { if (timer !== undefined) renew(true) })

  /**
   * The process that had our slot before, if it is surely dead: its lease need not run out first.
   * @returns {Promise<string>} its token or ''
   */
  async function deadOwner () {
    const json = await redis.scripts.slot([WORKERS.owners, WORKERS.slots], [slot])
    const before = json === null ? null : JSON.parse(json)
    return before !== null && before.machine === address.machine && !isRunning(before.pid) ? before.token : ''
  }

  return {
    /**
     * The lease had ended and this is another incarnation now: to others, everything of the earlier one is gone.
     * @param {(incarnation: number) => void} listener the only one
     */
    onReborn (listener) { onReborn = listener },

    /** @returns {number} */
    get number () {
      if (number === undefined) throw new Error('the lease has not been claimed')
      return number
    },

    /** Whether others find us: false when the lease could not be renewed in time. @returns {boolean} */
    get held () { return systemClock.monotonic() < heldUntil },

    /**
     * When the number was taken, ms since 1970 by the clock of Redis. Later ones of a number are larger.
     * @returns {number}
     */
    get incarnation () { return incarnation },

    /**
     * What workers prove themselves to each other with; the first one signs, each is believed.
     * @returns {readonly string[]}
     */
    get secrets () { return secrets },

    /** @throws {InkcastError} unavailable: Redis is away, or all numbers are taken */
    async start () {
      const keys = [WORKERS.expiry, WORKERS.owners, WORKERS.slots, WORKERS.incarnations, WORKERS.ending]
      const [claimed, begun] = await redis.scripts.claim(keys, [slot, owner, leaseTime, MAX_WORKERS, await deadOwner()])
      if (claimed === -1) throw new InkcastError('unavailable', `all ${MAX_WORKERS} worker numbers are taken`)
      number = claimed
      incarnation = Number(begun)
      await renew()
      timer = setInterval(() => renew(), leaseTime / RENEWALS_PER_LEASE)
      timer.unref()
    },

    async stop () {
      endRenewal()
      if (number === undefined) return
      await renewFor(0).catch((error) => log.debug({ err: error }, 'the worker number was not given back'))
    },

    /**
     * @param {number} workerNumber
     * @returns {Promise<WorkerAddress | undefined>} undefined: nobody has that number
     */
    async owner (workerNumber) {
      const json = await redis.scripts.owner([WORKERS.expiry, WORKERS.owners], [workerNumber])
      return json === null ? undefined : JSON.parse(json)
    }
  }
}

/** @param {number} pid of this machine */
function isRunning (pid) {
  // a container's only process has the number of the one before it
  return pid !== process.pid && isAlive(pid)
}
