/**
 * Which users have a connection (or one under way) here: the bus sends their records to this worker from before their
 * first connection is told that it is open until their last has gone. As long as that, what was ordered about them is
 * known.
 *
 * @param {object} dependencies
 * @param {Pick<import('../bus/contract.js').Bus, 'addUser' | 'removeUser'>} dependencies.bus
 * @param {import('../bus/orders.js').Orders} dependencies.orders
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createUsers ({ bus, orders, metrics, log }) {
  /** @type {Map<string, { count: number, ready: Promise<void> | null }>} bounded by the connections there are */
  const users = new Map()

  return {
    /** @param {string} uid @returns {number} its connections here, with those under way */
    count: (uid) => users.get(uid)?.count ?? 0,

    /** @param {string} uid @throws {import('../common/errors.js').InkcastError} unavailable */
    async register (uid) {
      let user = users.get(uid)
      if (user === undefined) users.set(uid, user = { count: 0, ready: bus.addUser(uid) })
      user.count++
      try {
        await user.ready
        // there are as many as there are users
        user.ready = null
      } catch (error) {
        metrics.bus_errors.inc({ operation: 'addUser' })
        // the next one asks again
        if (--user.count === 0 && users.get(uid) === user) {
          users.delete(uid)
          orders.forget(uid)
        }
        throw error
      }
    },

    /** @param {string} uid @returns {boolean} whether there is a connection of the user here, or one under way */
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
