import { createRedisBus } from '../bus/redis-bus.js'
import { createReceiptParts } from '../receipts/redis-receipts.js'
import { createPublisher } from '../publish/publisher.js'
import { createRoomAdapter } from '../socketio/rooms.js'
import { createRedisPresence } from '../presence/redis-presence.js'
import { createRedisSessions } from '../sessions/redis-sessions.js'
import { createSessions } from '../sessions/registry.js'
import { incarnationName } from '../workers/worker-watch.js'

/** @typedef {{ readonly number: number, readonly incarnation: number, readonly held?: boolean }} Worker */

/**
 * The parts of a worker that keep their state in Redis, where other workers see it.
 *
 * @param {object} dependencies
 * @param {import('../redis/client.js').RedisConnection} dependencies.redis
 * @param {import('../config/load.js').Config} dependencies.config
 * @param {Worker} dependencies.worker
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export function createRedisParts ({ redis, config, worker, metrics, log, clock }) {
  const workerNumber = worker.number
  const bus = createRedisBus({ redis, workerNumber, history: config.history, log, metrics, clock })
  return {
    bus,
    publisher: createPublisher({ bus, limits: config.limits, metrics, clock }),
    presenceStore: createRedisPresence({
      redis,
      workerNumber,
      incarnation: () => incarnationName(workerNumber, worker.incarnation),
      maxMembers: config.presence.maxMembers,
      metrics,
      log,
      clock
    }),
    // without Kafka there is no service that gets life-cycle events or receipts
    sessionStore: createRedisSessions({ redis, services: config.mode === 'kafka' }),
    receiptParts:
      config.mode === 'kafka'
        ? createReceiptParts({ redis, workerNumber, timeout: config.limits.receiptTimeout })
        : undefined,
    adapter: createRoomAdapter({ publisher: redis.client, subscriber: redis.createSubscriber() })
  }
}

/**
 * @param {object} dependencies
 * @param {import('../sessions/contract.js').SessionStore} dependencies.store
 * @param {import('../config/load.js').Config} dependencies.config
 * @param {Pick<import('../uplink/contract.js').Uplink, 'send'>} dependencies.uplink
 * @param {Worker} dependencies.worker
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export const createWorkerSessions = ({ config, worker, directory, ...dependencies }) =>
  createSessions({
    ...dependencies,
    worker: () => worker,
    connectionsOf: (uid) => directory.user(uid),
    grace: config.presence.grace,
    silence: config.heartbeat.max + config.heartbeat.timeout
  })
