import { UserBudget } from '../transport/admission/user-budget.js'

/**
 * Users that left with a part of their budget used, and may come back; beyond this the oldest are forgotten.
 */
const MAX_GONE = 10_000
/** Of these, the oldest ones that are looked at when a user leaves: one that stays long must not keep the others. */
const LOOKED_AT = 16

/** A user with an open or connecting connection on this worker, and the budget of these connections. */
class LocalUser extends UserBudget {
  /** Open and connecting connections. */
  count = 0
  /**
   * Pending registration with the bus; null: it has succeeded; undefined: there is none.
   * @type {Promise<void> | null | undefined}
   */
  ready
}

/**
 * The users with an open or connecting connection on this worker. The bus sends their records here from before their
 * first connection is confirmed until their last one has closed. Orders about them are remembered for the same time. A
 * budget that was used is remembered until it is full again: closing the connections does not renew it.
 */
export class LocalUsers {
  #bus
  #tenants
  #orders
  #rates
  #metrics
  #log
  #clock
  /** @type {Map<string, LocalUser>} bounded by the number of connections */
  #users = new Map()
  /** Users without a connection, the one that left first is first. @type {Map<string, LocalUser>} */
  #gone = new Map()

  /**
   * @param {object} dependencies
   * @param {Pick<import('../log/bus/contract.js').Bus, 'addUser' | 'removeUser'>} dependencies.bus
   * @param {Pick<import('../people/tenants/budgets.js').TenantBudgets, 'connected' | 'disconnected'>}
   *   [dependencies.tenants]
   * @param {import('../log/bus/orders.js').Orders} dependencies.orders
   * @param {import('../transport/admission/rate-limit.js').Rates} dependencies.rates
   * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {import('../base/common/log.js').Log} dependencies.log
   * @param {import('../base/common/clock.js').Clock} dependencies.clock
   */
  constructor ({ bus, tenants, orders, rates, metrics, log, clock }) {
    this.#bus = bus
    this.#tenants = tenants
    this.#orders = orders
    this.#rates = rates
    this.#metrics = metrics
    this.#log = log
    this.#clock = clock
  }

  /** @param {string} uid @returns {number} open and connecting connections of the user here */
  count (uid) { return this.#users.get(uid)?.count ?? 0 }

  /** @param {string} uid @returns {boolean} whether the user has an open or connecting connection here */
  has (uid) { return this.#users.has(uid) }

  /** @param {string} uid registered @returns {UserBudget} of all connections of the user here */
  budgetOf (uid) { return /** @type {LocalUser} */ (this.#users.get(uid)) }

  /**
   * Counts a connection, at once: while it waits for its tenant's budget, others of the user find it counted.
   * @param {string} uid
   * @throws {import('../base/common/errors.js').InkcastError} unavailable; too_many_connections: of its tenant
   */
  async register (uid) {
    const user = this.#users.get(uid) ?? this.#enter(uid)
    user.count++
    try {
      const admitted = this.#tenants?.connected(uid)
      if (admitted !== undefined) await admitted
    } catch (error) {
      this.#uncount(uid, user)
      throw error
    }
    if (user.ready === undefined) user.ready = this.#bus.addUser(uid)
    const { ready } = user
    try {
      await ready
      // frees the promise: one per user would add up
      user.ready = null
    } catch (error) {
      this.#metrics.bus_errors.inc({ operation: 'addUser' })
      this.#tenants?.disconnected(uid)
      // the next connection retries
      if (user.ready === ready) user.ready = undefined
      this.#uncount(uid, user)
      throw error
    }
  }

  /** @param {string} uid */
  release (uid) {
    const user = this.#users.get(uid)
    if (user === undefined) return
    this.#tenants?.disconnected(uid)
    this.#uncount(uid, user)
  }

  /** @param {string} uid @param {LocalUser} user */
  #uncount (uid, user) {
    if (--user.count > 0) return
    const isAdded = user.ready !== undefined
    user.ready = undefined
    this.#leave(uid, user)
    if (!isAdded) return
    this.#bus.removeUser(uid).catch((error) => {
      this.#metrics.bus_errors.inc({ operation: 'removeUser' })
      this.#log.debug({ err: error }, 'removeUser failed')
    })
  }

  /** @param {string} uid @returns {LocalUser} without a connection yet */
  #enter (uid) {
    const before = this.#gone.get(uid)
    this.#gone.delete(uid)
    const user = before ?? new LocalUser(this.#rates, this.#clock.monotonic())
    this.#users.set(uid, user)
    return user
  }

  /** @param {string} uid @param {LocalUser} user whose last connection has gone */
  #leave (uid, user) {
    this.#users.delete(uid)
    this.#orders.forget(uid)
    const now = this.#clock.monotonic()
    user.refill(this.#rates, now)
    this.#forgetFull(now)
    if (!user.used(this.#rates, now)) return
    if (this.#gone.size >= MAX_GONE) this.#gone.delete(/** @type {string} */ (this.#gone.keys().next().value))
    this.#gone.set(uid, user)
  }

  /**
   * Most budgets are full again after some seconds, and most users do not come back, anonymous ones never.
   * @param {number} now ms
   */
  #forgetFull (now) {
    let looked = 0
    for (const [uid, user] of this.#gone) {
      if (looked++ === LOOKED_AT) return
      user.refill(this.#rates, now)
      if (!user.used(this.#rates, now)) this.#gone.delete(uid)
    }
  }
}
