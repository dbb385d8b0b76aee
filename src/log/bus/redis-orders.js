import { InkcastError } from '../../base/common/errors.js'
import { LruCache } from '../../base/common/lru.js'
import { encodeEnvelope } from '../../wire/envelope.js'
import { lasts } from '../../wire/publication.js'
import { workerOfSid } from '../../wire/session-id.js'
import { EVERY_DOCUMENT, MAX_ORDERS, ORDER_TTL, orderName, restoredNames, restoreName } from './orders.js'
import { sequenceText } from './origin.js'
import { decodeDirect, encodeDirect, orderAmongRecords } from './redis-payload.js'

/**
 * Orders (`isOrder`) through Redis. They are about access, so unlike records for users they must arrive: Redis keeps
 * each order for its worker until the worker has carried it out, and live delivery is only the fast path. A kick, a
 * revoke or a restore is also kept for the user, for workers that register the user later (order.lua, users.lua).
 *
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {import('./contract.js').CarriedOut} CarriedOut
 * @typedef {import('./contract.js').PublishEntry} PublishEntry
 * @typedef {import('../../redis/client.js').RedisConnection} RedisConnection
 */

/**
 * How long Redis keeps an order for a worker that does not read it, s. A worker that was unavailable for longer is a
 * new incarnation, without connections.
 */
const KEPT = 900
/**
 * Maximum number of orders kept for one worker. Above it publishing an order rejects with `unavailable`, or, if the
 * lease of the worker has ended, all of them are dropped.
 */
const MAX_KEPT = 10_000
/** In place of orders that were dropped. */
const DROPPED = 'dropped'
/** Interval at which a worker reads its kept orders, ms. */
const READ_EVERY = 2000
/** Timeout of a publisher that waits for a live worker to carry out an order, ms. Longer than READ_EVERY. */
const PATIENCE = 2500
/** Interval at which a publisher looks for reports, ms; it doubles up to TELL_AGAIN. */
const LOOK_AFTER = 1
/** How long Redis keeps the report of a worker, s. */
const REPORT_KEPT = 60
/** What `outcome` returns without a report: the order is kept; Redis has neither. */
const [NOT_DONE, FORGOTTEN] = [-1, -2]
/** Interval of repeated notifications while the publisher waits, ms. */
const TELL_AGAIN = 100
/**
 * Maximum number of orders that a worker remembers as carried out. An order that is received again after it was dropped
 * here is recognized by its time.
 */
const MAX_KNOWN = 10_000
const NO_VALUE = Buffer.alloc(0)

/**
 * The publishing half.
 * @param {object} dependencies
 * @param {RedisConnection} dependencies.redis
 * @param {Pick<ReturnType<typeof import('./registry.js').createRegistry>, 'assertComplete'>} dependencies.registry
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {Pick<import('../../base/common/random.js').Random, 'bytes' | 'uuid'>} dependencies.random
 */
export function createOrderPublish ({ redis, registry, clock, random }) {
  const { keys } = redis
  /** @param {number | string} worker */
  const isLeased = async (worker) =>
    await redis.scripts.leased([keys.workers.expiry, keys.workers.watched], [worker]) === 1

  /**
   * @param {number | string} worker
   * @param {string} id
   * @param {Buffer} message
   * @returns {Promise<number>} connections; 0 if the worker has ended
   */
  async function tell (worker, id, message) {
    const kept = keys.workerOrders(worker)
    const told = (/** @type {'1' | ''} */ first) =>
      redis.scripts.tell([kept, keys.workerChannel(worker)], [id, message, KEPT, MAX_KEPT, first])
    const end = clock.monotonic() + PATIENCE
    let heard = await told('1')
    if (heard < 0) {
      if (await isLeased(worker))
        throw new InkcastError('unavailable', 'the queue of orders is full for a worker that does not read it')
      await redis.scripts.drop([kept], [DROPPED, KEPT])
      return 0
    }
    for (let wait = LOOK_AFTER; ; wait = Math.min(2 * wait, TELL_AGAIN)) {
      if (heard > 0) {
        await clock.sleep(wait)
        const outcome = await redis.scripts.outcome([kept, keys.orderReport(worker, id)], [id])
        if (outcome > NOT_DONE) return outcome
        // Redis has lost it, or a process that has the number now has dropped it: a retry reaches the current workers
        if (outcome === FORGOTTEN) throw new InkcastError('unavailable', 'the order of a worker is lost')
      }
      // a worker that has ended may leave its subscription for a while
      const isSlow = wait === TELL_AGAIN
      if ((heard === 0 || isSlow) && !await isLeased(worker)) return 0
      if (clock.monotonic() >= end) {
        throw new InkcastError(
          'unavailable',
          'a worker does not respond; it carries out the order as soon as it does'
        )
      }
      if (heard > 0) continue
      await clock.sleep(TELL_AGAIN)
      heard = await told('')
    }
  }

  /** Time and id of each order: a retry has the same. @type {WeakMap<Publication, { at: number, id: string }>} */
  const tried = new WeakMap()

  /**
   * Resolves when each live worker concerned has carried out the order.
   * @param {PublishEntry} entry an order
   * @param {number} now ms since 1970; an order about a user gets the time of Redis, with which tokens are compared
   * @param {import('../../redis/durability/durability.js').ScriptsOf} scriptsOf
   * @returns {Promise<CarriedOut>}
   */
  return async (entry, now, scriptsOf) => {
    const { publication } = entry
    const earlier = tried.get(publication)
    const { at, workers, userKey } = await keep(redis, publication, earlier?.at, now, scriptsOf)
    const id = earlier?.at === at ? earlier.id : idOf(entry, at, random)
    tried.set(publication, { at, id })
    // clients never receive the value of other orders
    const value = publication.operator === 'close' || publication.operator === 'leave' ? publication.value : NO_VALUE
    const message = encodeDirect([encodeEnvelope({ ...publication, value }, at, random, id)])
    const [counts] = await Promise.all([
      Promise.all(workers.map((worker) => tell(worker, id, message))),
      // after the list was read: before, it could be lost in between
      registry.assertComplete(userKey)
    ])
    // with a cluster the channels of worker and document may use two connections: on the document's channel the revoke
    // arrives before the records that follow it
    if (redis.isCluster && publication.operator === 'revoke') {
      const channel = keys.documentChannel(/** @type {string} */ (publication.guid))
      await redis.client.spublish(channel, orderAmongRecords(message))
    }
    return {
      connections: counts.reduce((sum, count) => sum + count, 0),
      workers: counts.filter((count) => count > 0).length
    }
  }
}

