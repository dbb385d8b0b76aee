import { InkcastError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { isAlive as isAliveHere } from '../../base/process/alive.js'
import { RedisTime } from '../../redis/redis-time.js'
import { throughOutages } from '../../redis/through-outages.js'
import { MAX_WORKERS } from '../../wire/session-id.js'

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
export class WorkerLease {
  /**
   * `claimed`: the first renewal is in progress; `ended`: released, or another worker has the number.
   * @type {'unclaimed' | 'claimed' | 'renewed' | 'ended'}
   */
  #state = 'unclaimed'
  /** @type {number | undefined} */
  #number
  /** @see incarnation */
  #incarnation = 0
  /** Known end of the lease, monotonic ms: counted from before the call to Redis, so never later than the real end. */
  #heldUntil = -Infinity
  /** Users are being registered again. */
  #settling = false
  /** Of the data in Redis that this worker knows of (include/data_name.lua). */
  #dataName = ''
  /** @type {string[]} the shared secret, and the previous one: Redis may have lost its data */
  #secrets
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  /** @type {(incarnation: number) => void} */
  #onReborn = () => {}
  /** @type {((hadEnded: boolean) => void) | undefined} */
  #onUnsure
  #stopping = new AbortController()
  #parts
  #keys
  #token
  #owner
  #log
  #clock
  #logLimit

  /**
   * @param {object} parts
   * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'keys' | 'onBack' | 'lost' | 'hasLost'>}
   *   parts.redis
   * @param {string} parts.slot names the slot of this process: its next process gets the same number
   * @param {WorkerAddress} parts.address
   * @param {(pid: number) => boolean} [parts.isAlive] whether this machine has a process with this pid
   * @param {() => void} parts.onLost another worker has the number: stop serving
   * @param {import('../../base/common/log.js').Log} parts.log
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'uuid' | 'bytes' | 'number'>} parts.random
   */
  constructor ({ redis, slot, address, isAlive = isAliveHere, onLost, log, clock, random }) {
    this.#parts = { redis, slot, address, isAlive, onLost, random }
    this.#keys = redis.keys.workers
    this.#token = random.uuid()
    this.#owner = JSON.stringify({ ...address, slot, token: this.#token })
    this.#secrets = [random.bytes(32).toString('base64url')]
    this.#log = log
    this.#clock = clock
    this.#logLimit = new LogLimit({ clock })
    /** The clock of Redis. */
    this.time = new RedisTime(clock)
    redis.onBack(() => { if (this.#state === 'renewed') this.#renew(true) })
  }

  /**
   * @param {(incarnation: number) => void} listener the only one; called when the lease had ended and this is another
   *   incarnation now: to other processes the previous one has ended, with all its data
   */
  onReborn (listener) { this.#onReborn = listener }

  /**
   * @param {(hadEnded: boolean) => void} listener the only one; called when Redis may have lost what this worker has
   *   registered, and when the lease had ended, as far as this worker knows. Until `settles(false)` orders about
   *   users are refused in the cluster
   */
  onUnsure (listener) { this.#onUnsure = listener }

  /** @param {boolean} begins whether the worker begins, or has ended, to register its users again */
  settles (begins) {
    if (this.#settling === begins) return
    this.#settling = begins
    if (this.#state === 'renewed') this.#renew()
  }

  /** @returns {number} */
  get number () {
    if (this.#number === undefined) throw new Error('the lease has not been claimed')
    return this.#number
  }

  /** Whether the lease is valid, so that others find this worker: false if it could not be renewed in time. */
  get held () { return this.#clock.monotonic() < this.#heldUntil }

  /**
   * Time when the number was leased, ms since 1970 by the clock of Redis. Later ones of a number are larger.
   * @returns {number}
   */
  get incarnation () { return this.#incarnation }

  /**
   * The secrets by which workers authenticate to each other: the first one signs, all are accepted.
   * @returns {readonly string[]}
   */
  get secrets () { return this.#secrets }

  /** Waits for Redis. @throws {InkcastError} unavailable: all numbers are taken */
  async start () {
    const { random } = this.#parts
    await throughOutages(() => this.#claim(), {
      log: this.#log, clock: this.#clock, random, signal: this.#stopping.signal
    })
    await this.#renew()
    if (this.#state !== 'claimed') return
    this.#state = 'renewed'
    this.#timer = this.#clock.every(LEASE_TIME / RENEWALS_PER_LEASE, () => { this.#renew() }).unref()
  }

  /** A claim whose answer was lost is repeated: the slot gets the same number. */
  async #claim () {
    const { redis, slot } = this.#parts
    const asked = this.#clock.monotonic()
    const [claimed, begun] = await redis.scripts.claim(
      [
        this.#keys.expiry, this.#keys.owners, this.#keys.slots, this.#keys.incarnations, this.#keys.ending,
        this.#keys.ended, this.#keys.watched, this.#keys.settling
      ],
      [slot, this.#owner, LEASE_TIME, MAX_WORKERS, await this.#deadOwner(), KEEP_TIME]
    )
    if (claimed === -1) throw new InkcastError('unavailable', `all ${MAX_WORKERS} worker numbers are taken`)
    this.#state = 'claimed'
    this.#number = claimed
    this.#incarnation = Number(begun)
    this.#heldUntil = asked + LEASE_TIME
  }

  async stop () {
    this.#end()
    if (this.#number === undefined) return
    await this.#renewFor(0).catch((error) => this.#log.debug({ err: error }, 'the worker number could not be released'))
  }

  /**
   * @param {number} workerNumber
   * @returns {Promise<WorkerAddress | undefined>} undefined: the number is free
   */
  async owner (workerNumber) {
    const json = await this.#parts.redis.scripts.owner(
      [this.#keys.expiry, this.#keys.owners, this.#keys.watched], [workerNumber]
    )
    return json === null ? undefined : JSON.parse(json)
  }

  /**
   * Finds the previous process of this slot, if it is certainly dead: then its lease need not expire first.
   * @returns {Promise<string>} its token or ''
   */
  async #deadOwner () {
    const { redis, slot, address: { machine, pid, peer }, isAlive } = this.#parts
    const json = await redis.scripts.slot([this.#keys.owners, this.#keys.slots], [slot])
    const before = json === null ? null : JSON.parse(json)
    if (before === null) return ''
    // an earlier container had the address that this process listens at now
    const dead = before.machine === machine
      // in a new container this process may have the same pid as the previous one
      ? before.pid === pid || !isAlive(before.pid)
      : peer !== undefined && before.peer?.host === peer.host && before.peer.port === peer.port
    return dead ? before.token : ''
  }

  /** @param {number} duration ms; 0 releases the number */
  #renewFor (duration) {
    return this.#parts.redis.scripts.renew(
      [
        this.#keys.expiry, this.#keys.owners, this.#keys.secret, this.#keys.incarnations, this.#keys.ending,
        this.#keys.settling, this.#keys.registry, this.#keys.watched, this.#keys.doubted, this.#keys.ended
      ],
      [
        this.number, this.#token, duration, this.#owner, this.#secrets[0], this.#incarnation,
        this.#settling ? SETTLING : this.#onUnsure === undefined ? SETTLED : IF_LOST, this.#dataName
      ]
    )
  }

  /** @param {boolean} [back] called by `onBack`, so all parts already know that Redis may have lost its data */
  async #renew (back = false) {
    const asked = this.#clock.monotonic()
    try {
      const [secret, renewed, missing, now, name] = await this.#renewFor(LEASE_TIME)
      // by now at the latest: Redis may have accepted orders before this call, and have lost this lease with them
      const hadEnded = !this.held
      if (secret === '') return this.#lose()
      if (Number(renewed) !== this.#incarnation) {
        this.#incarnation = Number(renewed)
        this.#log.warn(
          { workerNumber: this.#number },
          'the lease of the worker number had expired: this worker continues as a new one'
        )
        this.#onReborn(this.#incarnation)
      }
      if (hadEnded) this.#onUnsure?.(true)
      this.#heldUntil = asked + LEASE_TIME
      this.#dataName = name
      this.#logLimit.reset()
      if (secret !== this.#secrets[0]) this.#secrets = [secret, this.#secrets[0]]
      const step = Math.round(this.time.note(asked, Number(now)))
      await this.#checkData({ step, missing: missing === 1, back })
    } catch (error) {
      if (this.#logLimit.due()) this.#log.warn({ err: error }, 'the worker number could not be renewed, retrying')
    }
  }

  /**
   * Notifies all parts if Redis has lost its data, or its clock was set.
   * @param {{ step: number, missing: boolean, back: boolean }} renewal step: of the clock of Redis, ms; missing: Redis
   *   did not have the lease
   */
  async #checkData ({ step, missing, back }) {
    const { redis } = this.#parts
    const lost = await redis.hasLost([this.number, this.#incarnation], !this.#settling) || missing
    if (step !== 0) {
      this.#log.warn(
        { workerNumber: this.#number, stepMs: step },
        'the clock of redis was set: this worker writes its own data again'
      )
    } else if (lost && !back) {
      this.#log.warn({ workerNumber: this.#number }, 'redis has lost its data: this worker writes its own data again')
    }
    if (!lost && step === 0) return
    this.#onUnsure?.(false)
    if (!back) redis.lost()
  }

  #lose () {
    this.#end()
    this.#log.fatal({ workerNumber: this.#number }, 'another worker has this worker\'s number')
    this.#parts.onLost()
  }

  #end () {
    this.#state = 'ended'
    this.#stopping.abort()
    this.#timer?.stop()
    this.#heldUntil = -Infinity
  }
}
