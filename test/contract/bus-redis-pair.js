import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRedisBus } from '../../src/log/bus/redis-bus.js'
import { createLog } from '../../src/base/common/log.js'
import { createMetrics } from '../../src/observe/metrics/metrics.js'
import { createKeys } from '../../src/redis/keys.js'
import { testRedis } from '../helpers/test-redis.js'

const { documentLog, documentMeta } = createKeys()

/**
 * Two workers and a publisher, each with connections of its own, as in three processes.
 *
 * @param {string} url comma separated for Redis Cluster
 * @param {import('./bus-fixture.js').PairOptions} options
 * @param {object} [settings]
 * @param {string} [settings.prefix] REDIS_PREFIX: orders wait for the workers of their prefix, also for those that
 *   other tests are starting in the same Redis
 * @param {number} [settings.answerTimeout] ms; default: that of tests in which Redis answers
 */
export async function createRedisPair (url, { handlers, workers, history, idempotency }, settings) {
  const log = createLog({ level: 'silent', pretty: false, role: 'test', clock: systemClock })
  const metrics = createMetrics({ processMetrics: false })
  const connections = ['first', 'second', 'publisher'].map((name) =>
    testRedis({ urls: url.split(','), name: `test-${name}`, log, ...settings })
  )
  const buses = connections.map((redis, i) =>
    createRedisBus({
      redis, log, metrics, workerNumber: workers[i], history, idempotency, clock: systemClock, random: systemRandom
    })
  )
  const stop = async () => {
    for (const bus of buses) await bus.stop()
    for (const redis of connections) await redis.stop()
  }
  try {
    await Promise.all(connections.map((redis) => redis.start()))
    await knowWorkers(connections[0])
    await Promise.all(buses.map((bus, i) => bus.start(handlers[i])))
  } catch (error) {
    await stop()
    throw error
  }
  const [first, second, publisher] = buses
  return { first, second, publisher, connections, metrics, stop }
}

/**
 * These buses have no leases: as if the workers had been known for long, so that orders are accepted.
 * @param {import('../../src/redis/client.js').RedisConnection} redis
 */
export async function knowWorkers ({ client, scripts, keys: { workers } }) {
  await client.set(workers.registry, 'test', 'NX')
  await scripts.registry([workers.registry, workers.incarnations, workers.settling, workers.doubted], [''])
  await client.del(workers.doubted)
}

/**
 * Removes the last records of a document, as a failover to a replica that was behind does: it is from another
 * generation.
 * @param {import('../../src/redis/client.js').RedisConnection['client']} client
 * @param {string} guid
 * @param {number} offset of the last remaining record
 */
export async function rollBackLog (client, guid, offset) {
  const records = await client.xrangeBuffer(documentLog(guid), '-', '+', 'COUNT', offset)
  await client.del(documentLog(guid))
  for (const [id, fields] of records) await client.xadd(documentLog(guid), id, ...fields)
  await client.hset(documentMeta(guid), 'o', offset, 'g', 'before')
}
