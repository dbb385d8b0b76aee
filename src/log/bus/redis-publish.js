import { InkcastError } from '../../base/common/errors.js'
import { emptyEpochBeside } from '../../redis/empty-epoch.js'
import { encodeEnvelope } from '../../wire/envelope.js'
import { isUnanswered, toInkcastError, withoutArguments } from '../../redis/errors.js'
import { NO_WAIT } from '../../redis/durability/durability.js'
import { newEpoch } from '../../wire/position.js'
import { isOrder, keyInLog, lasts, logOf, userLog } from '../../wire/publication.js'
import { workerOfSid } from '../../wire/session-id.js'
import { IDEMPOTENCY, MAX_QUEUES, oneLane, QUEUE_MARK_TTL } from './contract.js'
import { sequenceText } from './origin.js'
import { createOrderPublish } from './redis-orders.js'
import { encodeDirect } from './redis-payload.js'
import { createRegistry } from './registry.js'

/**
 * @typedef {import('./contract.js').PublishEntry} PublishEntry
 * @typedef {import('./contract.js').Published} Published
 * @typedef {import('../../redis/durability/durability.js').ScriptsOf} ScriptsOf
 *
 * @typedef {{ entry: PublishEntry, envelope: Buffer }} Encoded
 */

/** Maximum size of one call: a script blocks Redis for all other clients, so a long batch is split. */
const ENTRIES_PER_CALL = 256
const BYTES_PER_CALL = 4 * 2 ** 20
/** Maximum bytes of publications in progress; above it publish rejects with `unavailable`. */
const MAX_PENDING_BYTES = 64 * 2 ** 20
/** Lifetime of sequences, s: the default retention of Kafka is 7 days, after which it delivers no record again. */
export const META_TTL = 7 * 86_400

/** Index of the hash slot's move in the arguments of publish.lua. */
const MOVE = 6

/** @type {Published} */
const DIRECT = Object.freeze({ position: null, duplicate: false })

/** The publishing half of the Redis bus. */
export class RedisPublish {
  /** Of publications in progress. */
  #pendingBytes = 0
  #order
  #parts
  #keys

  /**
   * @param {object} parts
   * @param {import('../../redis/client.js').RedisConnection} parts.redis
   * @param {import('./contract.js').HistoryOf} parts.historyOf
   * @param {import('../../redis/durability/durability.js').Durability} [parts.durability] default: nothing is waited
   *   for
   * @param {import('./contract.js').Idempotency} [parts.idempotency] for tests
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'bytes' | 'uuid'>} parts.random
   * @param {Pick<ReturnType<typeof createRegistry>, 'assertComplete'>} [parts.registry] default: one that looks with
   *   each order only
   */
  constructor ({
    redis, historyOf, durability = NO_WAIT, idempotency = IDEMPOTENCY, clock, random,
    registry = createRegistry({ redis, clock })
  }) {
    this.#parts = { redis, historyOf, durability, idempotency, clock, random }
    this.#keys = redis.keys
    this.#order = createOrderPublish({ redis, registry, clock, random })
  }

