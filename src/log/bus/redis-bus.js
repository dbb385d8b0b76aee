import { Backoff, retry } from '../../base/common/backoff.js'
import { InkcastError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { withTimeLimit } from '../../base/common/wait.js'
import { createAttempt } from '../../redis/errors.js'
import { isOrder, logOf } from '../../wire/publication.js'
import { HISTORY, MAX_QUEUES, QUEUE_MARK_TTL } from './contract.js'
import { ORDER_TTL } from './orders.js'
import { RedisLogs } from './redis-logs.js'
import { decodeDirect, decodeRecord, orderOf } from './redis-payload.js'
import { META_TTL, RedisPublish } from './redis-publish.js'
import { KeptOrders } from './redis-orders.js'
import { createRegistry } from './registry.js'
import { UserRoutes } from './redis-user-routes.js'

/**
 * The bus over Redis 7 or Redis Cluster: a stream, a hash and a sharded channel per document, all in one hash slot.
 * One script appends and publishes, so each record is in the log before it is delivered live.
 *
 * After a rejected `publish` the outcome may be unknown, because the connection broke before the reply arrived. A retry
 * of entries with an origin is safe. A retry of other entries (api without Kafka, signals) and of direct publications
 * may publish them twice: at least once if the caller retries, at most once if not.
 *
 * A Redis that fails over to a replica, or restarts from its disk, may have lost the last records. It would assign
 * their offsets to other records under the same epoch. Each script therefore compares the generation of Redis with the
 * one in the document's meta, and begins another epoch if they differ (include/generation.lua).
 *
 * @typedef {import('./contract.js').Bus} Bus
 */

/** Timeout of reading missed kicks and revokes before documents are repaired, ms; periodic reads continue after it. */
const READ_ORDERS_WITHIN = 5000
/** Calls in progress about users with orders, after a loss of data. */
const NOTED_AT_ONCE = 100

/**
 * @param {object} dependencies
 * @param {import('../../redis/client.js').RedisConnection} dependencies.redis started, and stopped after the bus
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {number} [dependencies.workerNumber] undefined: this bus only publishes
 * @param {() => boolean} [dependencies.isOwner] whether this process has the worker number, default: true
 * @param {import('./contract.js').HistoryLimits} [dependencies.history] of all documents, if there is no `historyOf`
 * @param {import('./contract.js').HistoryOf} [dependencies.historyOf]
 * @param {import('../../redis/durability/durability.js').Durability} [dependencies.durability] what `publish` waits for
 * @param {import('./contract.js').Idempotency} [dependencies.idempotency] for tests
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/common/random.js').Random} dependencies.random
 * @returns {Bus & { catchUp: (known?: Iterable<[uid: string, at: number]>) => Promise<void> }} catchUp: carries out the
 *   orders that this worker has missed, and registers its users again; known: times of the newest orders about them
 */
// eslint-disable-next-line max-lines-per-function, no-restricted-syntax -- the contract over parts that are classes
export function createRedisBus ({
  redis, log, metrics, workerNumber, isOwner, history = HISTORY, historyOf = () => history, durability,
  idempotency, clock, random
}) {
  const { channels, keys } = redis
  const registry = createRegistry({ redis, clock })
  const publisher = new RedisPublish({ redis, registry, historyOf, durability, idempotency, clock, random })
  const users =
    workerNumber === undefined
      ? undefined
      : new UserRoutes({ redis, metrics, workerNumber, isOwner, onOrders, clock })
  const kept =
    workerNumber === undefined
      ? undefined
      : new KeptOrders({
          redis, workerNumber, isOwner, clock, metrics,
          onMessage: (message) => onDirect(message),
          onDropped: () => handlers?.onOrdersDropped?.()
        })
  /** Documents whose records are delivered; one object for each subscription. @type {Map<string, object>} */
  const subscriptions = new Map()
  const logs = new RedisLogs({
    redis, metrics, random,
    metaTtlOf: (guid) => Math.max(META_TTL, historyOf(guid).ttl)
  })
  const stopping = new AbortController()
  let running = false
  /** @type {import('./contract.js').BusHandlers | undefined} */
  let handlers
  const attempt = createAttempt({ stopped: 'the bus is stopped', isRunning: () => running, errors: metrics.bus_errors })
  const logLimit = new LogLimit({ clock })

  /** @param {string} operation @param {unknown} error @param {string} message */
  function complain (operation, error, message) {
    metrics.bus_errors.inc({ operation })
    if (logLimit.due()) log.error({ err: error }, message)
  }

  /**
   * @template T
   * @param {(payload: Buffer) => T} decode
   * @param {(decoded: T, to: import('./contract.js').BusHandlers) => void} deliver
   */
  const receiver = (decode, deliver) => (/** @type {Buffer} */ payload) => {
    if (!running || handlers === undefined) return
    /** @type {T} */
    let decoded
    try {
      decoded = decode(payload)
    } catch (error) {
      complain('decode', error, 'a message on the bus is malformed')
      return
    }
    try {
      deliver(decoded, handlers)
    } catch (error) {
      complain('deliver', error, 'the handler of a publication failed')
    }
  }
  const onRecord = receiver(decodeRecord, (record, to) => {
    if (subscriptions.has(logOf(record.publication) ?? '')) to.onRecord(record)
  })
  const onDirect = receiver(decodeDirect, (envelopes, to) => {
    for (const envelope of envelopes) {
      const { publication, receiptId, ingestedAt } = envelope
      const deliver = () => to.onDirect(publication, receiptId, ingestedAt)
      if (isOrder(publication)) kept?.receive(envelope, deliver)
      else deliver()
    }
  })

  /** @param {Buffer} payload */
  function onDocument (payload) {
    const order = orderOf(payload)
    if (order === null) onRecord(payload)
    else onDirect(order)
  }

  redis.onBack(() => {
    // first command on the connection, so orders are read before logs
    if (running) readOrders()
    users?.lost()
  })
  channels.onRestored((restored) => {
    if (!running) return
    const names = new Set(restored)
    const guids = [...subscriptions.keys()].filter((guid) => names.has(keys.documentChannel(guid)))
    metrics.bus_interruptions.inc(guids.length)
    log.info({ documents: guids.length }, 'live delivery was interrupted and works again')
    // orders first: a repair must not deliver records that follow a revoke to the revoked user
    readOrders().then(() => tellInterrupted(guids.filter((guid) => subscriptions.has(guid))))
  })

  /**
   * Retries for `READ_ORDERS_WITHIN` at most: with Redis Cluster orders may be on another node than the documents, and
   * that node may still be unavailable. Never rejects.
   */
  async function readOrders () {
    await withTimeLimit(READ_ORDERS_WITHIN, stopping.signal, (signal) => retry(async () => kept?.read(), {
      signal, clock, backoff: new Backoff({ random }),
      onFailure: () => metrics.bus_errors.inc({ operation: 'orders' })
    }), clock).catch(() => {})
  }

  /** @param {Iterable<[uid: string, at: number]>} known */
  async function noteOrdered (known) {
    /** @type {Promise<unknown>[]} */
    let calls = []
    for (const [uid, at] of known) {
      calls.push(redis.scripts.ordered([keys.userOrdered(uid)], [at, ORDER_TTL]))
      if (calls.length < NOTED_AT_ONCE) continue
      await Promise.all(calls)
      calls = []
    }
    await Promise.all(calls)
  }

  /** @param {string} uid @param {import('./orders.js').Order[]} orders */
  function onOrders (uid, orders) {
    if (!running) return
    try {
      handlers?.onOrders(uid, orders)
    } catch (error) {
      complain('deliver', error, 'the handler of orders about a user failed')
    }
  }

  /** @param {string[]} guids */
  function tellInterrupted (guids) {
    if (!running) return
    try {
      handlers?.onReconnect(guids)
    } catch (error) {
      complain('deliver', error, 'the handler of an interruption failed')
    }
  }

  return {
    async start (receivers) {
      handlers = receivers
      running = true
      registry.start()
      if (workerNumber === undefined) return
      await kept?.begin().catch(() => metrics.bus_errors.inc({ operation: 'orders' }))
      users?.start()
      kept?.start()
      const mine = [keys.workerChannel(workerNumber), keys.everyoneChannel]
      await retry(() => Promise.all(mine.map((channel) => channels.subscribe(channel, onDirect))), {
        signal: stopping.signal, clock, backoff: new Backoff({ random })
      })
    },

    async stop () {
      running = false
      stopping.abort(new InkcastError('unavailable', 'the bus is stopped'))
      registry.stop()
      users?.stop()
      kept?.stop()
      for (const guid of subscriptions.keys()) channels.unsubscribe(keys.documentChannel(guid))
      subscriptions.clear()
      if (workerNumber === undefined) return
      channels.unsubscribe(keys.workerChannel(workerNumber))
      channels.unsubscribe(keys.everyoneChannel)
    },

    publish: (entries) => attempt('publish', () => publisher.publish(entries)),

    subscribe: (guid) =>
      attempt('subscribe', async () => {
        const subscription = {}
        subscriptions.set(guid, subscription)
        try {
          await channels.subscribe(keys.documentChannel(guid), onDocument)
          // read after the subscription: later records arrive live
          return await logs.open(guid)
        } catch (error) {
          // a failed call has no effect, but must not undo a later call for the same document
          if (subscriptions.get(guid) === subscription) {
            subscriptions.delete(guid)
            channels.unsubscribe(keys.documentChannel(guid))
          }
          throw error
        }
      }),

    async unsubscribe (guid) {
      if (subscriptions.delete(guid)) channels.unsubscribe(keys.documentChannel(guid))
    },

    history: (guid, since, limit) => attempt('history', () => logs.history(guid, since, limit)),

    newest: (guid, count, limit) => attempt('history', () => logs.newest(guid, count, limit)),

    cut: (guid, upTo) => attempt('cut', () => logs.cut(guid, upTo)),

    queuedUpTo: (guid, queue) =>
      attempt('queued', async () =>
        Number.parseInt(await redis.client.hget(keys.queueMarks(guid, queue.uid), queue.id) ?? '0', 10)
      ),

    noteQueued: (guid, { id, uid, number }) =>
      attempt('queued', async () => {
        await redis.scripts.note([keys.queueMarks(guid, uid)], [`${number} ${id}`, QUEUE_MARK_TTL, MAX_QUEUES])
      }),

    positions: (guids) => attempt('positions', () => logs.ends(guids)),

    async catchUp (known = []) {
      if (!running) return
      await kept?.read()
      await noteOrdered(known)
      await users?.lost()
    },

    addUser: (uid) => attempt('add_user', async () => users?.add(uid)),

    async removeUser (uid) {
      // an entry that stays in Redis is harmless and expires
      await attempt('remove_user', async () => users?.remove(uid)).catch(() => {})
    }
  }
}
