import { newTraceId } from '../wire/headers.js'
import { timeOfSid, workerOfSid } from '../wire/session-id.js'

/**
 * One connection per device over the cluster: a new connection of the same user with the same client id replaces the
 * old one, which gets `replaced`. It holds for connections whose protocol says that the id is theirs alone
 * (`Connection.exclusive`).
 *
 * Each connection claims its device in Redis once it is connected. The latest claim there has the device, and its
 * worker orders the end of the connection that had it before, like a kick. An order that Redis did not take is sent
 * again when Redis answers. Claims are renewed, and a connection that finds a later claim then ends by itself: so an
 * order that was lost delays the end until the next renewal, but never undoes it. A claim that has replaced others is
 * renewed at once: otherwise its worker has died, and the connection that finds it claims the device again.
 *
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {Connection & { claimedAt: number }} Exclusive claimedAt: time of its claim, as of Redis; 0: not claimed yet
 */

/** Interval of renewals, ms; Redis keeps a claim for an hour. */
const RENEW_AFTER = 5 * 60_000
/** At most RENEWALS, and as many repeated claims, per PAUSE, ms. */
const RENEWALS = 2000
const PAUSE = 1000
/** Orders to other workers in progress, and queued; above it they are left to the next renewal of the old one. */
const ORDERS_AT_ONCE = 100
const MAX_ORDERS = 10_000
const NO_VALUE = Buffer.alloc(0)

/** A device with a connection here. */
class Held {
  claiming = false

  /** @param {Exclusive} connection @param {number} now monotonic ms */
  constructor (connection, now) {
    this.connection = connection
    this.renewedAt = Math.trunc(now)
  }
}

export class Takeovers {
  /**
   * The one whose renewal was tried least recently first; bounded by the number of connections.
   * @type {Map<string, Held>}
   */
  #held = new Map()
  /** Devices whose claim failed. @type {Set<string>} */
  #failed = new Set()
  /** Orders that wait: the old connection, and the one that replaces it. @type {[sid: string, by: string][]} */
  #orders = []
  #ordering = 0
  /** Claims before this time may be lost, monotonic ms. */
  #lostAt = 0
  #renewing = false
  /** @type {import('../base/common/clock.js').Timer | undefined} */
  #timer
  #services
  #parts

  /**
   * @param {Pick<import('../observe/services.js').Services, 'metrics' | 'log' | 'clock' | 'random'>} services
   * @param {object} parts
   * @param {Pick<import('../people/devices/redis-devices.js').RedisDevices, 'ready' | 'claim' | 'renew' | 'end'>}
   *   parts.devices
   * @param {Pick<import('../log/bus/contract.js').Bus, 'publish'>} parts.bus
   * @param {Pick<import('./directory.js').Directory, 'connection'>} parts.directory
   * @param {number} parts.workerNumber
   */
  constructor (services, parts) {
    this.#services = services
    this.#parts = parts
  }

