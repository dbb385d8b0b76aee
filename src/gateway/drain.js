import { setTimeout as delay } from 'node:timers/promises'

/**
 * Connections closed at a time, and the pause between, ms: 100 a second, or more if that takes longer than half of
 * DRAIN_TIMEOUT. The workers that take them have clients of their own.
 */
const BATCH = 5
const PAUSE = 50
/**
 * Time for clients that were about to connect when the drain began: they connect and are told to go, ms; half of
 * DRAIN_TIMEOUT at most.
 */
const GRACE = 5000
/** Time in which a client between two requests may send the next one, ms. */
const IDLE_GRACE = 500

/**
 * Tells clients to go elsewhere and closes their connections batch by batch, within DRAIN_TIMEOUT.
 *
 * @param {object} dependencies
 * @param {import('http').Server | import('https').Server} dependencies.httpServer
 * @param {import('../engine/engine.js').Engine} dependencies.engine
 * @param {import('./public-port.js').Door} dependencies.door
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {{ stop: () => void }} dependencies.feeds stopped when no connection comes in any more
 * @param {import('../peers/misrouted-requests.js').Strays} [dependencies.strays]
 * @param {boolean} dependencies.alone no other process takes the connections
 * @param {number} dependencies.timeout DRAIN_TIMEOUT, ms
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @returns {Promise<number>} when DRAIN_TIMEOUT ends, monotonic ms
 */
export async function drain ({ httpServer, engine, door, directory, feeds, strays, alone, timeout, clock }) {
  let closed = false
  const left = door.leave(httpServer, () => {
    closed = true
  })
  const begin = clock.monotonic()
  const deadline = begin + timeout
  for (const connection of directory.all()) connection.tellDraining()
  const open = [...directory.all()]
  const batch = Math.max(BATCH, Math.ceil((open.length * PAUSE) / Math.max(1, timeout / 2)))
  for (let at = 0; at < open.length; at += batch) {
    for (const connection of open.slice(at, at + batch)) connection.goAway()
    if (at + batch < open.length && clock.monotonic() < deadline) await delay(PAUSE)
  }
  await left
  feeds.stop()
  const releasing = setInterval(() => strays?.releaseAll(), PAUSE)
  const end = Math.min(deadline, clock.monotonic() + (alone ? IDLE_GRACE : Math.min(GRACE, timeout / 2)))
  // polling sessions may have no connection of their own here, but requests that other workers forward
  while ((engine.clientsCount > 0 || !(closed || alone)) && clock.monotonic() < end) {
    if (clock.monotonic() > begin + IDLE_GRACE) httpServer.closeIdleConnections()
    await delay(10)
  }
  clearInterval(releasing)
  return deadline
}
