import { storeUrl } from '../helpers/backends.js'
import { redisClusterUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { startRoles } from '../helpers/roles.js'
import { roomsContract } from './rooms.js'

const redis = await ownRedisUrl(fileScope())
const another = await ownRedisUrl(fileScope())

// several workers with one channel: over the built-in store, which answers as a Redis does (differential.test.js)
for (const [name, workers, url, ROOMS_CHANNEL_PREFIX] of /** @type {const} */ ([
  ['one worker', 1, redis, 'inkcast:rooms'], ['two workers, a channel per room', 2, another, 'socket.io'],
  ['two workers, built-in store', 2, storeUrl(), 'inkcast:rooms'],
  ['two workers, Redis Cluster', 2, redisClusterUrl(), 'inkcast:rooms']
])) {
  roomsContract(name, {
    start: async (scope, env) =>
      (await startRoles(scope, { ...env, WORKERS: String(workers), REDIS_URL: url, ROOMS_CHANNEL_PREFIX })).urls
  })
}
