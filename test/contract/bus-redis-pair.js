import { createRedisBus } from '../../src/bus/redis-bus.js'
import { createLog } from '../../src/log.js'
import { createMetrics } from '../../src/metrics.js'
import { createRedis } from '../../src/redis/client.js'

/**
 * Two workers and a publisher, each with connections of its own, as in three processes.
 *
 * @param {string} url comma separated for Redis Cluster
 * @param {import('./bus-fixture.js').PairOptions} options
 */
export async function createRedisPair (url, { handlers, workers, history, idempotency }) {
  const log = createLog({ level: 'silent', pretty: false, role: 'test' })
  const metrics = createMetrics({ processMetrics: false })
  const connections = ['first', 'second', 'publisher'].map((name) => createRedis({ urls: url.split(','), name: `test-${name}`, log }))
  const buses = connections.map((redis, i) => createRedisBus({ redis, log, metrics, workerNumber: workers[i], handlers: handlers[i], history, idempotency }))
  const stop = async () => {
    for (const bus of buses) await bus.stop()
    for (const redis of connections) await redis.stop()
  }
  try {
    await Promise.all(connections.map((redis) => redis.start()))
    await Promise.all(buses.map((bus) => bus.start()))
  } catch (error) {
    await stop()
    throw error
  }
  const [first, second, publisher] = buses
  return { first, second, publisher, connections, metrics, stop }
}
