import { beforeEach } from 'node:test'
import { createRedis } from '../../src/redis/client.js'
import { startRedis } from '../services/redis.js'
import { fileScope } from './file-scope.js'
import { recordingLog } from './recording-log.js'

/**
 * A Redis for the clusters of one test file: those that share one are one inkcast, which reaches everyone's clients,
 * and takes over from any worker that is gone.
 *
 * @param {{ after: (stop: () => unknown) => void }} scope of the file; what uses it is to be stopped before
 * @returns {Promise<string>} its URL
 */
export async function ownRedisUrl (scope) {
  const server = await startRedis()
  scope.after(() => server.stop())
  return server.url
}

/**
 * A Redis of a test file's own, which its tests may flush and stop, with a connection and a log; all three are empty
 * when a test begins. Call it at the top level.
 *
 * @param {string} name of the connection
 */
export async function startOwnRedis (name) {
  const scope = fileScope()
  const { log, lines } = recordingLog()
  const server = await startRedis()
  scope.after(() => server.stop())
  const redis = createRedis({ urls: [server.url], log, name })
  scope.after(() => redis.stop())
  await redis.start()
  beforeEach(async () => {
    await redis.client.flushall()
    lines.length = 0
  })
  return { server, redis, log, lines }
}
