import { InkcastError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { isAlive as isAliveHere } from '../../base/process/alive.js'
import { RedisTime } from '../../redis/redis-time.js'
import { WORKERS } from '../../redis/keys.js'
import { MAX_WORKERS } from '../../wire/session-id.js'

/**
 * The number of a gateway worker, unique in the cluster: a lease in Redis that its worker renews. The owner of a number
 * owns the sessions whose ids begin with it.
 *
 * While Redis is unavailable no process can lease a number, so a worker that cannot renew its lease continues to serve;
 * it stops if Redis reports that another process has its number. After an outage or a loss of data in Redis the worker
 * registers again at once; until then other workers do not find its sessions, and it is not ready.
 *
 * A renewal also detects that Redis has lost its data without losing connections (FLUSHALL, a restore), and that its
 * wall clock was set, by which keys expire: all parts of this process with data in Redis are notified, as after a
 * reconnect.
 *
 * An incarnation of a number lasts from its lease to the end of the lease, however it ends (worker-watch.js reports
 * ends). A worker that could not renew in time while others could, and whose number is still free, continues as another
 * incarnation.
 */

/** Time until the lease of a worker that no longer renews it expires, ms. */
export const LEASE_TIME = 10_000
const RENEWALS_PER_LEASE = 3
/** Whether users are being registered again: yes, no, or only if the renewal finds that Redis has lost its data. */
const [SETTLING, SETTLED, IF_LOST] = ['1', '0', '?']
/** How long a free number is kept for the slot that had it, ms: other slots take others. */
const KEEP_TIME = 300_000

/**
 * The address of a worker for other workers.
 * @typedef {object} WorkerAddress
 * @property {string} machine (base/process/host.js)
 * @property {number} pid
 * @property {string} path unix socket of its private listener on that machine
 * @property {{ host: string, port: number, tls?: boolean }} [peer] its listener for other machines; `tls`: it requires
 *   TLS and a certificate
 */

/**
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'onBack' | 'lost' | 'hasLost'>}
 *   dependencies.redis
 * @param {string} dependencies.slot names the slot of this process: its next process gets the same number
 * @param {WorkerAddress} dependencies.address
 * @param {(pid: number) => boolean} [dependencies.isAlive] whether this machine has a process with this pid
 * @param {() => void} dependencies.onLost another worker has the number: stop serving
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {number} [dependencies.leaseTime] ms
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'uuid' | 'bytes'>} dependencies.random
 */
export function createWorkerLease ({
  redis, slot, address, isAlive = isAliveHere, onLost, log, leaseTime = LEASE_TIME, clock, random
}) {
  const token = random.uuid()
  const owner = JSON.stringify({ ...address, slot, token })
  const ownSecret = random.bytes(32).toString('base64url')
  /** @type {number | undefined} */
  let number
  let incarnation = 0
  /** @type {(incarnation: number) => void} */
  let onReborn = () => {}
  /** @type {((hadEnded: boolean) => void) | undefined} */
  let onUnsure
  let settling = false
  const time = new RedisTime(clock)
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  /** Known end of the lease, monotonic ms: counted from before the call to Redis, so never later than the real end. */
  let heldUntil = -Infinity
  /** Of the data in Redis that this worker knows of (include/data_name.lua). */
  let dataName = ''
  /** @type {string[]} the shared secret, and the previous one: Redis may have lost its data */
  let secrets = [ownSecret]
  const logLimit = new LogLimit({ clock })

  /** @param {number} duration ms; 0 releases the number */
  const renewFor = (duration) =>
    redis.scripts.renew(
      [
        WORKERS.expiry, WORKERS.owners, WORKERS.secret, WORKERS.incarnations, WORKERS.ending, WORKERS.settling,
        WORKERS.registry, WORKERS.watched, WORKERS.doubted
      ],
      [
        /** @type {number} */ (number), token, duration, owner, secrets[0], incarnation,
        settling ? SETTLING : onUnsure === undefined ? SETTLED : IF_LOST, dataName
      ]
    )

  /** @param {boolean} [back] called by `onBack`, so all parts already know that Redis may have lost its data */
  async function renew (back = false) {
    const asked = clock.monotonic()
    try {
      const [secret, renewed, missing, now, name] = await renewFor(leaseTime)
      // by now at the latest: Redis may have accepted orders before this call, and have lost this lease with them
      const hadEnded = clock.monotonic() >= heldUntil
      if (secret === '') {
        endRenewal()
        log.fatal(
          { workerNumber: number },
          'another worker has this worker\'s number'
        )
        onLost()
        return
      }
      if (Number(renewed) !== incarnation) {
        incarnation = Number(renewed)
        log.warn(
          { workerNumber: number },
          'the lease of the worker number had expired: this worker continues as a new one'
        )
        onReborn(incarnation)
      }
      if (hadEnded) onUnsure?.(true)
      heldUntil = asked + leaseTime
      dataName = name
      logLimit.reset()
      if (secret !== secrets[0]) secrets = [secret, secrets[0]]
      const step = Math.round(time.note(asked, Number(now)))
      const lost = await redis.hasLost([/** @type {number} */ (number), incarnation], !settling) || missing === 1
      if (step !== 0) {
        log.warn(
          { workerNumber: number, stepMs: step },
          'the clock of redis was set: this worker writes its own data again'
        )
      } else if (lost && !back) {
        log.warn({ workerNumber: number }, 'redis has lost its data: this worker writes its own data again')
      }
      if (!lost && step === 0) return
      onUnsure?.(false)
      if (!back) redis.lost()
    } catch (error) {
      if (logLimit.due()) log.warn({ err: error }, 'the worker number could not be renewed, retrying')
    }
  }

  function endRenewal () {
    timer?.stop()
    timer = undefined
    heldUntil = -Infinity
  }
  redis.onBack(() => { if (timer !== undefined) renew(true) })

  /**
   * Finds the previous process of this slot, if it is certainly dead: then its lease need not expire first.
   * @returns {Promise<string>} its token or ''
   */
  async function deadOwner () {
    const json = await redis.scripts.slot([WORKERS.owners, WORKERS.slots], [slot])
    const before = json === null ? null : JSON.parse(json)
    if (before === null) return ''
    const { machine, peer } = address
    // an earlier container had the address that this process listens at now
    const dead = before.machine === machine
      // in a new container this process may have the same pid as the previous one
      ? before.pid === address.pid || !isAlive(before.pid)
      : peer !== undefined && before.peer?.host === peer.host && before.peer.port === peer.port
    return dead ? before.token : ''
  }

  return {
    /**
     * @param {(incarnation: number) => void} listener the only one; called when the lease had ended and this is another
     *   incarnation now: to other processes the previous one has ended, with all its data
     */
    onReborn (listener) { onReborn = listener },

    /**
     * @param {(hadEnded: boolean) => void} listener the only one; called when Redis may have lost what this worker has
     *   registered, and when the lease had ended, as far as this worker knows. Until `settles(false)` orders about
     *   users are refused in the cluster
     */
    onUnsure (listener) { onUnsure = listener },

    /** @param {boolean} begins whether the worker begins, or has ended, to register its users again */
    settles (begins) {
      if (settling === begins) return
      settling = begins
      if (timer !== undefined) renew()
    },

    /** The clock of Redis. */
    time,

    /** @returns {number} */
    get number () {
      if (number === undefined) throw new Error('the lease has not been claimed')
      return number
    },

    /** Whether the lease is valid, so that others find this worker: false if it could not be renewed in time. */
    get held () { return clock.monotonic() < heldUntil },

    /**
     * Time when the number was leased, ms since 1970 by the clock of Redis. Later ones of a number are larger.
     * @returns {number}
     */
    get incarnation () { return incarnation },

    /**
     * The secrets by which workers authenticate to each other: the first one signs, all are accepted.
     * @returns {readonly string[]}
     */
    get secrets () { return secrets },

    /** @throws {InkcastError} unavailable: Redis is unavailable, or all numbers are taken */
    async start () {
      const keys = [
        WORKERS.expiry, WORKERS.owners, WORKERS.slots, WORKERS.incarnations, WORKERS.ending, WORKERS.ended,
        WORKERS.watched, WORKERS.settling
      ]
      const asked = clock.monotonic()
      const [claimed, begun] = await redis.scripts.claim(
        keys,
        [slot, owner, leaseTime, MAX_WORKERS, await deadOwner(), KEEP_TIME]
      )
      if (claimed === -1) throw new InkcastError('unavailable', `all ${MAX_WORKERS} worker numbers are taken`)
      number = claimed
      incarnation = Number(begun)
      heldUntil = asked + leaseTime
      await renew()
      timer = clock.every(leaseTime / RENEWALS_PER_LEASE, () => { renew() }).unref()
    },

    async stop () {
      endRenewal()
      if (number === undefined) return
      await renewFor(0).catch((error) => log.debug({ err: error }, 'the worker number could not be released'))
    },

    /**
     * @param {number} workerNumber
     * @returns {Promise<WorkerAddress | undefined>} undefined: the number is free
     */
    async owner (workerNumber) {
      const json = await redis.scripts.owner([WORKERS.expiry, WORKERS.owners, WORKERS.watched], [workerNumber])
      return json === null ? undefined : JSON.parse(json)
    }
  }
}
