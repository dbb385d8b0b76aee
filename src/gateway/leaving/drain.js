/**
 * The drain of a stopping worker, within DRAIN_TIMEOUT: it leaves the port, asks all clients to reconnect to another
 * worker, closes their connections in batches, and waits until all are closed.
 */

/**
 * Connections per batch and the pause between batches, ms: 100 connections/s, or more if needed to finish in half of
 * DRAIN_TIMEOUT. The workers that take these clients over are busy too.
 */
const BATCH = 5
const PAUSE = 50
/**
 * Time for clients whose connect was in progress when the drain began, to finish it and be sent away, ms; at most half
 * of DRAIN_TIMEOUT.
 */
const GRACE = 5000
/** Time that a client between two requests has to send the next one while the worker drains, ms. */
const IDLE_GRACE = 500

/** @typedef {ReturnType<typeof createDrain>} Drain */

/**
 * @param {object} dependencies
 * @param {import('../directory.js').Directory} dependencies.directory
 * @param {import('../public-port.js').PublicPort} dependencies.port
 * @param {() => import('../public-port.js').Server} dependencies.server listens on the port
 * @param {() => number} dependencies.sessions open Engine.IO sessions; other workers may still forward requests of
 *   polling sessions
 * @param {Pick<import('../../transport/peers/misrouted-requests.js').MisroutedRequests, 'releaseAll'>}
 *   [dependencies.misrouted]
 * @param {boolean} dependencies.alone whether no other process takes over the port
 * @param {number} dependencies.timeout DRAIN_TIMEOUT, ms
 * @param {Pick<import('../../base/common/clock.js').Clock, 'monotonic' | 'every' | 'soon' | 'sleep'>}
 *   dependencies.clock
 */
export function createDrain ({ directory, port, server, sessions, misrouted, alone, timeout, clock }) {
  let active = false
  let begun = 0
  let portLeft = false

  return {
    /** Whether the worker is draining: new clients are refused and reconnect to another one. */
    get active () {
      return active
    },

    /** @returns {number} ms until DRAIN_TIMEOUT is over */
    get remaining () {
      return Math.max(0, begun + timeout - clock.monotonic())
    },

    begin () {
      active = true
      begun = clock.monotonic()
    },

    /** Leaves the port, announces the drain to all clients, and closes their connections in batches. */
    async sendAway () {
      const left = port.leave(server(), () => {
        portLeft = true
      })
      for (const connection of directory.all()) connection.tellDraining()
      const open = [...directory.all()]
      const batch = Math.max(BATCH, Math.ceil((open.length * PAUSE) / Math.max(1, timeout / 2)))
      for (let at = 0; at < open.length; at += batch) {
        for (const connection of open.slice(at, at + batch)) connection.goAway()
        if (at + batch < open.length && this.remaining > 0) await clock.sleep(PAUSE)
      }
      await left
    },

    /** Waits until all sessions are closed, including those whose connect was in progress. */
    async finish () {
      const releasing = clock.every(PAUSE, () => misrouted?.releaseAll())
      const end = clock.monotonic() + Math.min(this.remaining, alone ? IDLE_GRACE : Math.min(GRACE, timeout / 2))
      while (sessions() > 0 || !(portLeft || alone)) {
        const now = clock.monotonic()
        // requests that came by now are read first: this process may have had no time for them
        await new Promise((resolve) => { clock.soon(() => resolve(undefined)) })
        if (now >= end) break
        if (now > begun + IDLE_GRACE) server().closeIdleConnections()
        await clock.sleep(10)
      }
      releasing.stop()
    }
  }
}
