import { beforeEach } from 'node:test'
import { startRedis } from '../services/redis.js'
import { fileScope } from './file-scope.js'
import { recordingLog } from './recording-log.js'
import { testRedis } from './test-redis.js'

/**
 * A Redis for the clusters of one test file: clusters that share a Redis form one inkcast, which reaches the clients of
 * all of them and cleans up after workers of any of them.
 *
 * @param {{ after: (stop: () => unknown) => void }} scope of the file; its clusters must stop before the Redis
 * @returns {Promise<string>} its URL
 */
export async function ownRedisUrl (scope) {
  const server = await startRedis()
  scope.after(() => server.stop())
  return server.url
}

/**
 * A Redis for one test file, which its tests may flush and stop, with a connection and a log. All three are empty when
 * a test starts. Call it at the top level.
 *
 * @param {string} name of the connection
 */
export async function startOwnRedis (name) {
  const scope = fileScope()
  const { log, lines } = recordingLog()
  const server = await startRedis()
  scope.after(() => server.stop())
  const redis = testRedis({ urls: [server.url], log, name })
  scope.after(() => redis.stop())
  await redis.start()
  beforeEach(async () => {
    await redis.client.flushall()
    lines.length = 0
  })
  return { server, redis, log, lines }
}
