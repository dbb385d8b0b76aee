import { createRedisBus } from './bus/redis-bus.js'
import { createReceiptParts } from './receipts/redis-receipts.js'
import { createRoomAdapter } from './socketio/rooms.js'
import { createRedisPresence } from './presence/redis-presence.js'
import { createRedisSessions } from './sessions/redis-sessions.js'
import { createSessions } from './sessions/registry.js'
import { incarnationName } from './workers/worker-watch.js'

/**
 * The parts of a gateway that workers share something through, over Redis.
 *
 * @param {object} dependencies
 * @param {import('./redis/client.js').RedisConnection} dependencies.redis
 * @param {import('./config/load.js').Config} dependencies.config
 * @param {{ readonly number: number, readonly incarnation: number, readonly held?: boolean }} dependencies.worker
 * @param {import('./uplink/contract.js').Uplink} dependencies.uplink
 * @param {import('./metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('./common/log.js').Log} dependencies.log
 * @param {import('./common/clock.js').Clock} dependencies.clock
 */
export function createRedisParts ({ redis, config, worker, uplink, metrics, log, clock }) {
  const workerNumber = worker.number
  // without Kafka there is nobody to tell
  const services = config.mode === 'kafka'
  const sessionStore = createRedisSessions({ redis, services })
  return {
    sessionStore,

    /** @param {import('./bus/contract.js').BusHandlers} handlers */
    createBus: (handlers) =>
      createRedisBus({ redis, workerNumber, handlers, history: config.history, log, metrics, clock }),

    /** @param {import('./presence/contract.js').PresenceHandlers} handlers */
    createPresenceStore: (handlers) =>
      createRedisPresence({
        redis,
        workerNumber,
        incarnation: () => incarnationName(workerNumber, worker.incarnation),
        handlers,
        maxMembers: config.presence.maxMembers,
        metrics,
        log,
        clock
      }),

    /**
     * @param {{ connectionsOf: (uid: string) => Iterable<import('./gateway/connection.js').Connection> }} connections
     */
    createSessions: ({ connectionsOf }) =>
      createSessions({
        store: sessionStore,
        uplink,
        worker: () => worker,
        connectionsOf, metrics, log, clock,
        grace: config.presence.grace,
        silence: config.heartbeat.max + config.heartbeat.timeout
      }),

    receiptParts: services
      ? createReceiptParts({ redis, workerNumber, timeout: config.limits.receiptTimeout })
      : undefined,
    adapter: createRoomAdapter({ publisher: redis.client, subscriber: redis.createSubscriber() })
  }
}
