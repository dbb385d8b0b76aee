/**
 * Where the owners of sessions listen, cached: polls need an owner's route several times a second.
 *
 * @typedef {object} Route to an owner
 * @property {boolean} handover whether the launcher hands connections over to it
 * @property {{ path: string } | { host: string, port: number, tls?: boolean }} listener
 */

/** Time for which a route is cached, ms. */
const ROUTE_TIME = 1000

/**
 * @param {object} dependencies
 * @param {(workerNumber: number) => Promise<Route | undefined>} dependencies.findRoute undefined: no such worker
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 */
export function createOwnerRoutes ({ findRoute, clock }) {
  /** @type {Map<number, { route: Promise<Route | undefined>, until: number }>} bounded by the number of workers */
  const routes = new Map()

  return {
    /**
     * @param {number} owner its worker number
     * @returns {Promise<{ route: Route | undefined, fresh: boolean }>} undefined: no worker has that number; fresh: it
     *   was looked up for this call
     */
    async find (owner) {
      const known = routes.get(owner)
      if (known !== undefined && known.until > clock.monotonic()) return { route: await known.route, fresh: false }
      // If Redis is unavailable or has lost its data, the known route is tried: a worker that has ended does not
      // accept.
      const route = findRoute(owner).then((found) => found ?? known?.route, (error) => {
        if (known === undefined) throw error
        return known.route
      })
      routes.set(owner, { route, until: clock.monotonic() + ROUTE_TIME })
      try {
        // A free number may be leased the next moment, and then its sessions must be found.
        if (await route === undefined) routes.delete(owner)
        return { route: await route, fresh: true }
      } catch (error) {
        routes.delete(owner)
        throw error
      }
    },

    /** @param {number} owner that did not accept a connection */
    forget (owner) { routes.delete(owner) }
  }
}
