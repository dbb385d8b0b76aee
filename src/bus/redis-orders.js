import { randomUUID } from 'node:crypto'
import { InkcastError } from '../common/errors.js'
import { LruCache } from '../common/lru.js'
import { documentChannel, userOrders, userWorkers, workerChannel, workerOrders, WORKERS } from '../redis/keys.js'
import { encodeEnvelope } from '../wire/envelope.js'
import { workerOfSid } from '../wire/session-id.js'
import { EVERY_DOCUMENT, MAX_ORDERS, ORDER_TTL, orderName } from './orders.js'
import { decodeDirect, encodeDirect, orderAmongRecords } from './redis-payload.js'

/**
 * Kicks and revokes through Redis. Orders are about access, so unlike records for users they must arrive: Redis keeps
 * each order for its worker until the worker has read it, and live delivery is only the fast path. An order about a
 * user is also kept for seven days, for workers that register the user later (order-2.lua, users-n.lua).
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {import('../redis/client.js').RedisConnection} RedisConnection
 */

/**
 * How long Redis keeps an order for a worker that does not read it, s. A worker that was unavailable for longer is a
 * new incarnation, without connections.
 */
const KEPT = 900
/** Maximum number of orders kept for one worker; above it publishing an order rejects with `unavailable`. */
const MAX_KEPT = 10_000
/** Interval at which a worker reads its kept orders, ms. */
const READ_EVERY = 2000
/** Timeout of a publisher that waits for a live worker to receive or read an order, ms. Longer than READ_EVERY. */
const PATIENCE = 2500
/** Interval of repeated notifications while the publisher waits, ms. */
const TELL_AGAIN = 100
/**
 * Maximum number of orders that a worker remembers as carried out. An order that is received again after it was dropped
 * here is recognized by its time.
 */
const MAX_KNOWN = 10_000
const NO_VALUE = Buffer.alloc(0)

/** @param {Publication} publication @returns {boolean} */
export const isOrder = ({ operator }) => operator === 'kick' || operator === 'revoke'

/**
 * The publishing half.
 * @param {object} dependencies
 * @param {RedisConnection} dependencies.redis
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export function createOrderPublish ({ redis, clock }) {
  /**
   * @param {Publication} publication
   * @param {number} now
   * @returns {Promise<{ at: number, workers: (number | string)[] }>}
   */
  async function keep ({ operator, guid, uid, sid }, now) {
    if (operator === 'kick' && sid !== undefined) {
      const owner = workerOfSid(sid)
      return { at: now, workers: owner === undefined ? [] : [owner] }
    }
    const target = /** @type {string} */ (uid)
    const [at, ...workers] = await redis.scripts.order(
      [userWorkers(target), userOrders(target)],
      [orderName({ operator, guid }), ORDER_TTL, MAX_ORDERS, EVERY_DOCUMENT]
    )
    return { at: Number(at), workers }
  }

  /** @param {number | string} worker @param {string} id @param {Buffer} message */
  async function tell (worker, id, message) {
    const told = (/** @type {'1' | ''} */ first) =>
      redis.scripts.tell([workerOrders(worker), workerChannel(worker)], [id, message, KEPT, MAX_KEPT, first])
    const end = clock.monotonic() + PATIENCE
    let heard = await told('1')
    if (heard < 0)
      throw new InkcastError('unavailable', 'the queue of kicks and revokes is full for a worker that does not read it')
    while (heard === 0 && await redis.scripts.leased([WORKERS.expiry], [worker]) === 1) {
      if (clock.monotonic() >= end)
        throw new InkcastError(
          'unavailable',
          'a worker does not respond; it carries the kick or revoke out as soon as it does'
        )
      await clock.sleep(TELL_AGAIN)
      heard = await told('')
    }
  }

  /**
   * Resolves when each live worker concerned has received or read the order, so that later publications arrive after
   * it.
   * @param {Publication} publication kick or revoke
   * @param {number} now ms since 1970; an order about a user gets the time of Redis, with which tokens are compared
   */
  return async (publication, now) => {
    const { at, workers } = await keep(publication, now)
    // without the value: clients never receive it
    const message = encodeDirect([encodeEnvelope({ ...publication, value: NO_VALUE }, at)])
    const id = randomUUID()
    await Promise.all(workers.map((worker) => tell(worker, id, message)))
    // with a cluster the channels of worker and document may use two connections: on the document's channel the revoke
    // arrives before the records that follow it
    if (redis.isCluster && publication.operator === 'revoke') {
      await redis.client.spublish(documentChannel(/** @type {string} */ (publication.guid)), orderAmongRecords(message))
    }
  }
}

/**
 * The half of a worker: recognizes duplicate orders, and reads those that were not received live.
 * @param {object} dependencies
 * @param {RedisConnection} dependencies.redis
 * @param {number} dependencies.workerNumber
 * @param {(message: Buffer) => void} dependencies.onMessage as from the worker's channel
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {number} [dependencies.readEvery] ms
 */
export function createKeptOrders ({ redis, workerNumber, onMessage, metrics, readEvery = READ_EVERY }) {
  const key = workerOrders(workerNumber)
  /** @type {LruCache<true>} */
  const known = new LruCache(MAX_KNOWN)
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {Promise<void> | null} */
  let reading = null
  /** @type {Promise<void> | null} the read that starts when `reading` has ended */
  let next = null

  async function readOnce () {
    const kept = await redis.client.hgetallBuffer(key)
    const ids = Object.keys(kept)
    if (ids.length === 0) return
    for (const id of ids) {
      if (isUnheard(kept[id])) metrics.kept_orders.inc()
      onMessage(kept[id])
    }
    // after delivery: an order that is deleted before it was carried out would be lost
    await redis.client.hdel(key, ...ids)
  }

  /** @param {Buffer} message */
  function isUnheard (message) {
    try {
      return decodeDirect(message).some(
        ({ publication, ingestedAt }) => known.get(nameOf(publication, ingestedAt), 0) === undefined
      )
    } catch {
      return false
    }
  }

  function start () {
    reading = readOnce().finally(() => { reading = null })
    return reading
  }

  /**
   * Reads the orders that are kept now: a read in progress may miss some, so another one follows it.
   * @returns {Promise<void>}
   */
  function read () {
    if (reading === null) return start()
    return next ??= reading.catch(() => {}).then(() => {
      next = null
      return start()
    })
  }

  return {
    read,

    start () {
      timer ??= setInterval(() => {
        if (redis.ready) read().catch(() => metrics.bus_errors.inc({ operation: 'orders' }))
      }, readEvery).unref()
    },

    stop () {
      clearInterval(timer)
      timer = undefined
    },

    /** @param {Publication} publication @param {number} at @returns {boolean} false: already carried out */
    isNew (publication, at) {
      const name = nameOf(publication, at)
      if (known.get(name, 0) !== undefined) return false
      known.set(name, true, Infinity)
      return true
    }
  }
}

/**
 * @param {Publication} publication
 * @param {number} at
 * @returns {string} unambiguous, because ids contain no control characters
 */
const nameOf = ({ operator, guid, uid, sid }, at) => [operator, guid, uid, sid, at].join('\n')