/**
 * @param {PublishEntry} entry an order
 * @param {number} at
 * @param {Pick<import('../../base/common/random.js').Random, 'uuid'>} random
 * @returns {string} by which workers recognize it. A record of Kafka has the same after a restart of ingest, unless it
 *   lasts: then it has another time
 */
const idOf = ({ publication, origin }, at, random) => origin === undefined
  ? random.uuid()
  : [origin.source, sequenceText(origin), publication.timestamp, ...(lasts(publication) ? [at] : [])].join(' ')

/**
 * Keeps an order about access for workers that register its user later.
 * @param {Pick<RedisConnection, 'client' | 'keys'>} redis
 * @param {Publication} publication
 * @param {number | undefined} earlier time of an earlier try
 * @param {number} now
 * @param {import('../../redis/durability/durability.js').ScriptsOf} scriptsOf
 * @returns {Promise<{ at: number, workers: (number | string)[], userKey?: string }>} userKey: where the workers of
 *   the user are from
 */
async function keep ({ client, keys }, publication, earlier, now, scriptsOf) {
  const { operator, guid, uid, sid, ttl } = publication
  const at = earlier ?? now
  // owners, not leases: a worker whose lease has ended may continue, with its connections
  if (operator === 'close') return { at, workers: await client.hkeys(keys.workers.owners) }
  if (sid !== undefined && operator !== 'revoke' && operator !== 'restore') {
    const owner = workerOfSid(sid)
    return { at, workers: owner === undefined ? [] : [owner] }
  }
  const userKey = keys.userWorkers(/** @type {string} */ (uid))
  if (!lasts(publication))
    return { at, workers: await client.zrange(userKey, '0', '-1'), userKey }
  const [time, ...workers] = await scriptsOf(userKey).order(
    [userKey, keys.userOrders(/** @type {string} */ (uid)), keys.userOrdered(/** @type {string} */ (uid))],
    [
      orderName({ operator, guid, ttl }), ORDER_TTL, MAX_ORDERS, EVERY_DOCUMENT, ttl ?? '', earlier ?? '',
      operator === 'kick' && ttl === undefined ? '' : restoreName(guid),
      ...(operator === 'restore' ? restoredNames(guid) : [])
    ]
  )
  return { at: Number(time), workers, userKey }
}

/** The half of a worker: recognizes duplicate orders, and reads those that were not received live. */
export class KeptOrders {
  /** Those of the processes that had this number before are dropped. */
  #begun = false
  /** Number of connections by order. @type {LruCache<Promise<number>>} */
  #known = new LruCache(MAX_KNOWN)
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  /** @type {Promise<void> | null} */
  #reading = null
  /** The read that starts when `#reading` has ended. @type {Promise<void> | null} */
  #next = null
  #key
  #parts
  #isOwner

