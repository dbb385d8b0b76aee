import { retry } from '../common/backoff.js'
import { systemClock } from '../common/clock.js'
import { InkcastError } from '../common/errors.js'
import { createAttempt } from '../redis/attempt.js'
import { documentChannel, documentLog, documentMeta, EVERYONE_CHANNEL, workerChannel } from '../redis/keys.js'
import { decodeEnvelope } from '../wire/envelope.js'
import { newEpoch } from '../wire/position.js'
import { hasLost, noteRead, nothingKnown } from './known-end.js'
import { moveAsked, moveTold } from './redis-move.js'
import { decodeDirect, decodeRecord, orderOf } from './redis-payload.js'
import { createRedisPositions } from './redis-positions.js'
import { createRedisPublish, META_TTL } from './redis-publish.js'
import { createKeptOrders, isOrder } from './redis-orders.js'
import { createRedisUsers } from './redis-users.js'

/**
 * The bus over Redis 7 or Redis Cluster: a stream, a hash and a sharded channel per document, all in one slot, changed
 * and published by one script, so that whatever has come live is in the log already.
 *
 * After a rejected `publish` the outcome may be unknown, because the connection broke before the answer came. Entries
 * with an origin may be offered again without harm. Those without (the api without Kafka, signals) may then be there
 * twice, and so may direct publications: at least once, if the caller tries again, at most once if not.
 *
 * A Redis that fails over to a replica, or restarts from its disk, may have lost the last records. Their offsets would
 * be given again under the same epoch, to other records. Each script compares the generation of Redis with the one that
 * the document's meta has, and begins another epoch where it is another (include/generation.lua). Beside that, a worker
 * that has seen such an offset live, or has read an end at or after it, notices.
 *
 * @typedef {import('./contract.js').Bus} Bus
 * @typedef {import('../wire/position.js').Position} Position
 */

/** The epoch of a document that has had no record is kept so long after the last subscribe, s. */
const EMPTY_META_TTL = 86_400
/** A reply of `history` is cut off after this, bytes; there is more then, as its position shows. */
const HISTORY_BYTES = 4 * 2 ** 20
/**
 * How long the repair of documents waits for kicks and revokes that were missed, ms; the worker goes on trying to read
 * them.
 */
const READ_ORDERS_WITHIN = 5000
/** How long a document that Kafka can heal is waited for after Redis came back, s. */
const HEAL_WITHIN = { begin: 15, end: 120 }
/** Malformed messages are counted, and logged at most so often, ms. */
const LOG_INTERVAL = 60_000

/**
 * @param {object} dependencies
 * @param {import('../redis/client.js').RedisConnection} dependencies.redis started, and stopped after the bus
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {number} [dependencies.workerNumber] undefined: this one only publishes
 * @param {import('./contract.js').BusHandlers} [dependencies.handlers]
 * @param {{ size: number, ttl: number }} dependencies.history records kept per document, and seconds after its last one
 * @param {import('./idempotency.js').Idempotency} [dependencies.idempotency] for tests
 * @param {import('../common/clock.js').Clock} [dependencies.clock]
 * @returns {Bus}
 */
