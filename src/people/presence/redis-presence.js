import { InkcastError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { createAttempt } from '../../redis/errors.js'
import { groupBySlot, hashSlot } from '../../redis/hash-slot.js'
import { readBySlot } from '../../redis/read-by-slot.js'
import { isOutage } from '../../redis/through-outages.js'
import { prefixOfWorker } from '../../wire/session-id.js'
import { endedWith, incarnationName, liveIncarnations } from '../workers/worker-watch.js'
import { EMPTY_TTL, LEFT_TTL, LIST_AGAIN, MAX_CONNECTIONS, MAX_LEFT, PAGE_BYTES } from './contract.js'
import { makeMember } from './member-view.js'
import { NotedDocuments, RENEW_EVERY, TTL } from './noted-documents.js'

/**
 * @typedef {import('./contract.js').PresenceStore} PresenceStore
 * @typedef {import('./contract.js').PresenceChange} PresenceChange
 * @typedef {{ id: string, incarnation: string }} Connection
 */

/** The expiry is renewed for RENEW_FOR of every RENEW_EVERY, ms: longer than a cycle of the idle check. */
const RENEW_FOR = 30_000
/** Changes of a dead worker per call: a call blocks Redis for all clients. */
const LOST_BATCH = 500
/** Time that a worker has to clean up after a dead one before another worker does it as well, s. */
const FORGETTING = 4

/**
 * The presence store over Redis 7 or Redis Cluster: per document a hash of its connections, their order, and a sharded
 * channel of its own, changed and published by one script.
 *
 * @implements {PresenceStore}
 */
export class RedisPresence {
  /** Bounded by the documents with members on this worker. @type {Map<string, (payload: Buffer) => void>} */
  #watched = new Map()
  #running = false
  /** Number of times that Redis may have lost its data, beginning with the start. */
  #losses = 1
  /**
   * Number of the loss after which the last sweep was complete. Until the last sweep has followed the last loss, writes
   * of another process may add members under the number of this one, and the set is how sweeps and `forget` find them:
   * no document leaves it.
   */
  #swept = 0
  /** @type {import('./contract.js').PresenceHandlers | undefined} */
  #handlers
  #noted
  #attempt
  #parts
  #keys
  #incarnation
  #logLimit

  /**
   * @param {object} parts
   * @param {import('../../redis/client.js').RedisConnection} parts.redis started, and stopped after this
   * @param {number} parts.maxMembers of a document; with more, diffs have only the count
   * @param {number} [parts.workerNumber] undefined: this store only reads
   * @param {() => string} [parts.incarnation] current incarnation of the worker number
   *   (people/workers/worker-lease.js)
   * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'presence_errors'>} parts.metrics
   * @param {import('../../base/common/log.js').Log} parts.log
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   */
  constructor ({ redis, maxMembers, workerNumber, incarnation = () => '', metrics, log, clock }) {
    this.#parts = { redis, maxMembers, workerNumber, metrics, log, clock }
    this.#keys = redis.keys
    this.#incarnation = incarnation
    this.#noted = new NotedDocuments({ redis, workerNumber, clock })
    this.#logLimit = new LogLimit({ clock })
    this.#attempt = createAttempt({
      stopped: 'presence is stopped',
      isRunning: () => this.#running,
      errors: metrics.presence_errors
    })
    redis.onBack(() => {
      if (!this.#running) return
      // `documents` writes the set again, or the next update
      this.#noted.lost()
      this.#losses++
      this.#handlers?.onLost()
    })
    redis.channels.onRestored((restored) => {
      if (!this.#running || this.#watched.size === 0) return
      const names = new Set(restored)
      const guids = [...this.#watched.keys()].filter((guid) => names.has(this.#keys.documentPresence(guid)[3]))
      if (guids.length > 0) this.#handlers?.onInterrupted(guids)
    })
  }

  /** @param {import('./contract.js').PresenceHandlers} [handlers] */
  async start (handlers) {
    const { workerNumber, log } = this.#parts
    this.#handlers = handlers
    this.#running = true
    if (workerNumber === undefined) return
    const guids = await this.#attempt('forget', () => this.#noted.of(workerNumber))
    try {
      await this.#attempt('forget', () =>
        this.#loseIn(guids, workerNumber, (theirs) => theirs !== this.#incarnation()))
    } catch (error) {
      if (!isOutage(error)) throw error
      // one node may be down for long, and clients of this worker need others: sweeps remove the members that are left
      log.debug({ err: error }, 'members of the process before could not be removed yet')
    }
  }

  async stop () {
    this.#running = false
    for (const guid of this.#watched.keys())
      this.#parts.redis.channels.unsubscribe(this.#keys.documentPresence(guid)[3])
  }

  /** @param {string} guid */
  watch (guid) {
    return this.#attempt('watch', async () => {
      const onMessage = (/** @type {Buffer} */ payload) => this.#receive(guid, payload)
      this.#watched.set(guid, onMessage)
      try {
        await this.#parts.redis.channels.subscribe(this.#keys.documentPresence(guid)[3], onMessage)
      } catch (error) {
        // its members may be written: it stays noted
        if (this.#watched.get(guid) === onMessage) this.#unsubscribe(guid)
        throw error
      }
    })
  }

  /** @param {string} guid */
  unwatch (guid) {
    if (!this.#watched.has(guid)) return
    this.#unsubscribe(guid)
    if (this.#swept === this.#losses) this.#noted.delete(guid)
  }

  /** @param {string} guid */
  #unsubscribe (guid) {
    this.#watched.delete(guid)
    this.#parts.redis.channels.unsubscribe(this.#keys.documentPresence(guid)[3])
  }

  /** @param {string} guid @param {PresenceChange[]} changes */
  update (guid, changes) {
    return this.#attempt('update', async () => {
      // departures need no entry: the set may be on another node, which is down while this worker stops
      if (!this.#noted.has(guid) && changes.some(({ op }) => op === '+' || op === '=')) await this.#noted.add(guid)
      this.#noted.renewInTime()
      await this.#change(guid, changes)
    })
  }

  /** @param {string} id */
  removalOf (id) {
    const { workerNumber } = this.#parts
    if (workerNumber === undefined || !id.startsWith(prefixOfWorker(workerNumber))) return null
    return /** @type {const} */ ({ op: '~', id, uid: '', client: this.#incarnation(), body: '' })
  }

  /** @param {string} guid @param {{ after?: string, limit: number }} query */
  page (guid, { after = '', limit }) {
    return this.#attempt('page', async () => {
      const [connections, order, meta] = this.#keys.documentPresence(guid)
      const [version, count, countOnly, cursor, ...rest] = await this.#parts.redis.scripts.members(
        [connections, order, meta],
        [after, limit, MAX_CONNECTIONS, PAGE_BYTES]
      )
      return {
        version: Number(version),
        count: Number(count),
        countOnly: countOnly === '1',
        members: membersOf(rest),
        ...(cursor === '' ? {} : { cursor })
      }
    })
  }

  /** @param {string} guid */
  left (guid) {
    return this.#attempt('left', async () => {
      const [, order] = this.#keys.documentPresence(guid)
      const keys = [...this.#keys.documentLeft(guid), order]
      const [stored, ...flat] = await this.#parts.redis.scripts.left(keys, [LEFT_TTL])
      const users = Array.from({ length: flat.length / 3 }, (_, i) => {
        const [uid, at, name] = flat.slice(3 * i)
        return { uid, ...(name !== '' && { name }), lastSeen: Number(at) }
      })
      return { users, full: Number(stored) >= MAX_LEFT }
    })
  }

  /** @param {string[]} guids */
  versions (guids) {
    return this.#attempt('versions', () => readBySlot(this.#parts.redis, guids, {
      keyOf: (guid) => this.#keys.documentPresence(guid)[0],
      read: async (some) => (await this.#readVersions(some)).map(numberOrNull)
    }))
  }

  /** @param {string} guid */
  mine (guid) {
    return this.#attempt('mine', async () =>
      (await this.#connectionsOf(guid, /** @type {number} */ (this.#parts.workerNumber))).map(({ id }) => id)
    )
  }

  documents () { return this.#attempt('documents', () => this.#noted.all(this.#watched.keys())) }

  /** @param {boolean} [isLast] */
  sweep (isLast = false) {
    const { redis } = this.#parts
    return this.#attempt('sweep', async () => {
      const losses = this.#losses
      const all = Object.entries(await redis.client.hgetall(this.#keys.workers.incarnations))
      const known = new Set(all.map(([number, begun]) => incarnationName(Number(number), Number(begun))))
      if (!known.has(this.#incarnation())) throw new InkcastError('unavailable', 'redis does not know all workers yet')
      // those in the set may have members of the process before this one only
      const noted = await this.#noted.all([])
      await this.#onEach(new Set([...noted, ...this.#watched.keys()]), async (guid) => {
        const others = (await this.#connectionsOf(guid)).filter((connection) => !known.has(connection.incarnation))
        const live = await liveIncarnations(redis, others.map((connection) => connection.incarnation))
        await this.#lose(guid, others.filter((connection) => !live.has(connection.incarnation)))
      })
      if (!isLast || losses !== this.#losses) return
      this.#swept = losses
      this.#noted.keep((guid) => this.#watched.has(guid))
    })
  }

  /** @param {number} number @param {string} gone @param {{ surely?: boolean }} [how] */
  forget (number, gone, { surely = false } = {}) {
    const { client } = this.#parts.redis
    return this.#attempt('forget', async () => {
      const key = this.#keys.presenceForgotten(number, gone)
      // the key saves duplicate work; its holder may still fail or die
      if (!surely && (await client.set(key, '1', 'EX', FORGETTING, 'NX')) === null) return
      try {
        // the set stays until it expires: the next process with this number may already use it
        // also of earlier ones: their last changes may have come after their cleanup
        const guids = await this.#noted.of(number)
        await this.#loseIn(guids, number, (incarnation) => endedWith(incarnation, gone))
      } catch (error) {
        await client.del(key).catch(() => {}) // it expires
        throw error
      }
    })
  }

  /** @param {string} guid @param {Buffer} payload */
  #receive (guid, payload) {
    try {
      const { joined = [], changed = [], left = [], closed = [], ...rest } = JSON.parse(payload.toString())
      this.#handlers?.onDiff(guid, {
        ...rest, joined: joined.map(memberOf), changed: changed.map(memberOf), left, closed
      })
    } catch (error) {
      this.#parts.metrics.presence_errors.inc({ operation: 'receive' })
      if (this.#logLimit.due()) this.#parts.log.error({ err: error }, 'the handler of a presence message failed')
    }
  }

  /** @param {string} guid @param {PresenceChange[]} changes */
  async #change (guid, changes) {
    const { redis, maxMembers } = this.#parts
    await redis.scripts.presence([...this.#keys.documentPresence(guid), ...this.#keys.documentLeft(guid)], [
      maxMembers,
      LIST_AGAIN,
      MAX_CONNECTIONS,
      this.#incarnation(),
      TTL,
      EMPTY_TTL,
      LEFT_TTL,
      MAX_LEFT,
      ...changes.flatMap(({ op, id, uid, client, body }) => [op, id, uid, client, body])
    ])
  }

  /**
   * @param {string} guid
   * @param {number} [number] of a worker; default: of all
   * @returns {Promise<Connection[]>}
   */
  async #connectionsOf (guid, number) {
    const prefix = number === undefined ? '' : prefixOfWorker(number)
    const found = await this.#parts.redis.scripts.mine([this.#keys.documentPresence(guid)[0]], [prefix])
    return Array.from({ length: found.length / 2 }, (_, i) => ({ id: found[2 * i], incarnation: found[2 * i + 1] }))
  }

  /** Marks connections of dead workers as lost. @param {string} guid @param {Connection[]} lost */
  async #lose (guid, lost) {
    /** @type {PresenceChange[]} */
    const changes = lost.map(({ id, incarnation }) => ({ op: '~', id, uid: '', client: incarnation, body: '' }))
    /** @type {Promise<void>[]} */
    const calls = []
    while (changes.length > 0) calls.push(this.#change(guid, changes.splice(0, LOST_BATCH)))
    await Promise.all(calls)
  }

  /**
   * @param {string[]} guids
   * @param {number} number of a dead worker
   * @param {(incarnation: string) => boolean} isGone
   */
  #loseIn (guids, number, isGone) {
    return this.#onEach(guids, async (guid) => {
      const connections = await this.#connectionsOf(guid, number)
      await this.#lose(guid, connections.filter(({ incarnation }) => isGone(incarnation)))
    })
  }

  /**
   * One document after the other, on all nodes of Redis Cluster at the same time: a node that fails ends its own part.
   * @param {Iterable<string>} guids
   * @param {(guid: string) => Promise<void>} act
   * @throws the first error, when all nodes are done
   */
  async #onEach (guids, act) {
    const { topology } = this.#parts.redis
    const parts = groupBySlot(guids, (guid) => topology.nodeOf(hashSlot(this.#keys.documentPresence(guid)[0])))
    const results = await Promise.allSettled(parts.map(async (part) => { for (const guid of part) await act(guid) }))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** @param {string[]} guids @returns {Promise<(string | null)[]>} */
  #readVersions (guids) {
    const { redis, clock } = this.#parts
    const renewing = clock.monotonic() % RENEW_EVERY < RENEW_FOR
    if (renewing) this.#noted.renew()
    return redis.scripts.versions(
      guids.flatMap((guid) => this.#keys.documentPresence(guid).slice(0, 3)),
      [renewing ? TTL : 0]
    )
  }
}

/** @param {string | null | undefined} version */
const numberOrNull = (version) => version == null ? null : Number(version)

/** @param {[uid: string, connections: [string, import('./member-view.js').Body][]]} found */
const memberOf = ([uid, connections]) => makeMember(uid, connections)

/** @param {string[]} flat uid, id and body of each connection @returns {import('./contract.js').Member[]} */
function membersOf (flat) {
  /** @type {import('./contract.js').Member[]} */
  const members = []
  for (let at = 0; at < flat.length;) {
    const uid = flat[at]
    /** @type {[string, import('./member-view.js').Body][]} */
    const connections = []
    for (; flat[at] === uid; at += 3) connections.push([flat[at + 1], JSON.parse(flat[at + 2])])
    members.push(makeMember(uid, connections))
  }
  return members
}
