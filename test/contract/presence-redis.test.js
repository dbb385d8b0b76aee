import { createLog } from '../../src/common/log.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createRedisPresence } from '../../src/presence/redis-presence.js'
import { createRedis } from '../../src/redis/client.js'
import { redisClusterUrl, redisUrl } from '../helpers/env.js'
import { presenceContract } from './presence.js'

const log = createLog({ level: 'silent', pretty: false, role: 'test' })
const metrics = createMetrics({ processMetrics: false })

/** @param {string} url comma separated for Redis Cluster */
const open = (url) => async () => {
  /** @type {(() => Promise<void>)[]} */
  const stops = []
  return {
    /** @param {import('./presence.js').StoreOptions} options */
    async create ({ incarnation = '', ...options }) {
      const redis = createRedis({ urls: url.split(','), name: 'test', log })
      await redis.start()
      const store = createRedisPresence({
        redis,
        maxMembers: 6,
        metrics,
        log,
        incarnation: () => incarnation,
        ...options
      })
      stops.push(async () => {
        await store.stop()
        await redis.stop()
      })
      return store
    },
    stop: async () => { for (const stop of stops) await stop() }
  }
}

presenceContract('redis', open(redisUrl()))
presenceContract('redis cluster', open(redisClusterUrl()))
