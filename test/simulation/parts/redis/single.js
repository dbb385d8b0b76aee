import { RedisServer } from './server.js'

/** One Redis. */
export class SingleRedis {
  kind = 'single'
  failovers = 0
  env = {}

  /** @param {import('../../world/world.js').World} world */
  constructor (world) {
    this.servers = [new RedisServer(world, 'redis')]
    this.url = `redis://${this.servers[0].address}`
    for (const server of this.servers) server.start()
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