  /**
   * @param {PublishEntry[]} entries of one lane
   * @returns {Promise<Published[]>}
   */
  async publish (entries) {
    if (entries.length === 0) return []
    const target = oneLane(entries)
    const { redis, durability, clock, random } = this.#parts
    const now = clock.now()
    const encoded = entries.map((entry) => ({ entry, envelope: encodeEnvelope(entry.publication, now, random) }))
    const bytes = encoded.reduce((sum, { envelope }) => sum + envelope.length, 0)
    if (this.#pendingBytes + bytes > MAX_PENDING_BYTES && this.#pendingBytes > 0)
      throw new InkcastError('unavailable', 'the queue for redis is full')
    this.#pendingBytes += bytes
    try {
      const keys = entries.map(({ publication }) => keptIn(publication, this.#keys))
      const kept = new Set(keys.filter((key) => key !== undefined))
      // duplicates wait as well: the first one may not be confirmed yet. Orders about access are carried out in
      // any case
      const regardless = entries.some(({ publication }) => isOrder(publication))
      return await durability.confirmed(
        [...kept], (scriptsOf = () => redis.scripts) => this.#write(encoded, target, now, scriptsOf), { regardless }
      )
    } finally {
      this.#pendingBytes -= bytes
    }
  }

  /**
   * @param {Encoded[]} encoded
   * @param {import('../../wire/publication.js').Publication} target
   * @param {number} now ms since 1970
   * @param {ScriptsOf} scriptsOf
   * @returns {Promise<Published[]>}
   */
  async #write (encoded, target, now, scriptsOf) {
    /** @type {string[] | undefined} */
    let channels
    /** @type {Published[]} */
    const published = []
    let begun = false
    try {
      // sequential: a later call must not succeed after an earlier one failed
      for (const call of split(encoded)) {
        const { publication } = call[0].entry
        if (publication.operator === 'broadcast') {
          published.push(...await this.#toDocument(/** @type {string} */ (target.guid), call, scriptsOf))
        } else if (isOrder(publication)) {
          published.push({ ...DIRECT, carriedOut: await this.#order(call[0].entry, now, scriptsOf) })
        } else if (publication.keep) {
          const kept = await this.#toDocument(userLog(/** @type {string} */ (publication.uid)), call, scriptsOf)
          begun = true
          // the log decides what is a duplicate; connections that do not read it get each record with its first try
          const fresh = call.filter((_, i) => !kept[i].duplicate)
          if (fresh.length > 0) await this.#toWorkers(channels ??= await this.#channelsOf(publication), fresh)
          published.push(...kept)
        } else {
          published.push(...await this.#toWorkers(channels ??= await this.#channelsOf(publication), call))
        }
        begun = true
      }
      return published
    } catch (error) {
      // a part is published
      throw begun && toInkcastError(error).code === 'unavailable' ? unknown(error) : error
    }
  }

  /**
   * @param {string} guid
   * @param {Encoded[]} encoded
   * @param {ScriptsOf} scriptsOf
   * @returns {Promise<Published[]>}
   */
  async #toDocument (guid, encoded, scriptsOf) {
    const { redis, historyOf, random, idempotency } = this.#parts
    const channel = this.#keys.documentChannel(guid)
    if (encoded.length === 1 && encoded[0].entry.publication.ephemeral) {
      // without the log and its order this is half the work for Redis, and cursors are the most frequent publications
      await maybeDone(redis.client.spublish(channel, Buffer.concat([NO_PLACE, encoded[0].envelope])))
      return [DIRECT]
    }
    const { queue } = encoded[0].entry
    const { size, ttl, bytes = 0, keys: keyed = true } = historyOf(guid)
    /** @type {(string | number | Buffer)[]} */
    const args = [
      newEpoch(random),
      size,
      ttl,
      Math.max(META_TTL, ttl),
      idempotency.ttl,
      idempotency.keys,
      '',
      // records of users are not read again from Kafka
      redis.isCluster || encoded[0].entry.publication.keep ? '-' : (encoded[0].entry.origin?.healed ?? '-'),
      queue === undefined ? '' : `${queue.number} ${queue.id}`,
      `${QUEUE_MARK_TTL} ${MAX_QUEUES}`,
      bytes
    ]
    for (const { entry: { publication, origin }, envelope } of encoded) {
      args.push(
        origin?.source ?? '',
        origin === undefined ? '' : sequenceText(origin),
        publication.ephemeral ? '1' : '',
        publication.idempotencyKey ?? '',
        keyed ? keyInLog(publication) ?? '' : '',
        envelope
      )
    }
    const log = this.#keys.documentLog(guid)
    const marks = queue === undefined ? log : this.#keys.queueMarks(guid, queue.uid)
    const keys = [
      log, this.#keys.documentMeta(guid), channel, this.#keys.documentKeys(guid), marks,
      this.#keys.documentNewest(guid), emptyEpochBeside(redis, log)
    ]
    const [epoch, ...results] = await maybeDone(redis.afterMove(keys[1], (move) => {
      args[MOVE] = move
      return scriptsOf(log).publish(keys, args)
    }))
    return results.map((result) => {
      if (result === 0) return DIRECT
      return result > 0
        ? { position: { epoch, offset: result }, duplicate: false }
        : { position: { epoch, offset: -1 - result }, duplicate: true }
    })
  }

  /**
   * @param {import('../../wire/publication.js').Publication} target
   * @returns {Promise<string[]>} channels of the workers that a lane goes to
   */
  async #channelsOf ({ operator, uid, sid }) {
    if (operator === 'everyone') return [this.#keys.everyoneChannel]
    if (operator === 'socket' && sid !== undefined) {
      const owner = workerOfSid(sid)
      return owner === undefined ? [] : [this.#keys.workerChannel(owner)]
    }
    const key = this.#keys.userWorkers(/** @type {string} */ (uid))
    return (await this.#parts.redis.client.zrange(key, '0', '-1')).map((number) => this.#keys.workerChannel(number))
  }

  /** @param {string[]} channels @param {Encoded[]} encoded @returns {Promise<Published[]>} */
  async #toWorkers (channels, encoded) {
    // one message for the batch: a worker receives all of it or nothing
    const payload = encodeDirect(encoded.map(({ envelope }) => envelope))
    const results = await Promise.allSettled(
      channels.map((channel) => maybeDone(this.#parts.redis.client.spublish(channel, payload)))
    )
    const failures = results.flatMap((result) => result.status === 'rejected' ? [toInkcastError(result.reason)] : [])
    if (failures.length === 0) return encoded.map(() => DIRECT)
    // after a partial failure some workers have it, so the outcome is unknown
    throw failures.length < results.length && failures[0].code === 'unavailable'
      ? unknown(failures[0])
      : (failures.find(({ code }) => code === 'timeout') ?? failures[0])
  }
}

/** @param {unknown} error of a call that may have been executed, fully or in part */
const unknown = (error) => new InkcastError('timeout', 'redis did not confirm the publication', { cause: error })

/**
 * @template T
 * @param {Promise<T>} call that publishes
 * @returns {Promise<T>} rejects with `timeout` if the call may have been executed nevertheless
 */
const maybeDone = (call) =>
  call.catch((error) => {
    throw isUnanswered(error) ? unknown(withoutArguments(error)) : error
  })

/**
 * @param {import('../../wire/publication.js').Publication} publication
 * @param {import('../../redis/keys.js').Keys} keys
 * @returns {string | undefined} a key in the hash slot in which it is kept; undefined: it is not, or for a moment only
 */
function keptIn (publication, keys) {
  const { uid, ephemeral } = publication
  const log = logOf(publication)
  if (log !== undefined) return ephemeral ? undefined : keys.documentMeta(log)
  return lasts(publication) ? keys.userOrders(/** @type {string} */ (uid)) : undefined
}

/** Epoch and offset of an ephemeral record, as publish.lua writes them. */
const NO_PLACE = Buffer.from(':0:')

/**
 * @param {Encoded[]} encoded
 * @returns {Encoded[][]} each order, and each entry of a queue, in a call of its own; kept records of a user in others
 *   than those that are not kept
 */
function split (encoded) {
  if (encoded.length === 1) return [encoded]
  /** @type {Encoded[][]} */
  const calls = []
  let bytes = Infinity
  /** @type {boolean | undefined} */
  let kept
  for (const item of encoded) {
    const alone = item.entry.queue !== undefined || isOrder(item.entry.publication)
    const { keep } = item.entry.publication
    if (keep !== kept) bytes = Infinity
    kept = keep
    if (alone || bytes + item.envelope.length > BYTES_PER_CALL || calls[calls.length - 1].length === ENTRIES_PER_CALL) {
      calls.push([])
      bytes = 0
    }
    calls[calls.length - 1].push(item)
    bytes = alone ? Infinity : bytes + item.envelope.length
  }
  return calls
}