  /**
   * @param {object} parts
   * @param {RedisConnection} parts.redis
   * @param {number} parts.workerNumber
   * @param {(message: Buffer) => void} parts.onMessage as from the worker's channel
   * @param {() => void} [parts.onDropped] orders for this worker were dropped, because its lease had ended and they
   *   were too many
   * @param {() => boolean} [parts.isOwner] false: another process may have the number, and the orders are its own
   * @param {import('../../observe/metrics/metrics.js').Metrics} parts.metrics
   * @param {Pick<import('../../base/common/clock.js').Clock, 'every'>} parts.clock
   */
  constructor ({ isOwner = () => true, ...parts }) {
    this.#isOwner = isOwner
    this.#parts = parts
    this.#key = parts.redis.keys.workerOrders(parts.workerNumber)
  }

  /**
   * Drops the orders of the processes that had this number before: they were about other connections. To be called
   * before this process has connections, and before it receives orders; after a failure the first read does it.
   */
  async begin () {
    await this.#parts.redis.client.del(this.#key)
    this.#begun = true
  }

  start () {
    const { redis, metrics, clock } = this.#parts
    if (this.#timer !== undefined) return
    this.#timer = clock.every(READ_EVERY, () => {
      if (redis.ready) this.read().catch(() => metrics.bus_errors.inc({ operation: 'orders' }))
    }).unref()
  }

  stop () {
    this.#timer?.stop()
    this.#timer = undefined
  }

  /**
   * Reads the orders that are kept now: a read in progress may miss some, so another one follows it.
   * @returns {Promise<void>}
   */
  read () {
    if (this.#reading === null) return this.#startRead()
    this.#next ??= this.#reading.catch(() => {}).then(() => {
      this.#next = null
      return this.#startRead()
    })
    return this.#next
  }

  /**
   * Carries an order out, unless that was done before, and reports it to its publisher.
   * @param {ReturnType<typeof decodeDirect>[number]} order
   * @param {() => unknown} carryOut returns the number of connections, or a promise of it
   */
  receive (order, carryOut) {
    const name = nameOf(order)
    let outcome = this.#known.get(name, 0)
    if (outcome === undefined) {
      // an order that fails is not repeated
      this.#known.set(name, NOTHING, Infinity)
      outcome = Promise.resolve(carryOut()).then((count) => Number(count) || 0, () => 0)
      this.#known.set(name, outcome, Infinity)
    }
    if (order.orderId !== undefined) this.#report(order.orderId, outcome)
  }

  #startRead () {
    this.#reading = this.#read().finally(() => { this.#reading = null })
    return this.#reading
  }

  async #read () {
    if (!this.#begun) return this.begin()
    const { redis: { client }, metrics, onMessage, onDropped } = this.#parts
    const kept = await client.hgetallBuffer(this.#key)
    if (Object.keys(kept).length === 0) return
    if (!this.#isOwner()) throw new InkcastError('unavailable', 'the lease of the worker number has ended')
    if (DROPPED in kept) {
      delete kept[DROPPED]
      onDropped?.()
      await client.hdel(this.#key, DROPPED)
    }
    const unreported = []
    for (const id of Object.keys(kept)) {
      const { unheard, reports } = this.#look(kept[id])
      if (unheard) metrics.kept_orders.inc()
      onMessage(kept[id])
      if (!reports) unreported.push(id)
    }
    // after delivery: an order that is deleted before it was carried out would be lost
    if (unreported.length > 0) await client.hdel(this.#key, ...unreported)
  }

  /** @param {Buffer} message @returns {{ unheard: boolean, reports: boolean }} reports: `#report` deletes it */
  #look (message) {
    try {
      const orders = decodeDirect(message)
      return {
        unheard: orders.some((order) => this.#known.get(nameOf(order), 0) === undefined),
        reports: orders.some(({ orderId }) => orderId !== undefined)
      }
    } catch {
      return { unheard: false, reports: false }
    }
  }

  /** @param {string} id of an order @param {Promise<number>} outcome */
  async #report (id, outcome) {
    // the process that has the number now reports for its own connections
    if (!this.#isOwner()) return
    const { redis, workerNumber, metrics } = this.#parts
    try {
      await redis.scripts.carried(
        [this.#key, redis.keys.orderReport(workerNumber, id)], [id, await outcome, REPORT_KEPT]
      )
    } catch {
      // it is still kept, and is reported when it is read
      metrics.bus_errors.inc({ operation: 'orders' })
    }
  }
}

const NOTHING = Promise.resolve(0)

/**
 * @param {ReturnType<typeof decodeDirect>[number]} order
 * @returns {string} unambiguous, because ids contain no control characters
 */
const nameOf = ({ publication: { operator, guid, uid, sid, device }, ingestedAt, orderId }) =>
  orderId ?? [operator, guid, uid, sid, device, ingestedAt].join('\n')
