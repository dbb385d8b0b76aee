import { ErrorReply, OK, Push, Verbatim } from '../../../../src/redis/store/resp/replies.js'
import { SHARDED, keysOf, slotOf } from './keys-of.js'
import { PORT, RedisServer } from './server.js'

/**
 * @typedef {import('../../../../src/redis/store/contract.js').Connection} Connection
 * @typedef {import('../../../../src/redis/store/contract.js').Reply} Reply
 */

const COUNT = 3
const SLOTS = 16_384
const DOWN = 'CLUSTERDOWN The cluster is down'
const TRY_AGAIN = 'TRYAGAIN Multiple keys request during rehashing of slot'
/** A master that was started again is of no use for this time, ms; so are all when one of them is gone for longer. */
const REJOINS = 2000
const NODE_TIMEOUT = 5000

const firstView = () => Uint8Array.from({ length: SLOTS }, (_, slot) => Math.floor(slot * COUNT / SLOTS))

/**
 * Three masters of Redis Cluster, without replicas. Each has a view of its own of which hash slots are whose. Replies
 * and errors are those of Redis 7.0.15.
 */
export class ShardedRedis {
  kind = 'shards'
  failovers = 0
  env = {}
  /** Index of the server of each hash slot, in the eyes of each server. */
  views = Array.from({ length: COUNT }, firstView)

  /** Hash slots that move key by key. @type {Map<number, { from: number, to: number }>} */
  moving = new Map()
  /** Connections that have sent ASKING before their next command. @type {WeakSet<Connection>} */
  #asking = new WeakSet()
  /** The command that runs now was asked for so. */
  #isAsked = false

  /** @param {import('../../world/world.js').World} world */
  constructor (world) {
    this.world = world
    this.servers = this.views.map((_, i) => new RedisServer(world, `redis-${i + 1}`, {
      refuses: (args, connection) => this.#refuses(i, args, connection),
      commands: {
        asking: (_, connection) => {
          this.#asking.add(connection)
          return OK
        },
        cluster: (args) => this.#cluster(i, args[1]?.toLowerCase())
      },
      info: () => ({ redis_mode: 'cluster' })
    }))
    this.url = this.servers.map(({ address }) => `redis://${address}`).join(',')
    for (const server of this.servers) server.start()
  }

