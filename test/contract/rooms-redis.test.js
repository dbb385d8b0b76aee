import { randomUUID } from 'node:crypto'
import { storeUrl } from '../helpers/backends.js'
import { redisClusterUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { startRoles } from '../helpers/roles.js'
import { roomsContract } from './rooms.js'

const redis = await ownRedisUrl(fileScope())
const another = await ownRedisUrl(fileScope())

// several workers with one channel: over the built-in store, which answers as a Redis does (differential.test.js)
// clusters of other tests may use the same Redis Cluster
const REDIS_PREFIX = `test-${randomUUID()}`
for (const [name, workers, url, settings] of /** @type {[string, number, string, Record<string, string>][]} */ ([
  ['one worker', 1, redis, {}],
  ['two workers, a channel per room', 2, another, { ROOMS_CHANNEL_PREFIX: 'socket.io' }],
  ['two workers, built-in store', 2, storeUrl(), {}],
  ['two workers, Redis Cluster', 2, redisClusterUrl(), { REDIS_PREFIX }]
])) {
  roomsContract(name, {
    start: async (scope, env) =>
      (await startRoles(scope, { ...env, WORKERS: String(workers), REDIS_URL: url, ...settings })).urls
  })
}
