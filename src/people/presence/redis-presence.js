import { InkcastError } from '../../base/common/errors.js'
import { LogLimit } from '../../base/common/log-limit.js'
import { createAttempt } from '../../redis/errors.js'
import { documentPresence, presenceForgotten, workerPresence, WORKERS } from '../../redis/keys.js'
import { groupBySlot, slotIn } from '../../redis/hash-slot.js'
import { prefixOfWorker } from '../../wire/session-id.js'
import { incarnationName, liveIncarnations } from '../workers/worker-watch.js'
import { EMPTY_TTL, LIST_AGAIN, MAX_CONNECTIONS, PAGE_BYTES } from './contract.js'
import { makeMember } from './member-view.js'

/**
 * The presence store over Redis 7 or Redis Cluster: per document a hash of its connections, their order, and a sharded
 * channel of its own, changed and published by one script. Per worker a set of the documents where it has connections,
 * for the worker that cleans up after its death.
 *
 * @typedef {import('./contract.js').PresenceStore} PresenceStore
 * @typedef {import('./contract.js').PresenceChange} PresenceChange
 * @typedef {{ id: string, incarnation: string }} Connection
 */

/** Expiry of documents, s; the idle check renews it long before. */
const TTL = 3600
/** The expiry is renewed for RENEW_FOR of every RENEW_EVERY, ms: longer than a cycle of the idle check. */
const RENEW_FOR = 30_000
const RENEW_EVERY = 600_000
/** Changes of a dead worker per call: a call blocks Redis for all clients. */
const LOST_BATCH = 500
/** Time that a worker has to clean up after a dead one before another worker does it as well, s. */
const FORGETTING = 4

/** @param {Pick<import('../../base/common/clock.js').Clock, 'soon'>} clock @returns {Promise<void>} */
const endOfTurn = (clock) => new Promise((resolve) => { clock.soon(() => resolve(undefined)) })

/**
 * @param {object} dependencies
 * @param {import('../../redis/client.js').RedisConnection} dependencies.redis started, and stopped after this
 * @param {number} dependencies.maxMembers of a document; with more, diffs have only the count
 * @param {number} [dependencies.workerNumber] undefined: this store only reads
 * @param {() => string} [dependencies.incarnation] current incarnation of the worker number
 *   (people/workers/worker-lease.js)
 * @param {Pick<import('../../observe/metrics/metrics.js').Metrics, 'presence_errors'>} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @returns {PresenceStore}
 */
