import { setTimeout as delay } from 'node:timers/promises'

/**
 * The drain of a worker that stops, within DRAIN_TIMEOUT: it leaves the port, asks all clients to go to another worker,
 * closes their connections batch by batch, and waits until they are closed.
 */

/**
 * Connections closed at a time while draining, and the pause between, ms: 100 a second, or as many as it takes to
 * finish in half of DRAIN_TIMEOUT. The workers that take these clients are busy too.
 */
const BATCH = 5
const PAUSE = 50
/**
 * How long clients that were about to connect when the drain began may take to do so, and to be told to go, ms; half of
 * DRAIN_TIMEOUT at most.
 */
const GRACE = 5000
/** How long a client between two requests may take to send the next one while draining, ms. */
const IDLE_GRACE = 500

/** @typedef {ReturnType<typeof createDrain>} Drain */

/**
 * @param {object} dependencies
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {import('./public-port.js').PublicPort} dependencies.port
 * @param {() => import('./public-port.js').Server} dependencies.server that listens on the port
 * @param {() => number} dependencies.sessions open Engine.IO sessions; polling sessions may have requests that other
 *   workers forward
 * @param {Pick<import('../peers/misrouted-requests.js').Strays, 'releaseAll'>} [dependencies.strays]
 * @param {boolean} dependencies.alone no other process takes over the port
 * @param {number} dependencies.timeout DRAIN_TIMEOUT, ms
 * @param {Pick<import('../common/clock.js').Clock, 'monotonic'>} dependencies.clock
 */
export function createDrain ({ directory, port, server, sessions, strays, alone, timeout, clock }) {
  let active = false
  let begun = 0
  let portLeft = false

  return {
    /** Whether the worker is stopping: new clients are sent elsewhere. */
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

    /** Leaves the port, tells all clients, and closes their connections batch by batch. */
    async sendAway () {
      const left = port.leave(server(), () => {
        portLeft = true
      })
      for (const connection of directory.all()) connection.tellDraining()
      const open = [...directory.all()]
      const batch = Math.max(BATCH, Math.ceil((open.length * PAUSE) / Math.max(1, timeout / 2)))
      for (let at = 0; at < open.length; at += batch) {
        for (const connection of open.slice(at, at + batch)) connection.goAway()
        if (at + batch < open.length && this.remaining > 0) await delay(PAUSE)
      }
      await left
    },

    /** Waits until the clients have gone, and those that were about to connect. */
    async finish () {
      const releasing = setInterval(() => strays?.releaseAll(), PAUSE)
      const end = clock.monotonic() + Math.min(this.remaining, alone ? IDLE_GRACE : Math.min(GRACE, timeout / 2))
      while ((sessions() > 0 || !(portLeft || alone)) && clock.monotonic() < end) {
        if (clock.monotonic() > begun + IDLE_GRACE) server().closeIdleConnections()
        await delay(10)
      }
      clearInterval(releasing)
    }
  }
}
