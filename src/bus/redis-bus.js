import { retry } from '../common/backoff.js'
import { systemClock } from '../common/clock.js'
import { InkcastError } from '../common/errors.js'
import { LogLimit } from '../common/log-limit.js'
import { createAttempt } from '../redis/errors.js'
import { documentChannel, EVERYONE_CHANNEL, workerChannel } from '../redis/keys.js'
import { createRedisLogs } from './redis-logs.js'
import { decodeDirect, decodeRecord, orderOf } from './redis-payload.js'
import { createRedisPublish, META_TTL } from './redis-publish.js'
import { createKeptOrders, isOrder } from './redis-orders.js'
import { createUserRoutes } from './redis-user-routes.js'
import { createRollback } from './rollback.js'

/**
 * The bus over Redis 7 or Redis Cluster: a stream, a hash and a sharded channel per document, all in one slot, changed
 * and published by one script, so that whatever has come live is in the log already.
 *
 * After a rejected `publish` the outcome may be unknown, because the connection broke before the answer came. Entries
 * with an origin may be offered again without harm. Those without (the api without Kafka, signals) may then be there
 * twice, and so may direct publications: at least once, if the caller tries again, at most once if not.
 *
 * A Redis that fails over to a replica, or restarts from its disk, may have lost the last records. Their offsets would
 * be given again under the same epoch, to other records. Each script compares the generation of Redis with the one in
 * the document's meta, and begins another epoch where they differ (include/generation.lua). Beside that, each worker
 * checks what it reads against what it has seen (rollback.js).
 *
 * @typedef {import('./contract.js').Bus} Bus
 */

/**
 * How long the repair of documents waits for kicks and revokes that were missed, ms; the worker goes on trying to read
 * them.
 */
const READ_ORDERS_WITHIN = 5000

/**
 * @param {object} dependencies
 * @param {import('../redis/client.js').RedisConnection} dependencies.redis started, and stopped after the bus
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {number} [dependencies.workerNumber] undefined: this one only publishes
 * @param {{ size: number, ttl: number }} dependencies.history records kept per document, and seconds after its last one
 * @param {import('./contract.js').Idempotency} [dependencies.idempotency] for tests
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 * @returns {Bus}
 */
export function createRedisBus ({
  redis, log, metrics, workerNumber, history, idempotency, clock = systemClock
}) {
  const { channels } = redis
  const publish = createRedisPublish({ redis, history, idempotency, clock })
  const users =
    workerNumber === undefined ? undefined : createUserRoutes({ redis, metrics, workerNumber, onOrders, clock })
  const kept =
    workerNumber === undefined
      ? undefined
      : createKeptOrders({ redis, workerNumber, onMessage: (message) => onDirect(message), metrics })
  const rollback = createRollback({
    redis,
    readEnd: async (guid) => (await attempt('positions', () => logs.ends([guid])))[0],
    onReset: (guid) => tellInterrupted([guid]),
    metrics,
    log
  })
  const logs = createRedisLogs({ redis, metaTtl: Math.max(META_TTL, history.ttl), rollback, metrics })
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
      complain('deliver', error, 'a publication could not be handled')
    }
  }
  const onRecord = receiver(decodeRecord, (record, to) => {
    if (rollback.accepts(record)) to.onRecord(record)
  })
  const onDirect = receiver(decodeDirect, (envelopes, to) => {
    for (const { publication, receiptId, ingestedAt } of envelopes) {
      if (!isOrder(publication) || kept?.isNew(publication, ingestedAt)) to.onDirect(publication, receiptId, ingestedAt)
    }
  })

  /** @param {Buffer} payload */
  function onDocument (payload) {
    const order = orderOf(payload)
    if (order === null) onRecord(payload)
    else onDirect(order)
  }

  redis.onBack(() => {
    // the first command of the connection: whatever is read from logs after it comes after it
    if (running) readOrders()
    users?.lost()
  })
  channels.onRestored((restored) => {
    if (!running) return
    const names = new Set(restored)
    const guids = [...rollback.guids()].filter((guid) => names.has(documentChannel(guid)))
    metrics.bus_interruptions.inc(guids.length)
    log.info({ documents: guids.length }, 'live delivery was interrupted and is there again')
    // orders first: a record behind a revoke must not be repaired to the revoked user
    readOrders().then(() => tellInterrupted(guids))
  })

  /**
   * Tries for `READ_ORDERS_WITHIN` at most: with Redis Cluster they may be in another part of it than the documents.
   * Never rejects.
   */
  async function readOrders () {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(READ_ORDERS_WITHIN)])
    await retry(async () => kept?.read(), {
      signal,
      onFailure: () => metrics.bus_errors.inc({ operation: 'orders' })
    }).catch(() => {})
  }

  /** @param {string} uid @param {import('./orders.js').Order[]} orders */
  function onOrders (uid, orders) {
    if (!running) return
    try {
      handlers?.onOrders(uid, orders)
    } catch (error) {
      complain('deliver', error, 'orders about a user could not be handled')
    }
  }

  /** @param {string[]} guids */
  function tellInterrupted (guids) {
    if (!running) return
    try {
      handlers?.onReconnect(guids)
    } catch (error) {
      complain('deliver', error, 'an interruption could not be handled')
    }
  }

  return {
    async start (receivers) {
      handlers = receivers
      running = true
      if (workerNumber === undefined) return
      users?.start()
      kept?.start()
      const mine = [workerChannel(workerNumber), EVERYONE_CHANNEL]
      await retry(() => Promise.all(mine.map((channel) => channels.subscribe(channel, onDirect))), {
        signal: stopping.signal
      })
    },

    async stop () {
      running = false
      stopping.abort(new InkcastError('unavailable', 'the bus is stopped'))
      users?.stop()
      kept?.stop()
      for (const guid of rollback.guids()) channels.unsubscribe(documentChannel(guid))
      rollback.clear()
      if (workerNumber === undefined) return
      channels.unsubscribe(workerChannel(workerNumber))
      channels.unsubscribe(EVERYONE_CHANNEL)
    },

    publish: (entries) => attempt('publish', () => publish(entries)),

    subscribe: (guid) =>
      attempt('subscribe', async () => {
        const subscription = rollback.subscribe(guid)
        try {
          await channels.subscribe(documentChannel(guid), onDocument)
          // read after it: what is appended from here on comes live
          return await logs.open(guid)
        } catch (error) {
          // unless somebody else has subscribed or unsubscribed meanwhile, it is as if nobody had asked
          if (rollback.unsubscribe(guid, subscription)) channels.unsubscribe(documentChannel(guid))
          throw error
        }
      }),

    async unsubscribe (guid) {
      if (rollback.unsubscribe(guid)) channels.unsubscribe(documentChannel(guid))
    },

    history: (guid, since, limit) => attempt('history', () => logs.history(guid, since, limit)),

    positions: (guids) =>
      attempt('positions', async () => {
        const ends = await logs.ends(guids)
        ends.forEach((end, i) => rollback.note(guids[i], end))
        return ends
      }),

    addUser: (uid) => attempt('add_user', async () => users?.add(uid)),

    async removeUser (uid) {
      // what stays behind is harmless and expires
      await attempt('remove_user', async () => users?.remove(uid)).catch(() => {})
    }
  }
}