  /** @param {number} i of the server @param {string} command @returns {Reply} */
  #cluster (i, command) {
    if (command === 'info')
      return new Verbatim(`cluster_state:${this.#isDown(i) ? 'fail' : 'ok'}\r\ncluster_slots_assigned:${SLOTS}\r\n`)
    if (command !== 'slots') return new ErrorReply(`ERR unknown subcommand '${command}'. Try CLUSTER HELP.`)
    const view = this.views[i]
    /** @type {Reply[]} */
    const ranges = []
    for (let from = 0, slot = 1; slot <= SLOTS; slot++) {
      if (slot < SLOTS && view[slot] === view[from]) continue
      const { name } = this.servers[view[from]]
      ranges.push([from, slot - 1, [name, PORT, name.padEnd(40, '0'), []]])
      from = slot
    }
    return ranges
  }

  /** @param {number} i of the server */
  #isDown (i) {
    const { time } = this.world
    const { startedAt } = this.servers[i]
    return (startedAt > 0 && time < startedAt + REJOINS) ||
      this.servers.some(({ isAlive, endedAt }) => !isAlive && time > endedAt + NODE_TIMEOUT)
  }

  /**
   * @param {number} i of the server
   * @param {string[]} args
   * @param {Connection} [connection] none: of a script
   * @returns {string | undefined}
   */
  #refuses (i, args, connection) {
    if (connection !== undefined) this.#isAsked = this.#asking.delete(connection)
    const keys = keysOf(args)
    if (keys.length === 0) return undefined
    const refusal = this.#redirects(i, args[0].toLowerCase(), keys)
    return refusal === undefined || connection !== undefined ? refusal
      : 'ERR Script attempted to access a non local key in a cluster node'
  }

  /** @param {number} i @param {string} name @param {string[]} keys @returns {string | undefined} */
  #redirects (i, name, keys) {
    const slot = slotOf(keys[0])
    if (keys.some((key) => slotOf(key) !== slot)) return 'CROSSSLOT Keys in request don\'t hash to the same slot'
    if (!SHARDED.has(name) && this.#isDown(i)) return DOWN
    const owner = this.views[i][slot]
    const move = this.moving.get(slot)
    const { keyspace } = this.servers[i].store
    const missing = move === undefined || SHARDED.has(name) ? 0 : keys.filter((key) => !keyspace.entry(key)).length
    if (move?.from === i && owner === i && missing > 0)
      return missing < keys.length ? TRY_AGAIN : `ASK ${slot} ${this.servers[move.to].address}`
    if (move?.to === i && owner !== i && this.#isAsked) return keys.length > 1 && missing > 0 ? TRY_AGAIN : undefined
    return owner === i ? undefined : `MOVED ${slot} ${this.servers[owner].address}`
  }

  /**
   * A hash slot moves to another server, as `redis-cli --cluster reshard` does it.
   * @param {number} slot
   * @param {number} to index of the server
   * @param {object} pace
   * @param {number} pace.perKey ms; 0: all keys at once
   * @param {() => number} pace.heard draws the time until another server has heard of it, ms
   */
  move (slot, to, { perKey, heard }) {
    const { world, servers } = this
    const from = this.views.findIndex((view, i) => view[slot] === i)
    if (this.moving.has(slot) || from === to || from === -1) return
    const [source, target] = [servers[from], servers[to]]
    this.moving.set(slot, { from, to })
    const next = () => {
      // a person would call redis-cli again
      if (!source.isAlive || !target.isAlive) return void world.schedule(1000, 'move of a hash slot', next, null)
      const keys = keysIn(source, slot)
      for (const key of perKey === 0 ? keys : keys.slice(0, 1)) carry(key, source.store.keyspace, target.store.keyspace)
      if (perKey > 0 && keys.length > 0) return void world.schedule(perKey, 'move of a hash slot', next, null)
      this.#hears(to, slot, to)
      for (const i of servers.keys()) {
        if (i === to) continue
        const delay = perKey === 0 && i === from ? 0 : heard()
        world.schedule(delay, 'end of a move', () => this.#hears(i, slot, to), null)
      }
    }
    next()
  }

  /** @param {number} i of the server @param {number} slot @param {number} owner */
  #hears (i, slot, owner) {
    this.views[i][slot] = owner
    if (this.moving.get(slot)?.from !== i) return
    this.moving.delete(slot)
    const server = this.servers[i]
    if (!server.isAlive) return
    server.process.enter('hash slot has moved', () => {
      const { connections, pubsub, keyspace } = server.store
      for (const key of keysIn(server, slot)) keyspace.delete(key)
      for (const connection of connections) {
        const { shards } = connection.subscriptions
        for (const channel of [...shards].filter((one) => slotOf(one) === slot)) {
          pubsub.unsubscribe('shards', channel, connection)
          connection.push(new Push(['sunsubscribe', channel, shards.size]))
        }
      }
      server.store.flush()
    })
  }

  /** The faults are over. */
  heal () {
    for (const server of this.servers) if (!server.isAlive) server.start()
  }
}

/** @param {RedisServer} server @param {number} slot */
const keysIn = ({ store }, slot) => [...store.keyspace.keys()].filter((key) => slotOf(key) === slot)

/**
 * @param {string} key
 * @param {import('../../../../src/redis/store/keyspace.js').Keyspace} from
 * @param {import('../../../../src/redis/store/keyspace.js').Keyspace} to
 */
function carry (key, from, to) {
  const entry = from.entry(key)
  from.delete(key)
  // a key that is there already is newer: a restart in the middle of the move has brought this one back
  if (entry !== undefined && !to.entry(key)) to.put(key, entry.value, entry.expiresAt)
}
