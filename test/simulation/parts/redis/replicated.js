import { findCommand } from '../../../../src/redis/store/commands/table.js'
import { ErrorReply, NULL_ARRAY } from '../../../../src/redis/store/resp/replies.js'
import { Replication, hold } from './replication.js'
import { PORT, RedisServer } from './server.js'

const NAME = 'main'
const SENTINEL_PORT = 26_379
/** Between two looks of the Sentinel, and until it demotes a master that is not the one any more, ms. */
const LOOK = 250
const DEMOTES = 4000
/** min-replicas-max-lag, ms */
const MAX_LAG = 10_000
const NO_REPLICAS = 'NOREPLICAS Not enough good replicas to write.'
const READ_ONLY = 'READONLY You can\'t write against a read only replica.'

/**
 * A master and a replica that lags, and the Sentinel that promotes the replica when the master does not answer for a
 * time. Clients ask the Sentinel, or there is one name, whose address moves. A master that is replaced may live on.
 */
export class ReplicatedRedis {
  kind = 'replica'
  /** Promotions so far. */
  failovers = 0
  /** Called with the server that becomes the master. @type {(server: RedisServer) => void} */
  onFailover = () => {}
  /** By server. @type {Map<RedisServer, 'master' | 'slave'>} */
  #roles = new Map()
  /** @type {Replication | undefined} */
  #replication
  /** Since when the master does not answer, ms. @type {number | undefined} */
  #silentSince

  /** Whether publications are acknowledged when the replica has them. */
  waits
  #failedOverAt = 0
  /** Since when a master that was replaced is there again, ms. @type {number | undefined} */
  #replacedSince

  /** @param {import('../../world/world.js').World} world */
  constructor (world) {
    this.world = world
    const drawn = world.random.fork()
    const middle = drawn.duration(drawn.pick([2, 30, 300]))
    this.lag = () => drawn.duration(middle)
    /** Silence of a master until the replica is promoted, ms. */
    this.patience = drawn.duration(1500)
    this.servers = ['redis-1', 'redis-2'].map((name) => new RedisServer(world, name))
    for (const server of this.servers) server.part = this.#partOf(server)
    const [master, replica] = this.servers
    this.master = master
    this.replica = replica
    this.#roles.set(master, 'master').set(replica, 'slave')
    this.sentinel = new RedisServer(world, 'sentinel', {
      refuses: () => undefined,
      commands: { sentinel: (args) => this.#answer(args) },
      info: () => ({ redis_mode: 'sentinel' })
    }, SENTINEL_PORT)
    this.url = drawn.chance(0.6) ? `redis+sentinel://${this.sentinel.address}/${NAME}` : `redis://redis:${PORT}`
    world.network.alias(`redis:${PORT}`, () => [this.master.address])
    this.waits = drawn.chance(0.5)
    this.env = this.waits ? { PUBLISH_WAIT: 'replicas' } : {}
    for (const server of [...this.servers, this.sentinel]) server.start()
    world.schedule(LOOK, 'Sentinel', () => this.#look(), null)
  }

  /** @param {RedisServer} server @returns {import('./server.js').Part} */
  #partOf (server) {
    const replication = () => this.#replication?.from === server ? this.#replication : undefined
    return {
      refuses: (args) => writes(args) ? this.#refusesWrites(server) : undefined,
      commands: {
        wait: ([, , ms], connection) => {
          const followed = replication()
          if (followed !== undefined) return followed.wait(connection, Number(ms))
          const done = hold(connection, server)
          server.process.clock.timer(Number(ms), () => done(0))
        }
      },
      info: () => ({ role: /** @type {string} */ (this.#roles.get(server)) }),
      onStart: () => this.#follow(),
      onWrite: (args) => replication()?.wrote(args),
      onClear: () => replication()?.cleared()
    }
  }

  /** @param {RedisServer} server */
  #refusesWrites (server) {
    if (this.#roles.get(server) === 'slave') return READ_ONLY
    return server !== this.master && this.#hasNoReplica(server) ? NO_REPLICAS : undefined
  }

  /**
   * As docs/operations/redis.md asks for, `min-replicas-to-write` is 1, and there is a second replica, which follows
   * the new master: so only a master that was replaced has none, from when it hears of it.
   * @param {RedisServer} replaced
   */
  #hasNoReplica ({ process }) {
    const { world, master } = this
    return world.time > this.#failedOverAt + MAX_LAG ||
      world.network.blockedUntil(process, master.process) <= world.time
  }

  /** @param {string[]} args @returns {import('../../../../src/redis/store/contract.js').Reply} */
  #answer ([, command, name]) {
    const asked = command.toLowerCase()
    if (asked === 'sentinels') return []
    if (asked !== 'get-master-addr-by-name') return new ErrorReply(`ERR Unknown sentinel subcommand '${command}'`)
    return name === NAME ? [this.master.name, String(PORT)] : NULL_ARRAY
  }

  /** The replica begins to follow the master, if both are there. */
  #follow () {
    const { master, replica } = this
    this.#replication?.end()
    const isReady = (/** @type {RedisServer} */ { isAlive, process, store }) =>
      isAlive && store?.clock === process.clock
    this.#replication = this.#roles.get(replica) === 'slave' && isReady(master) && isReady(replica)
      ? new Replication(master, replica, this.lag)
      : undefined
  }

  /** @param {RedisServer} server */
  #reaches ({ isAlive, process }) {
    return isAlive && !process.isPaused &&
      this.world.network.blockedUntil(this.sentinel.process, process) <= this.world.time
  }

