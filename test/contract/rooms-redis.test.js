import { startCluster } from '../helpers/cluster.js'
import { redisClusterUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { roomsContract } from './rooms.js'

const redis = await ownRedisUrl(fileScope())
const another = await ownRedisUrl(fileScope())
const third = await ownRedisUrl(fileScope())

for (const [name, workers, url, ROOMS_SUBSCRIPTION_MODE] of /** @type {const} */ ([
  ['one worker', 1, redis, 'static'], ['two workers', 2, another, 'static'],
  ['two workers, a channel per room', 2, third, 'dynamic'],
  ['two workers, Redis Cluster', 2, redisClusterUrl(), 'static']
])) {
  roomsContract(name, {
    workers,
    start: async (scope, env) => [
      (await startCluster(scope, { ...env, WORKERS: String(workers), REDIS_URL: url, ROOMS_SUBSCRIPTION_MODE })).url
    ]
  })
}
