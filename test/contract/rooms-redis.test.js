import { startCluster } from '../helpers/cluster.js'
import { redisClusterUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { roomsContract } from './rooms.js'

const redis = await ownRedisUrl(fileScope())
const another = await ownRedisUrl(fileScope())

for (const [name, workers, url] of /** @type {const} */ ([
  ['one worker', 1, redis], ['two workers', 2, another], ['two workers, Redis Cluster', 2, redisClusterUrl()]
])) {
  roomsContract(name, {
    workers,
    start: async (scope, env) => [
      (await startCluster(scope, { ...env, WORKERS: String(workers), REDIS_URL: url })).url
    ]
  })
}
