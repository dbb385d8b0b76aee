import { KAFKA_KINDS } from './kafka-kinds.js'
import { LEASE_KINDS } from './lease-kinds.js'
import { REDIS_KINDS } from './redis-kinds.js'
import { seconds } from './words.js'

/**
 * @typedef {import('./plan.js').Scene} Scene
 * @typedef {import('../world/random.js').SeededRandom} SeededRandom
 *
 * The kinds of faults. `make` makes one and says what it did; undefined: nothing was there to do it to.
 *
 * @typedef {object} Kind
 * @property {(scene: Scene, drawn: SeededRandom) => string | undefined} make
 * @property {boolean} [onlyNamed] only in scenarios that name it, unless it is `apart`
 * @property {import('../world/random.js').Apart} [apart] one fault in a share of the worlds without named faults
 * @property {boolean} [isLate] begins shortly before the end of the traffic, if it is `apart`
 * @property {boolean | 'beside others' | ((scene: import('./plan.js').Scene) => boolean)} [mayResync] records may be
 *   lost, so pages may have to load a document again; a function is asked after the fault was made
 * @property {'kafka' | 'launcher' | 'upgrade' | import('../parts/redis/kinds.js').RedisKind} [needs]
 */

/** @param {Scene} scene @param {SeededRandom} drawn @param {string} [role] */
function someProcess ({ cluster }, drawn, role) {
  const running = cluster.running(role).filter(({ process }) => !process.isPaused)
  return running.length === 0 ? undefined : drawn.pick(running).process
}

/** @type {Record<string, Kind>} */
export const KINDS = {
  'kill': {
    make (scene, drawn) {
      const process = someProcess(scene, drawn)
      if (process === undefined) return undefined
      const share = drawn.number()
      process.killInTurn(share)
      // it may have nothing to do for a while
      scene.world.schedule(drawn.duration(200), 'kill', () => process.end(null), null)
      return `${process.name} is killed; ${Math.round(100 * share)} % of its last turn leave it`
    }
  },
  'pause': {
    make (scene, drawn) {
      const process = someProcess(scene, drawn)
      if (process === undefined) return undefined
      // some are longer than the lease of a worker (10 s)
      const ms = drawn.chance(0.3) ? 10_000 + drawn.duration(4000) : drawn.duration(1500)
      process.pause(ms)
      return `${process.name} is paused for ${seconds(ms)}`
    }
  },
  'reload': {
    make ({ cluster }, drawn) {
      if (cluster.launchers.length > 0) {
        const launcher = drawn.pick(cluster.launchers)
        launcher.reload()
        return `the launcher of ${launcher.machine.name} reloads`
      }
      const slots = cluster.slots.filter(({ running }) => running.isReady)
      if (slots.length === 0) return undefined
      const some = drawn.chance(0.4) ? slots : [drawn.pick(slots)]
      for (const slot of some) cluster.reload(slot)
      return `reload of ${some.map(({ name }) => name).join(', ')}`
    }
  },
  'upgrade': {
    needs: 'upgrade',
    make ({ cluster }, drawn) {
      const machine = drawn.pick(cluster.machines)
      const isNext = !machine.isNext
      cluster.install(machine, isNext)
      return `${machine.name} is upgraded to ${isNext ? 'the next version' : 'this version again'}`
    }
  },
  'cordon': {
    needs: 'launcher',
    make ({ world, cluster }, drawn) {
      const launcher = drawn.pick(cluster.launchers)
      const ms = drawn.duration(4000)
      launcher.cordon(true)
      world.schedule(ms, 'uncordon', () => launcher.cordon(false), null)
      return `${launcher.machine.name} is cordoned for ${seconds(ms)}`
    }
  },
  'move': {
    needs: 'launcher',
    make ({ cluster }, drawn) {
      const launcher = drawn.pick(cluster.launchers)
      const move = { share: drawn.pick([0.5, 1]), rate: drawn.whole(1, 40) }
      const { workers } = launcher.config.gateway
      const name = drawn.chance(0.3) ? undefined : `gateway-${drawn.whole(0, workers - 1)}`
      launcher.move(move, name)
      return `${100 * move.share} % of the clients of ${launcher.machine.name} ${name ?? ''} move, ${move.rate} per second`
    }
  },
  'cut connection of a page': {
    make ({ world }, drawn) {
      const lines = world.network.lines.filter(({ owner }) => owner.name.startsWith('page'))
      return cutOne(world, drawn, lines)
    }
  },
  'cut connection within the cluster': {
    make ({ world }, drawn) {
      return cutOne(world, drawn, world.network.lines.filter(({ owner }) => !owner.isClient))
    }
  },
  'half-open connection of a page': {
    make ({ world }, drawn) {
      const lines = world.network.lines.filter(({ owner }) => owner.name.startsWith('page'))
      if (lines.length === 0) return undefined
      const socket = drawn.pick(lines)
      world.network.cut(socket, drawn.chance(0.5)
        ? { here: drawn.duration(3000), there: Infinity }
        : { here: Infinity, there: Infinity })
      return `a connection of ${socket.owner.name} carries nothing any more`
    }
  },
  'partition': {
    make ({ world, cluster }, drawn) {
      const ms = drawn.chance(0.3) ? 10_000 + drawn.duration(3000) : drawn.duration(2500)
      if (drawn.chance(0.5)) {
        const process = someProcess({ world, cluster, pages: [] }, drawn)
        if (process === undefined) return undefined
        const { machine, name } = drawn.pick(cluster.redis.servers)
        world.network.block((a, b) => a === process && b.machine === machine, ms)
        return `${process.name} and ${name} do not reach each other for ${seconds(ms)}`
      }
      const machine = drawn.pick(cluster.machines)
      world.network.block((a, b) => a.machine === machine && b.machine !== machine, ms)
      return `machine ${machine.name} is reached by none for ${seconds(ms)}`
    }
  },
  ...KAFKA_KINDS,
  ...REDIS_KINDS,
  ...LEASE_KINDS,
  'step of the clock of a machine': {
    make ({ cluster }, drawn) {
      const machine = drawn.pick(cluster.machines)
      const ms = drawn.whole(-60_000, 60_000)
      machine.step += ms
      return `the clock of ${machine.name} is set by ${seconds(ms)}`
    }
  }
}

/**
 * @param {import('../world/world.js').World} world
 * @param {import('../world/random.js').SeededRandom} drawn
 * @param {import('../world/sim-socket.js').SimSocket[]} lines
 */
function cutOne (world, drawn, lines) {
  if (lines.length === 0) return undefined
  const socket = drawn.pick(lines)
  const here = drawn.duration(50)
  const there = drawn.chance(0.3) ? drawn.duration(4000) : drawn.duration(50)
  const ends = `${socket.owner.name} and ${socket.peer?.owner.name}`
  world.network.cut(socket, { here, there })
  return `a connection of ${ends} is cut; they notice it after ${seconds(here)} and ${seconds(there)}`
}
