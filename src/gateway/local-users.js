/**
 * The users with an open or connecting connection on this worker. The bus sends their records here from before their
 * first connection is confirmed until their last one has closed. Orders about them are remembered for the same time.
 *
 * @param {object} dependencies
 * @param {Pick<import('../bus/contract.js').Bus, 'addUser' | 'removeUser'>} dependencies.bus
 * @param {import('../bus/orders.js').Orders} dependencies.orders
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createLocalUsers ({ bus, orders, metrics, log }) {
  /** @type {Map<string, { count: number, ready: Promise<void> | null }>} bounded by the number of connections */
  const users = new Map()

  return {
    /** @param {string} uid @returns {number} open and connecting connections of the user here */
    count: (uid) => users.get(uid)?.count ?? 0,

    /** @param {string} uid @throws {import('../common/errors.js').InkcastError} unavailable */
    async register (uid) {
      let user = users.get(uid)
      if (user === undefined) users.set(uid, user = { count: 0, ready: bus.addUser(uid) })
      user.count++
      try {
        await user.ready
        // frees the promise: one per user would add up
        user.ready = null
      } catch (error) {
        metrics.bus_errors.inc({ operation: 'addUser' })
        // the next connection retries
        if (--user.count === 0 && users.get(uid) === user) {
          users.delete(uid)
          orders.forget(uid)
        }
        throw error
      }
    },

    /** @param {string} uid @returns {boolean} whether the user has an open or connecting connection here */
    has (uid) { return users.has(uid) },

    /** @param {string} uid */
    release (uid) {
      const user = users.get(uid)
      if (user === undefined || --user.count > 0) return
      users.delete(uid)
      orders.forget(uid)
      bus.removeUser(uid).catch((error) => {
        metrics.bus_errors.inc({ operation: 'removeUser' })
        log.debug({ err: error }, 'removeUser failed')
      })
    }
  }
}