export function createRedisBus ({
  redis, log, metrics, workerNumber, handlers, history, idempotency, clock = systemClock
}) {
  const { channels, scripts } = redis
  const publish = createRedisPublish({ redis, history, idempotency, clock })
  const users =
    workerNumber === undefined ? undefined : createRedisUsers({ redis, metrics, workerNumber, onOrders, clock })
  const kept =
    workerNumber === undefined
      ? undefined
      : createKeptOrders({ redis, workerNumber, onMessage: (message) => onDirect(message), metrics })
  const metaTtl = Math.max(META_TTL, history.ttl)
  /** Subscribed documents; bounded by what the feeds hold. @type {Map<string, import('./known-end.js').KnownEnd>} */
  const subscribed = new Map()
  /** Documents whose log is about to begin anew. @type {Set<string>} */
  const resetting = new Set()
  const positions = createRedisPositions({ redis, subscribed, rolledBack, openLog })
  const stopping = new AbortController()
  let running = false
  const attempt = createAttempt({ stopped: 'the bus is stopped', isRunning: () => running, errors: metrics.bus_errors })
  let loggedAt = -Infinity

  /** @param {string} operation @param {unknown} error @param {string} message */
  function complain (operation, error, message) {
    metrics.bus_errors.inc({ operation })
    if (clock.monotonic() - loggedAt < LOG_INTERVAL) return
    loggedAt = clock.monotonic()
    log.error({ err: error }, message)
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
    const guid = record.publication.guid ?? ''
    const seen = subscribed.get(guid)
    if (seen === undefined) return
    if (record.offset > 0) {
      if (record.epoch === seen.epoch && record.offset <= seen.offset) {
        if (resetting.has(guid)) return
        resetting.add(guid)
        rolledBack(guid, record.epoch)
          .then(
            () => tellInterrupted([guid]),
            () => {}
          ) // the next record shows it again
          .finally(() => resetting.delete(guid))
        return
      }
      seen.epoch = record.epoch
      seen.offset = record.offset
      if (seen.unsure) {
        seen.unsure = false
        if (record.epoch === seen.read.epoch && record.offset <= seen.read.offset) look(guid, record.epoch)
      }
    }
    to.onRecord(record)
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
    const guids = [...subscribed.keys()].filter((guid) => names.has(documentChannel(guid)))
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

  /**
   * Begins another epoch, because this one has given an offset twice, or has lost one that it gave.
   * @param {string} guid
   * @param {string} epoch
   */
  async function rolledBack (guid, epoch) {
    metrics.bus_errors.inc({ operation: 'rollback' })
    const done = await scripts.reset([documentLog(guid), documentMeta(guid)], [epoch, newEpoch()])
    if (done === 1) log.warn({ guid }, 'redis has lost the last records of a document: its log begins anew')
  }

  /**
   * Reads the end of a log, which begins another epoch if it has lost records. That end is not remembered: where
   * records come faster than live delivery brings them, each look would ask for the next one.
   * @param {string} guid
   * @param {string} epoch that it has if it has lost nothing
   */
  function look (guid, epoch) {
    attempt('positions', () => positions([guid])).then(
      ([end]) => {
        if (end?.epoch !== epoch) tellInterrupted([guid])
      },
      () => {
        // the next record makes us look again
        const known = subscribed.get(guid)
        if (known !== undefined) known.unsure = true
      }
    )
  }

  /** @param {string} guid @param {Position | null | undefined} end that was read */
  function note (guid, end) {
    const known = subscribed.get(guid)
    if (known !== undefined && end != null) noteRead(known, end)
  }

  /**
   * @template {{ position: Position }} T
   * @param {string} guid
   * @param {() => Promise<T>} read something with the end of its log
   * @returns {Promise<T>} with an end that is not before what is known of it
   */
  async function readEnd (guid, read) {
    const known = subscribed.get(guid)
    // as it is now: what comes live while we wait may be newer than the answer
    const before = known && { ...known }
    let answer = await read()
    if (hasLost(answer.position, before)) {
      await rolledBack(guid, answer.position.epoch)
      answer = await read()
    }
    note(guid, answer.position)
    return answer
  }

  /** @param {string} guid @returns {Promise<Position>} of a log that exists from now on */
  async function openLog (guid) {
    const keys = [documentLog(guid), documentMeta(guid)]
    const open = (/** @type {string} */ move) =>
      scripts.open(keys, [newEpoch(), EMPTY_META_TTL, metaTtl, move, HEAL_WITHIN.begin, HEAL_WITHIN.end])
    const { position } = await readEnd(guid, async () => {
      const [epoch, offset, lost] = await open(moveAsked(redis)).catch(async (error) =>
        open(await moveTold(redis, keys[1], error))
      )
      if (lost === 1) metrics.bus_errors.inc({ operation: 'rollback' })
      return { position: { epoch, offset: Number(offset) } }
    })
    return position
  }

  /**
   * @param {string} guid
   * @param {Position} since
   * @param {number} limit
   * @param {boolean} [opened] its log is there
   * @returns {Promise<import('./contract.js').History>}
   */
  async function readLog (guid, since, limit, opened = false) {
    const possible = Number.isSafeInteger(since.offset) && since.offset >= 0
    const [epoch, offset, state, ...envelopes] = await scripts.history(
      [documentLog(guid), documentMeta(guid)],
      [possible ? since.epoch : '', possible ? since.offset : 0, limit, HISTORY_BYTES]
    )
    if (epoch === undefined) {
      const position = await openLog(guid)
      // moved from another node of the cluster, and complete
      return position.epoch === since.epoch && !opened
        ? readLog(guid, since, limit, true)
        : { position, records: [], gap: 'epoch' }
    }
    const position = { epoch: epoch.toString(), offset: Number(offset) }
    if (state !== 2) return { position, records: [], gap: state === 0 ? 'epoch' : 'trimmed' }
    return {
      position,
      records: envelopes.map((envelope, i) => ({
        epoch: position.epoch,
        offset: since.offset + 1 + i,
        ...decodeEnvelope(envelope)
      })),
      gap: null
    }
  }

  return {
    async start () {
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
      for (const guid of subscribed.keys()) channels.unsubscribe(documentChannel(guid))
      subscribed.clear()
      if (workerNumber === undefined) return
      channels.unsubscribe(workerChannel(workerNumber))
      channels.unsubscribe(EVERYONE_CHANNEL)
    },

    publish: (entries) => attempt('publish', () => publish(entries)),

    subscribe: (guid) =>
      attempt('subscribe', async () => {
        // what is known stays true when somebody subscribes again
        const call = { ...(subscribed.get(guid) ?? nothingKnown()) }
        subscribed.set(guid, call)
        try {
          await channels.subscribe(documentChannel(guid), onDocument)
          // read after it: what is appended from here on comes live
          return await openLog(guid)
        } catch (error) {
          // unless somebody else has subscribed or unsubscribed meanwhile, it is as if nobody had asked
          if (subscribed.get(guid) === call) {
            subscribed.delete(guid)
            channels.unsubscribe(documentChannel(guid))
          }
          throw error
        }
      }),

    async unsubscribe (guid) {
      if (subscribed.delete(guid)) channels.unsubscribe(documentChannel(guid))
    },

    history: (guid, since, limit) => attempt('history', () => readEnd(guid, () => readLog(guid, since, limit))),

    positions: (guids) =>
      attempt('positions', async () => {
        const ends = await positions(guids)
        ends.forEach((end, i) => note(guids[i], end))
        return ends
      }),

    addUser: (uid) => attempt('add_user', async () => users?.add(uid)),

    async removeUser (uid) {
      // what stays behind is harmless and expires
      await attempt('remove_user', async () => users?.remove(uid)).catch(() => {})
    }
  }
}
