import { createRedisBus } from '../../src/bus/redis-bus.js'
import { systemClock } from '../../src/common/clock.js'
import { systemRandom } from '../../src/common/random.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createRedis } from '../../src/redis/client.js'
import { recordingLog } from './recording-log.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {string} redisUrl
 * @param {(redis: import('../../src/redis/client.js').RedisConnection) => unknown} [prepare]
 */
export async function startRedisPublisher (t, redisUrl, prepare = () => {}) {
  const { log } = recordingLog()
  const redis = createRedis({ urls: [redisUrl], name: 'publisher', log, clock: systemClock, random: systemRandom })
  t.after(() => redis.stop())
  await redis.start()
  prepare(redis)
  const bus = createRedisBus({
    redis, log, metrics: createMetrics({ processMetrics: false }), clock: systemClock, random: systemRandom
  })
  t.after(() => bus.stop())
  await bus.start()
  return { redis, bus }
}
