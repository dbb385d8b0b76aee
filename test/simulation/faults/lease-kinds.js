import { seconds } from './words.js'

/**
 * @typedef {import('./plan.js').Scene} Scene
 * @typedef {import('../world/random.js').SeededRandom} SeededRandom
 */

/** Longer than the lease of a worker (10 s), ms. @param {SeededRandom} drawn */
const longerThanLease = (drawn) => drawn.whole(10_500, 14_000)

/** @param {Scene} scene @param {SeededRandom} drawn */
function someWorker ({ cluster }, drawn) {
  const slots = cluster.slots.filter(({ name, restarts, running }) =>
    name.includes('gateway') && restarts && running.isReady && running.process.isAlive && !running.process.isPaused)
  return slots.length === 0 ? undefined : drawn.pick(slots)
}

/**
 * A fault of a worker that lasts longer than its lease.
 * @param {(scene: Scene, slot: import('../parts/cluster.js').Slot, ms: number) => string} make says what it did
 * @returns {import('./kinds.js').Kind}
 */
const ofWorker = (make) => ({
  onlyNamed: true,
  make (scene, drawn) {
    const slot = someWorker(scene, drawn)
    return slot && make(scene, slot, longerThanLease(drawn))
  }
})

/**
 * Faults after which a worker has no lease, while the cluster accepts orders.
 * @type {Record<string, import('./kinds.js').Kind>}
 */
export const LEASE_KINDS = {
  'a worker is cut off from Redis past its lease': ofWorker(({ world, cluster }, { running: { process } }, ms) => {
    const redis = new Set(cluster.redis.servers.map(({ machine }) => machine))
    world.network.block((a, b) => a === process && redis.has(b.machine), ms)
    return `${process.name} and Redis do not reach each other for ${seconds(ms)}`
  }),
  'a worker is paused past its lease': ofWorker((_, { running: { process } }, ms) => {
    process.pause(ms)
    return `${process.name} is paused for ${seconds(ms)}`
  }),
  'a worker is lost for longer than its lease': ofWorker(({ world, cluster }, slot, ms) => {
    const { process } = slot.running
    if (cluster.launchers.length > 0) {
      process.end(null)
      return `${process.name} is killed`
    }
    slot.restarts = false
    process.end(null)
    world.schedule(ms, 'late restart', () => {
      slot.restarts = true
      if (!slot.running.process.isAlive) slot.running = slot.start()
    }, null)
    return `${process.name} is killed, and started again after ${seconds(ms)}`
  })
}
