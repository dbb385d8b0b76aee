import { randomUUID } from 'node:crypto'
import { systemRandom } from '../../src/common/random.js'
import { createAuthenticator } from '../../src/auth/authenticator.js'
import { systemClock } from '../../src/common/clock.js'
import { loadConfig } from '../../src/config/load.js'
import { createAccess } from '../../src/documents/access.js'
import { createDocumentRules } from '../../src/documents/rules/rules.js'
import { Directory } from '../../src/gateway/directory.js'
import { createRedisParts, createWorkerSessions } from '../../src/gateway/redis-parts.js'
import { createGateway } from '../../src/gateway/server.js'
import { createMetrics } from '../../src/metrics/metrics.js'
import { createLifecycle } from '../../src/process/lifecycle.js'
import { createRedis } from '../../src/redis/client.js'
import { createSessionIds } from '../../src/wire/session-id.js'
import { Standing } from '../../src/workers/standing.js'
import { createWorkerLease } from '../../src/workers/worker-lease.js'
import { createWorkerWatch } from '../../src/workers/worker-watch.js'
import { recordingLog } from './recording-log.js'
import { SECRET } from './tokens.js'

/** Short, so that a test need not wait for the end of a real lease, ms. */
const LEASE_TIME = 900

/**
 * A gateway worker in this process, composed as src/gateway.js does, stopped after the test. Its uplink is a list, as
 * if it were Kafka: it needs no Redis.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} redisUrl
 * @param {object} [options]
 * @param {number} [options.leaseTime] ms
 * @param {string} [options.slot]
 * @param {(redis: import('../../src/redis/client.js').RedisConnection) => unknown} [options.prepare] called with its
 *   connection before it is used
 */
export async function startRedisWorker (
  t, redisUrl, { leaseTime = LEASE_TIME, slot = randomUUID(), prepare = () => {} } = {}
) {
  const config = loadConfig({ env: { PORT: '0', REDIS_URL: redisUrl, AUTH_JWT_SECRET: SECRET, DRAIN_TIMEOUT: '100' } })
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const lifecycle = createLifecycle({ log })
  t.after(() => lifecycle.stop())
  const shared = { metrics, log, clock: systemClock }
  const redis = await lifecycle.start('redis', createRedis({ urls: [redisUrl], name: 'worker', log, clock: systemClock, random: systemRandom }))
  prepare(redis)
  const lease = await lifecycle.start('lease', createWorkerLease({
    redis, slot, log, leaseTime,
    address: { machine: 'here', pid: process.pid, path: '/run/x' },
    onLost: () => {},
    clock: systemClock,
    random: systemRandom
  }))
  const rules = await lifecycle.start(
    'rules', createDocumentRules({ history: config.history, path: undefined, log, metrics, clock: systemClock })
  )
  const { sessionStore, ...parts } = createRedisParts({
    redis, config, rules, worker: lease, ...shared, random: systemRandom
  })
  /** @type {import('../../src/uplink/contract.js').UplinkRecord[]} */
  const sent = []
  const uplink = {
    start: async () => {},
    stop: async () => {},
    send: async (/** @type {import('../../src/uplink/contract.js').UplinkRecord} */ record) => { sent.push(record) }
  }
  const directory = new Directory()
  const access = createAccess({ settings: config.auth, orderTime: () => lease.time.now(), ...shared })
  const standing = new Standing({
    lease, catchUp: () => parts.bus.catchUp(), log, clock: systemClock, random: systemRandom
  })
  lifecycle.onStop('standing', () => standing.stop())
  const gateway = createGateway({
    config, ...parts,
    receiptParts: undefined,
    uplink: /** @type {any} */ (uplink),
    directory, access,
    sessions: createWorkerSessions({
      store: sessionStore, config, uplink, worker: lease, directory, ...shared, random: systemRandom
    }),
    authenticator: await lifecycle.start(
      'authenticator', createAuthenticator({ settings: config.auth, log, clock: systemClock, random: systemRandom })
    ),
    rulesOf: rules.rulesOf,
    newId: createSessionIds(lease.number, { clock: systemClock, random: systemRandom }),
    mayAct: () => standing.good,
    ...shared,
    random: systemRandom
  })
  lease.onUnsure((hadEnded) => { hadEnded ? standing.missed() : standing.lost() })
  lease.onReborn(() => standing.missed())
  await lifecycle.startAll(gateway.parts)
  await lifecycle.start('watch', createWorkerWatch({ redis, log, leaseTime, interval: 100, grace: 150, clock: systemClock, random: systemRandom }))
  return { url: `http://127.0.0.1:${gateway.port()}`, redis, lease, standing, directory, sent, lines }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} redisUrl
 * @param {(redis: import('../../src/redis/client.js').RedisConnection) => unknown} [prepare]
 */
export async function startRedisPublisher (t, redisUrl, prepare = () => {}) {
  const { createRedisBus } = await import('../../src/bus/redis-bus.js')
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
