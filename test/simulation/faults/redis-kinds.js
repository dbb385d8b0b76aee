import { slotOf } from '../parts/redis/keys-of.js'
import { ReplicatedRedis } from '../parts/redis/replicated.js'
import { ShardedRedis } from '../parts/redis/shards.js'
import { seconds } from './words.js'

/**
 * @typedef {import('./plan.js').Scene} Scene
 * @typedef {import('../world/random.js').SeededRandom} SeededRandom
 * @typedef {import('../parts/redis/server.js').RedisServer} RedisServer
 */

/** Time until a killed Redis is started again, ms. */
const RESTART = 1500
/** Writes that a restart loses, by their age, ms. */
const UNSAVED = 600
/** A clock that is ahead of others by this time may be ahead of some records by HISTORY_TTL, ms. */
const LOGS_MAY_EXPIRE = 300_000

/** @param {Scene} scene @param {SeededRandom} drawn @returns {RedisServer | undefined} */
function someServer ({ cluster }, drawn) {
  const some = cluster.redis.servers.filter(({ process }) => process.isAlive && !process.isPaused)
  return some.length === 0 ? undefined : drawn.pick(some)
}

/**
 * @param {Scene} scene
 * @param {SeededRandom} drawn
 * @param {boolean} hasData
 */
function restart (scene, drawn, hasData) {
  const server = someServer(scene, drawn)
  if (server === undefined) return undefined
  const ms = drawn.duration(RESTART)
  if (!hasData) server.lost()
  server.restart(hasData ? server.store.snapshot() : undefined, ms)
  return `${server.name} is killed, and ${hasData ? 'has its data again' : 'is empty'} after ${seconds(ms)}`
}

/** The faults of Redis. @type {Record<string, import('./kinds.js').Kind>} */
export const REDIS_KINDS = {
  'Redis is killed, and has its data again': { mayResync: true, make: (scene, drawn) => restart(scene, drawn, true) },
  'Redis is killed, and is empty': { mayResync: true, make: (scene, drawn) => restart(scene, drawn, false) },
  'Redis is killed, and has lost its last writes': {
    mayResync: true,
    make (scene, drawn) {
      const server = someServer(scene, drawn)
      if (server === undefined) return undefined
      const { process } = server
      const [unsaved, ms] = [drawn.duration(UNSAVED), drawn.duration(RESTART)]
      const saved = server.store.snapshot()
      scene.world.schedule(unsaved, 'Redis is killed', () => {
        if (!process.isAlive) return
        server.lost()
        server.restart(saved, ms)
      }, null)
      return `${server.name} is killed after ${seconds(unsaved)}, and has the data of now ${seconds(ms)} later`
    }
  },
  'Redis is flushed': {
    mayResync: true,
    make (scene, drawn) {
      const { redis } = scene.cluster
      const some = someServer(scene, drawn)
      // a replica refuses it
      const server = redis instanceof ReplicatedRedis && some === redis.replica ? undefined : some
      server?.process.enter('FLUSHALL', () => {
        server.store.keyspace.clear()
        server.lost()
      })
      return server && `FLUSHALL at ${server.name}`
    }
  },
  'Redis is paused': {
    make (scene, drawn) {
      const server = someServer(scene, drawn)
      if (server === undefined) return undefined
      const ms = drawn.duration(1500)
      server.process.pause(ms)
      return `${server.name} is paused for ${seconds(ms)}`
    }
  },
  'Redis has no memory left': {
    onlyNamed: true,
    make (scene, drawn) {
      const server = someServer(scene, drawn)
      if (server === undefined) return undefined
      const ms = drawn.duration(2500)
      server.fill(ms)
      return `${server.name} has no memory left for ${seconds(ms)}`
    }
  },
  'Redis is killed, and loads its data for a while': {
    onlyNamed: true,
    mayResync: true,
    make (scene, drawn) {
      const server = someServer(scene, drawn)
      if (server === undefined) return undefined
      const [ms, loads] = [drawn.duration(RESTART), drawn.duration(4000)]
      server.restart(server.store.snapshot(), ms, loads)
      return `${server.name} is killed, starts after ${seconds(ms)}, and loads its data for ${seconds(loads)}`
    }
  },
  'pub/sub is cut': {
    make (scene, drawn) {
      const server = someServer(scene, drawn)
      server?.process.enter('cut pub/sub', () => {
        for (const connection of [...server.store.connections]) if (connection.isSubscriber) connection.destroy()
      })
      return server && `all pub/sub connections of ${server.name} are cut`
    }
  },
  'pub/sub loses messages': {
    onlyNamed: true,
    isLate: true,
    apart: { share: 0.2, change: 0x6c6f7373 },
    make (scene, drawn) {
      const server = someServer(scene, drawn)
      if (server === undefined) return undefined
      server.loseMessages()
      return `${server.name} passes on no message until the end of the traffic`
    }
  },
  'failover': {
    needs: 'replica',
    make ({ cluster: { redis } }) {
      if (!(redis instanceof ReplicatedRedis) || !redis.failOver()) return undefined
      return `a person promotes ${redis.master.name}`
    }
  },
  'master of Redis is cut off': {
    needs: 'replica',
    make ({ world, cluster: { redis, machines } }, drawn) {
      if (!(redis instanceof ReplicatedRedis)) return undefined
      const { master, replica, sentinel } = redis
      // where publications do not wait for a replica, some that an isolated master accepts would be lost
      const some = machines.filter(() => !redis.waits || drawn.chance(0.5))
      const others = [replica.machine, sentinel.machine, ...some]
      const ms = redis.patience + drawn.duration(3000)
      world.network.block((a, b) => a.machine === master.machine && others.includes(b.machine), ms)
      return `${master.name} is cut off from ${others.map(({ name }) => name).join(', ')} for ${seconds(ms)}`
    }
  },
  'hash slots move': {
    needs: 'shards',
    // docs/concepts.md: "a move of the hash slot that inkcast could not follow"
    mayResync: 'beside others',
    make ({ cluster: { redis } }, drawn) {
      if (!(redis instanceof ShardedRedis)) return undefined
      const servers = redis.servers.filter(({ isAlive, store }) => isAlive && store.keyspace.size > 0)
      if (servers.length === 0) return undefined
      const from = drawn.pick(servers)
      const keys = [...from.store.keyspace.keys()]
      const slots = new Set(Array.from({ length: drawn.whole(1, 4) }, () => slotOf(drawn.pick(keys))))
      const to = drawn.pick(redis.servers.filter((server) => server !== from))
      const perKey = drawn.chance(0.5) ? 0 : drawn.duration(20)
      const heard = () => drawn.duration(300)
      for (const slot of slots) redis.move(slot, redis.servers.indexOf(to), { perKey, heard })
      return `hash slots ${[...slots].join(', ')} of ${from.name} move to ${to.name}, ${perKey === 0 ? 'at once' : 'key by key'}`
    }
  },
  'step of the clock of Redis': {
    mayResync: ({ cluster }) => cluster.redis.servers.some(({ machine }) => machine.step > LOGS_MAY_EXPIRE),
    make ({ cluster }, drawn) {
      const server = drawn.pick(cluster.redis.servers)
      const ms = drawn.chance(0.5) ? drawn.whole(-60_000, -100) : drawn.whole(100, 1_000_000)
      server.setClock(ms)
      return `the clock of ${server.name} is set by ${seconds(ms)}`
    }
  }
}