export function createRedisPresence ({
  redis,
  maxMembers,
  workerNumber,
  incarnation = () => '',
  metrics, log, clock
}) {
  const { channels, scripts } = redis
  /** Bounded by the documents with members on this worker. @type {Map<string, (payload: Buffer) => void>} */
  const watched = new Map()
  /** Documents in this worker's set. @type {Set<string>} */
  const noted = new Set()
  /** Changes of the set to write. @type {Map<string, boolean>} */
  let notes = new Map()
  /** @type {Promise<void> | undefined} */
  let noting
  let running = false
  /** @type {import('./contract.js').PresenceHandlers | undefined} */
  let handlers
  const attempt = createAttempt({
    stopped: 'presence is stopped',
    isRunning: () => running,
    errors: metrics.presence_errors
  })
  const logLimit = new LogLimit({ clock })

  /** @param {string} guid @param {Buffer} payload */
  function receive (guid, payload) {
    try {
      const { joined = [], changed = [], left = [], closed = [], ...rest } = JSON.parse(payload.toString())
      handlers?.onDiff(guid, { ...rest, joined: joined.map(memberOf), changed: changed.map(memberOf), left, closed })
    } catch (error) {
      metrics.presence_errors.inc({ operation: 'receive' })
      if (logLimit.due()) log.error({ err: error }, 'the handler of a presence message failed')
    }
  }

  redis.onBack(() => {
    if (!running) return
    // Redis may have lost the set: `documents` writes it again, or the next update
    noted.clear()
    handlers?.onLost()
  })
  channels.onRestored((restored) => {
    if (!running || watched.size === 0) return
    const names = new Set(restored)
    const guids = [...watched.keys()].filter((guid) => names.has(documentPresence(guid)[3]))
    if (guids.length > 0) handlers?.onInterrupted(guids)
  })

  /**
   * Changes the set, in one batch per turn of the event loop.
   * @param {string} guid
   * @param {boolean} there
   */
  function note (guid, there) {
    notes.set(guid, there)
    return (noting ??= endOfTurn(clock).then(async () => {
      const batch = notes
      notes = new Map()
      noting = undefined
      const key = workerPresence(/** @type {number} */ (workerNumber))
      const [gone, come] = [false, true].map((there) =>
        [...batch].filter(([, is]) => is === there).map(([guid]) => guid)
      )
      await Promise.all([
        ...(gone.length > 0 ? [redis.client.srem(key, gone)] : []),
        ...(come.length > 0 ? [redis.client.sadd(key, come), redis.client.expire(key, TTL)] : [])
      ])
      for (const guid of come) noted.add(guid)
    }))
  }

  /** @param {string} guid @param {PresenceChange[]} changes */
  async function change (guid, changes) {
    await scripts.presence(documentPresence(guid), [
      maxMembers,
      LIST_AGAIN,
      MAX_CONNECTIONS,
      incarnation(),
      TTL,
      EMPTY_TTL,
      ...changes.flatMap(({ op, id, uid, client, body }) => [op, id, uid, client, body])
    ])
  }

  /**
   * @param {string} guid
   * @param {number} [number] of a worker; default: of all
   * @returns {Promise<Connection[]>}
   */
  async function connectionsOf (guid, number) {
    const prefix = number === undefined ? '' : prefixOfWorker(number)
    const found = await scripts.mine([documentPresence(guid)[0]], [prefix])
    return Array.from({ length: found.length / 2 }, (_, i) => ({ id: found[2 * i], incarnation: found[2 * i + 1] }))
  }

  /** Marks connections of dead workers as lost. @param {string} guid @param {Connection[]} lost */
  async function lose (guid, lost) {
    /** @type {Promise<void>[]} */
    const calls = []
    for (let at = 0; at < lost.length; at += LOST_BATCH) {
      calls.push(
        change(
          guid,
          lost
            .slice(at, at + LOST_BATCH)
            .map(({ id, incarnation }) => ({ op: '~', id, uid: '', client: incarnation, body: '' }))
        )
      )
    }
    await Promise.all(calls)
  }

  /**
   * @param {number} number of a dead worker
   * @param {(incarnation: string) => boolean} isGone
   * @returns {Promise<string[]>} the documents that were checked
   */
  async function loseAll (number, isGone) {
    const guids = await documentsOf(number)
    for (const guid of guids)
      await lose(guid, (await connectionsOf(guid, number)).filter(({ incarnation }) => isGone(incarnation)))
    return guids
  }

  /** @param {number} number of a worker @returns {Promise<string[]>} */
  const documentsOf = (number) => redis.client.smembers(workerPresence(number))

  /** @param {string[]} guids @returns {Promise<(string | null)[]>} */
  function readVersions (guids) {
    const renewing = clock.monotonic() % RENEW_EVERY < RENEW_FOR
    // after a failure the next call retries
    if (renewing && workerNumber !== undefined) redis.client.expire(workerPresence(workerNumber), TTL).catch(() => {})
    return scripts.versions(
      guids.flatMap((guid) => documentPresence(guid).slice(0, 3)),
      [renewing ? TTL : 0]
    )
  }

  return {
    async start (receivers) {
      handlers = receivers
      running = true
      if (workerNumber === undefined) return
      await attempt('forget', async () => {
        const left = await loseAll(workerNumber, (theirs) => theirs !== incarnation())
        if (left.length > 0) await redis.client.srem(workerPresence(workerNumber), left)
      })
    },

    async stop () {
      running = false
      for (const guid of watched.keys()) channels.unsubscribe(documentPresence(guid)[3])
    },

    watch: (guid) =>
      attempt('watch', async () => {
        const onMessage = (/** @type {Buffer} */ payload) => receive(guid, payload)
        watched.set(guid, onMessage)
        try {
          await channels.subscribe(documentPresence(guid)[3], onMessage)
        } catch (error) {
          if (watched.get(guid) === onMessage) unwatch(guid)
          throw error
        }
      }),

    unwatch,

    update: (guid, changes) =>
      attempt('update', async () => {
        // departures need no entry: the set may be on another node, which is down while this worker stops
        if (!noted.has(guid) && changes.some(({ op }) => op === '+' || op === '=')) await note(guid, true)
        await change(guid, changes)
      }),

    page: (guid, { after = '', limit }) =>
      attempt('page', async () => {
        const [connections, order, meta] = documentPresence(guid)
        const [version, count, countOnly, cursor, ...rest] = await scripts.members(
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
      }),

    versions: (guids) =>
      attempt('versions', async () => {
        const calls = groupBySlot(guids.keys(), (i) => slotIn(redis, documentPresence(guids[i])[0]))
        /** @type {(number | null)[]} */
        const versions = []
        await Promise.all(calls.map(async (places) => {
          const found = await readVersions(places.map((i) => guids[i]))
          places.forEach((place, i) => { versions[place] = numberOrNull(found[i]) })
        }))
        return versions
      }),

    mine: (guid) =>
      attempt('mine', async () =>
        (await connectionsOf(guid, /** @type {number} */ (workerNumber))).map(({ id }) => id)
      ),

    documents: () =>
      attempt('documents', async () => {
        const missing = [...watched.keys()].filter((guid) => !noted.has(guid))
        await Promise.all(missing.map((guid) => note(guid, true)))
        const guids = await documentsOf(/** @type {number} */ (workerNumber))
        for (const guid of guids) noted.add(guid)
        return guids
      }),

    sweep: () =>
      attempt('sweep', async () => {
        // a single Redis loses the members with the set
        if (!redis.isCluster) return
        const all = Object.entries(await redis.client.hgetall(WORKERS.incarnations))
        const known = new Set(all.map(([number, begun]) => incarnationName(Number(number), Number(begun))))
        if (!known.has(incarnation())) throw new InkcastError('unavailable', 'redis does not know all workers yet')
        for (const guid of watched.keys()) {
          const others = (await connectionsOf(guid)).filter((connection) => !known.has(connection.incarnation))
          const live = await liveIncarnations(redis, others.map((connection) => connection.incarnation))
          await lose(guid, others.filter((connection) => !live.has(connection.incarnation)))
        }
      }),

    forget: (number, gone, { surely = false } = {}) =>
      attempt('forget', async () => {
        const key = presenceForgotten(number, gone)
        // the key saves duplicate work; its holder may still fail or die
        if (!surely && (await redis.client.set(key, '1', 'EX', FORGETTING, 'NX')) === null) return
        try {
          // the set stays until it expires: the next process with this number may already use it
          await loseAll(number, (incarnation) => incarnation === gone)
        } catch (error) {
          await redis.client.del(key).catch(() => {}) // it expires
          throw error
        }
      })
  }

  /** @param {string} guid */
  function unwatch (guid) {
    if (!watched.delete(guid)) return
    channels.unsubscribe(documentPresence(guid)[3])
    if (noted.delete(guid) || notes.has(guid)) note(guid, false).catch(() => {}) // an extra entry only costs a check
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
