import { createRedisBus } from '../log/bus/redis-bus.js'
import { hasServices } from '../config/load.js'
import { createReceiptParts } from '../documents/receipts/redis-receipts.js'
import { createPublisher } from '../log/publish/publisher.js'
import { createRoomAdapter } from '../transport/socketio/adapter.js'
import { createEmitterMessages, emitterChannels } from '../transport/socketio/emitter-messages.js'
import { RedisPresence } from '../people/presence/redis-presence.js'
import { createRedisSessions } from '../people/sessions/redis-sessions.js'
import { Sessions } from '../people/sessions/registry.js'
import { createClientSessions } from './client-sessions.js'
import { incarnationName } from '../people/workers/worker-watch.js'

/** @typedef {{ readonly number: number, readonly incarnation: number, readonly held?: boolean }} Worker */

/**
 * The parts of a worker whose state is in Redis, shared with other workers.
 *
 * @typedef {ReturnType<typeof createRedisParts>} RedisParts
 *
 * @param {import('../observe/services.js').Services} services
 * @param {object} parts
 * @param {import('../redis/client.js').RedisConnection} parts.redis
 * @param {import('../redis/durability/durability.js').Durability} [parts.durability]
 * @param {import('../config/load.js').Config} parts.config
 * @param {{ historyOf: import('../log/bus/contract.js').HistoryOf }} parts.rules
 * @param {Worker} parts.worker
 */
export function createRedisParts (services, { redis, durability, config, rules, worker }) {
  const workerNumber = worker.number
  const incarnation = () => incarnationName(workerNumber, worker.incarnation)
  const bus = createRedisBus({
    ...services, redis, durability, workerNumber,
    isOwner: () => worker.held !== false,
    historyOf: rules.historyOf
  })
  return {
    bus,
    publisher: createPublisher({ ...services, bus, limits: config.limits }),
    presenceStore: new RedisPresence({
      ...services, redis, workerNumber, incarnation, maxMembers: config.presence.maxMembers
    }),
    // without services there is no receiver of life-cycle events and receipts
    sessionStore: createRedisSessions({ redis, services: hasServices(config) }),
    receiptParts: hasServices(config)
      ? createReceiptParts({ redis, workerNumber, incarnation, timeout: config.limits.receiptTimeout })
      : undefined,
    clientSessions: createClientSessions(redis),
    rooms: createRedisRooms({ ...services, redis, settings: config.extensions })
  }
}

/**
 * @param {object} dependencies
 * @param {import('../people/sessions/contract.js').SessionStore} dependencies.store
 * @param {import('../config/load.js').Config} dependencies.config
 * @param {Pick<import('../log/publish/uplink.js').Uplink, 'send'>} dependencies.uplink
 * @param {Worker} dependencies.worker
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 */
export const createWorkerSessions = ({ config, worker, directory, store, uplink, ...services }) =>
  new Sessions(services, {
    store,
    uplink,
    worker: () => worker,
    connectionsOf: (uid) => directory.user(uid),
    grace: config.presence.grace,
    silence: config.heartbeat.network.max + config.heartbeat.network.timeout
  })

/**
 * Socket.IO's rooms, shared through Redis.
 *
 * @typedef {object} Rooms
 * @property {any} adapter Socket.IO's
 * @property {() => Promise<void>} subscribed resolves when messages of other servers arrive
 * @property {(io: import('socket.io').Server) => import('../base/process/lifecycle.js').Part | undefined}
 *   listenToEmitters
 *   connects servers and emitters that use EMITTER_KEY; undefined: the setting is missing
 *
 * @param {object} dependencies
 * @param {import('../redis/client.js').RedisConnection} dependencies.redis
 * @param {import('../config/load.js').Config['extensions']} dependencies.settings
 * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../base/common/log.js').Log} dependencies.log
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @returns {Rooms}
 */
function createRedisRooms ({ redis, settings, metrics, log, clock }) {
  const { channelPrefix, emitterKey: key } = settings
  const clients = redis.adapterClients()
  return {
    adapter: createRoomAdapter(clients, channelPrefix, redis.keys.start),
    subscribed: async () => { await clients.subscriber.subscribed() },
    listenToEmitters (io) {
      if (key === undefined) return undefined
      const onMessage = createEmitterMessages({ key, io, metrics, log, clock })
      return redis.subscribePatterns(emitterChannels(key), onMessage)
    }
  }
}