  /** One look of the Sentinel, and the next ones. */
  #look () {
    const { world, master, replica } = this
    world.schedule(LOOK, 'Sentinel', () => this.#look(), null)
    if (this.#reaches(master)) this.#silentSince = undefined
    else this.#silentSince ??= world.time
    if (this.#silentSince !== undefined && world.time >= this.#silentSince + this.patience) this.failOver()
    if (this.#roles.get(replica) !== 'master') return
    // a master that was replaced, and takes writes that will be lost
    replica.lost()
    if (this.#reaches(replica)) this.#replacedSince ??= world.time
    else this.#replacedSince = undefined
    if (this.#replacedSince !== undefined && world.time >= this.#replacedSince + DEMOTES) {
      this.#roles.set(replica, 'slave')
      this.#turn(replica)
      this.#follow()
    }
  }

  /** The replica becomes the master. @returns {boolean} whether it could */
  failOver () {
    const { master, replica, world, sentinel } = this
    if (this.#roles.get(replica) !== 'slave' || !this.#reaches(replica) || !this.#replication?.isSynced) return false
    this.#replication.end()
    this.#replication = undefined
    this.#replacedSince = undefined
    this.#silentSince = undefined
    this.failovers++
    this.#failedOverAt = world.time
    this.master = replica
    this.replica = master
    this.#roles.set(replica, 'master')
    replica.lost()
    this.#turn(replica, () => { replica.store.replicationId = replica.process.random.bytes(20).toString('hex') })
    sentinel.process.enter('+switch-master', () => {
      sentinel.store.pubsub.publish('+switch-master', `${NAME} ${master.name} ${PORT} ${replica.name} ${PORT}`)
      sentinel.store.flush()
    })
    world.trace.note(world.time, `${replica.name} is the master in place of ${master.name}`)
    this.onFailover(replica)
    return true
  }

  /** The Sentinel gives a server another role, and it loses its clients. @param {RedisServer} server */
  #turn (server, run = () => {}) {
    server.process.enter('other role', () => {
      run()
      for (const connection of [...server.store.connections]) connection.destroy()
    })
  }

  /** The faults are over. */
  heal () {
    for (const server of this.servers) {
      if (server.isAlive) continue
      server.lost()
      server.start()
    }
  }
}

/** @param {string[]} args */
function writes (args) {
  const command = findCommand(args)?.command
  return command !== undefined && (command.grows === true || command.writes === true)
}
