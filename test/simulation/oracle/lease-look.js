import { createKeys } from '../../../src/redis/keys.js'
import { SortedSet } from '../../../src/redis/store/types/sorted-set.js'
import { Text } from '../../../src/redis/store/types/text.js'
import { workerOfSid } from '../../../src/wire/session-id.js'
import { RedisHistory } from './redis-history.js'

const { workers: WORKERS } = createKeys()

/** As include/lease_time.lua, ms. */
const PAUSE = 3000
/** After a loss of data the workers register again within this, ms. */
const REGISTERED = 20_000

/** The leases of workers as the store has them, by its own clock. */
export class LeaseLook {
  /** @param {{ world: import('../world/world.js').World, cluster: import('../parts/cluster.js').Cluster }} parts */
  constructor ({ world, cluster }) {
    this.world = world
    this.servers = cluster.redis.servers
    this.redis = new RedisHistory(world, this.servers)
  }

  /** @param {string} sid @returns {boolean} the lease of its worker has certainly ended */
  hasEnded (sid) {
    const { world, servers: [server, ...others] } = this
    const number = workerOfSid(sid)
    if (number === undefined || others.length > 0 || !server.isAlive) return false
    if (this.redis.mayHaveLost(world.time - REGISTERED)) return false
    const { keyspace } = server.store
    const expiry = keyspace.find(WORKERS.expiry, SortedSet)
    if (expiry === undefined) return false
    const wall = Math.floor(world.wall + server.machine.step)
    const watched = Number(keyspace.find(WORKERS.watched, Text)?.text ?? wall)
    const now = wall < watched ? watched : Math.min(wall, watched + PAUSE)
    return (expiry.scores.get(String(number)) ?? 0) <= now
  }
}