  start () { this.#timer ??= this.#services.clock.every(PAUSE, () => this.#renew()).unref() }

  stop () {
    this.#timer?.stop()
    this.#timer = undefined
  }

  /** Redis may have lost claims: all are renewed. */
  lost () {
    this.#lostAt = this.#services.clock.monotonic()
    this.#renew()
  }

  // ConnectionListener (connection-listeners.js)

  /** @param {Connection} given */
  connected (given) {
    const name = deviceOf(given)
    if (name === undefined) return
    const connection = /** @type {Exclusive} */ (given)
    const before = this.#held.get(name)
    const held = before ?? new Held(connection, this.#services.clock.monotonic())
    const replaced = before?.connection
    held.connection = connection
    this.#held.set(name, held)
    this.#claim(name, held)
    if (replaced !== undefined) this.#end(replaced)
  }

  /** @param {Connection} connection */
  disconnected (connection) {
    const name = deviceOf(connection)
    const held = name === undefined ? undefined : this.#held.get(name)
    if (name === undefined || held?.connection !== connection) return
    this.#held.delete(name)
    this.#failed.delete(name)
    const { uid, client, id, claimedAt } = held.connection
    // an entry that stays in Redis is harmless, and expires
    this.#parts.devices.end(uid, /** @type {string} */ (client), id, claimedAt).catch(() => {})
  }

  /** @param {string} name @param {Held} held */
  async #claim (name, held) {
    // it looks again at which connection has the device
    if (held.claiming) return
    held.claiming = true
    /** @type {Exclusive | undefined} */
    let claimed
    this.#failed.delete(name)
    try {
      while (held.connection !== claimed && this.#held.get(name) === held) {
        claimed = held.connection
        const { uid, client, id } = claimed
        const { at, others } = await this.#parts.devices.claim(uid, /** @type {string} */ (client), id)
        claimed.claimedAt = at
        for (const other of others) this.#replace(name, other, id)
        if (others.length > 0) await this.#parts.devices.renew(uid, /** @type {string} */ (client), id, at)
      }
    } catch {
      this.#services.metrics.bus_errors.inc({ operation: 'claim_device' })
      if (this.#held.get(name) === held) this.#failed.add(name)
    } finally {
      held.claiming = false
    }
  }

  /**
   * @param {string} name of the device
   * @param {string} other connection that had it
   * @param {string} by the one that has it now
   */
  #replace (name, other, by) {
    if (workerOfSid(other) !== this.#parts.workerNumber) return this.#order(other, by)
    const connection = this.#parts.directory.connection(other)
    if (connection === undefined) return
    const held = this.#held.get(name)
    if (held?.connection !== connection) return this.#end(connection)
    // the claim of a connection that has ended since reached Redis after that of its successor here
    held.connection.claimedAt = 0
    this.#failed.add(name)
  }

  /** @param {Connection} connection */
  #end (connection) {
    this.#services.metrics.connections_replaced.inc()
    connection.disconnect('replaced')
  }

  /** @param {string} sid of a connection of another worker @param {string} by */
  #order (sid, by) {
    if (this.#ordering < ORDERS_AT_ONCE) this.#sendOrder(sid, by)
    else this.#keepOrder(sid, by)
  }

  /** @param {string} sid @param {string} by */
  #keepOrder (sid, by) {
    if (this.#orders.length < MAX_ORDERS) this.#orders.push([sid, by])
    else this.#services.metrics.bus_errors.inc({ operation: 'replace_device' })
  }

  #sendKept () {
    while (this.#ordering < ORDERS_AT_ONCE && this.#orders.length > 0)
      this.#sendOrder(.../** @type {[string, string]} */ (this.#orders.shift()))
  }

  /** @param {string} sid @param {string} by */
  async #sendOrder (sid, by) {
    const { random, metrics } = this.#services
    this.#ordering++
    try {
      await this.#parts.bus.publish([{
        publication: {
          operator: 'kick', sid, from: by, event: 'message', except: [], ephemeral: false, receipt: false,
          traceId: newTraceId(random), timestamp: timeOfSid(by), contentType: 'application/json', value: NO_VALUE
        }
      }])
      this.#ordering--
      this.#sendKept()
    } catch {
      this.#ordering--
      metrics.bus_errors.inc({ operation: 'replace_device' })
      this.#keepOrder(sid, by)
    }
  }

  /**
   * Orders and claims what could not be ordered and claimed, and renews what is due. Claims and renewals that fail are
   * tried again after all others: those of a Redis shard that does not respond do not delay the others.
   */
  async #renew () {
    if (!this.#parts.devices.ready) return
    this.#sendKept()
    if (this.#renewing) return
    this.#renewing = true
    try {
      const calls = []
      for (const name of this.#failed) {
        if (calls.length === RENEWALS) break
        calls.push(this.#claim(name, /** @type {Held} */ (this.#held.get(name))))
      }
      const now = this.#services.clock.monotonic()
      const before = Math.max(this.#lostAt, now - RENEW_AFTER)
      const most = calls.length + RENEWALS
      for (const [name, held] of this.#held) {
        if (calls.length === most) break
        // without a claim there is nothing to renew
        if (held.renewedAt >= before || held.claiming || this.#failed.has(name)) continue
        calls.push(this.#renewOne(name, held, now))
      }
      await Promise.all(calls)
    } finally {
      this.#renewing = false
    }
  }

  /** @param {string} name @param {Held} held @param {number} now */
  async #renewOne (name, held, now) {
    const { connection } = held
    const { uid, client, id, claimedAt } = connection
    try {
      const { at: latest, others, again, isDisputed } =
        await this.#parts.devices.renew(uid, /** @type {string} */ (client), id, claimedAt)
      if (this.#held.get(name) !== held || held.connection !== connection) return
      if (again || (isDisputed && timeOfSid(id) >= timeOfSid(others[0]))) return await this.#claim(name, held)
      if (others.length > 0) return this.#end(connection)
      connection.claimedAt = latest
      held.renewedAt = Math.trunc(now)
    } catch {
      // still due in the next round
      this.#services.metrics.bus_errors.inc({ operation: 'claim_device' })
    }
    if (this.#held.get(name) !== held) return
    this.#held.delete(name)
    this.#held.set(name, held)
  }
}

/** @param {Connection} connection @returns {string | undefined} unambiguous: ids contain no control characters */
const deviceOf = ({ exclusive, uid, client }) => exclusive && client !== undefined ? `${uid}\n${client}` : undefined
