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
  /** Pending registration. @type {Promise<void> | null} */
  ready = null
}

/**
 * The users with an open or connecting connection on this worker. The bus sends their records here from before their
 * first connection is confirmed until their last one has closed. Orders about them are remembered for the same time. A
 * budget that was used is remembered until it is full again: closing the connections does not renew it.
 *
 * @param {object} dependencies
 * @param {Pick<import('../log/bus/contract.js').Bus, 'addUser' | 'removeUser'>} dependencies.bus
 * @param {import('../log/bus/orders.js').Orders} dependencies.orders
 * @param {import('../transport/admission/rate-limit.js').Rates} dependencies.rates
 * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 */
export function createLocalUsers ({ bus, orders, rates, metrics, log, clock }) {
  /** @type {Map<string, LocalUser>} bounded by the number of connections */
  const users = new Map()
  /** Users without a connection, the one that left first is first. @type {Map<string, LocalUser>} */
  const gone = new Map()

  /** @param {string} uid @returns {LocalUser} without a connection yet */
  function enter (uid) {
    const before = gone.get(uid)
    gone.delete(uid)
    const user = before ?? new LocalUser(rates, clock.monotonic())
    users.set(uid, user)
    return user
  }

  /** @param {string} uid @param {LocalUser} user whose last connection has gone */
  function leave (uid, user) {
    users.delete(uid)
    orders.forget(uid)
    const now = clock.monotonic()
    user.refill(rates, now)
    forgetFull(now)
    if (!user.used(rates, now)) return
    if (gone.size >= MAX_GONE) gone.delete(/** @type {string} */ (gone.keys().next().value))
    gone.set(uid, user)
  }

  /**
   * Most budgets are full again after some seconds, and most users do not come back, anonymous ones never.
   * @param {number} now ms
   */
  function forgetFull (now) {
    let looked = 0
    for (const [uid, user] of gone) {
      if (looked++ === LOOKED_AT) return
      user.refill(rates, now)
      if (!user.used(rates, now)) gone.delete(uid)
    }
  }

  return {
    /** @param {string} uid @returns {number} open and connecting connections of the user here */
    count: (uid) => users.get(uid)?.count ?? 0,

    /**
     * @param {string} uid registered
     * @returns {UserBudget} of all connections of the user here
     */
    budgetOf: (uid) => /** @type {LocalUser} */ (users.get(uid)),

    /** @param {string} uid @throws {import('../base/common/errors.js').InkcastError} unavailable */
    async register (uid) {
      let user = users.get(uid)
      if (user === undefined) {
        user = enter(uid)
        user.ready = bus.addUser(uid)
      }
      user.count++
      try {
        await user.ready
        // frees the promise: one per user would add up
        user.ready = null
      } catch (error) {
        metrics.bus_errors.inc({ operation: 'addUser' })
        // the next connection retries
        if (--user.count === 0 && users.get(uid) === user) leave(uid, user)
        throw error
      }
    },

    /** @param {string} uid @returns {boolean} whether the user has an open or connecting connection here */
    has (uid) { return users.has(uid) },

    /** @param {string} uid */
    release (uid) {
      const user = users.get(uid)
      if (user === undefined || --user.count > 0) return
      leave(uid, user)
      bus.removeUser(uid).catch((error) => {
        metrics.bus_errors.inc({ operation: 'removeUser' })
        log.debug({ err: error }, 'removeUser failed')
      })
    }
  }
}
