import { startRedis, startRedisCluster } from '../services/redis.js'
import { redisFaults } from './bus-redis-faults.js'

redisFaults('redis', async () => {
  const server = await startRedis()
  return { url: server.url, nodes: [server], stop: () => server.stop() }
})

redisFaults('redis cluster', startRedisCluster)
