import { randomUUID } from 'node:crypto'
import { InkcastError } from '../common/errors.js'
import { LruCache } from '../common/lru.js'
import { documentChannel, userOrders, userWorkers, workerChannel, workerOrders, WORKERS } from '../redis/keys.js'
import { encodeEnvelope } from '../wire/envelope.js'
import { workerOfSid } from '../wire/session-id.js'
import { EVERY_DOCUMENT, MAX_ORDERS, ORDER_TTL, orderName } from './orders.js'
import { decodeDirect, encodeDirect, orderAmongRecords } from './redis-payload.js'

/**
 * Kicks and revokes through Redis. They are about access, so unlike records for users they must arrive: each is kept
 * for its worker until that has read it there, and live delivery is only the fast path. One about a user is kept for
 * seven days as well, for workers that register the user later (order-2.lua, users-n.lua).
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {import('../redis/client.js').RedisConnection} RedisConnection
 */

/**
 * An order that no worker takes is kept this long for it, s: a worker that is away for longer has another incarnation,
 * without connections.
 */
const KEPT = 900
/** Orders kept for one worker; beyond it publishers are told to try again. */
const MAX_KEPT = 10_000
/** A worker reads what is kept for it this often, ms. */
const READ_EVERY = 2000
/**
 * How long a publisher waits until a worker that lives has heard or read an order, ms: longer than a worker takes to
 * read.
 */
const PATIENCE = 2500
const TELL_AGAIN = 100
/**
 * Orders that a worker knows to have carried out; one that comes once more after it has forgotten is recognized by its
 * time.
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
      throw new InkcastError('unavailable', 'too many kicks and revokes are kept for a worker that does not read them')
    while (heard === 0 && await redis.scripts.leased([WORKERS.expiry], [worker]) === 1) {
      if (clock.monotonic() >= end)
        throw new InkcastError(
          'unavailable',
          'a worker does not listen at the moment; it carries this out when it does'
        )
      await clock.sleep(TELL_AGAIN)
      heard = await told('')
    }
  }

  /**
   * Resolves when each worker that lives and is concerned has heard or read it, so that what is published after it
   * comes after it.
   * @param {Publication} publication kick or revoke
   * @param {number} now ms since 1970; one about a user gets the time of Redis, because tokens are compared with it
   */
  return async (publication, now) => {
    const { at, workers } = await keep(publication, now)
    // whatever value it carries reaches nobody
    const message = encodeDirect([encodeEnvelope({ ...publication, value: NO_VALUE }, at)])
    const id = randomUUID()
    await Promise.all(workers.map((worker) => tell(worker, id, message)))
    // the channels of the worker and of the document may come over two connections: so that it comes before the records
    // behind it
    if (redis.isCluster && publication.operator === 'revoke') {
      await redis.client.spublish(documentChannel(/** @type {string} */ (publication.guid)), orderAmongRecords(message))
    }
  }
}

/**
 * The half of a worker: which orders are new, and those that it did not hear.
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
  /** @type {Promise<void> | null} begins when `reading` has ended */
  let next = null

  async function readOnce () {
    const kept = await redis.client.hgetallBuffer(key)
    const ids = Object.keys(kept)
    if (ids.length === 0) return
    for (const id of ids) {
      if (isUnheard(kept[id])) metrics.kept_orders.inc()
      onMessage(kept[id])
    }
    // afterwards: an order that is taken away here and not carried out would be lost
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

  /** Reads what is kept now: a read that has begun before does not count. @returns {Promise<void>} */
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

    /** @param {Publication} publication @param {number} at @returns {boolean} false: it was carried out already */
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
 * @returns {string} ids hold no control characters, so this is unambiguous
 */
const nameOf = ({ operator, guid, uid, sid }, at) => [operator, guid, uid, sid, at].join('\n')
