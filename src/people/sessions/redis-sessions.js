import { throwInkcastError, toInkcastError } from '../../redis/errors.js'
import { groupBySlot, slotIn } from '../../redis/hash-slot.js'
import { createRedisLists, UNCONFIRMED } from './redis-lists.js'
import { asSeen, decodeUser, encodeUser } from './user-encoding.js'
import { liveIncarnations } from '../workers/worker-watch.js'
import { isAnonymous } from '../auth/identity.js'

/** Maximum number of changes or users per call of a script, so that a call blocks Redis for a short time only. */
const HOLD_BATCH = 200
/** Entries of the list of a worker's documents per command. */
const LIST_BATCH = 1000
/** Maximum number of users per write command. */
const WRITE_BATCH = 500
/** Lifetime of the table of a worker's users, s: `write` and `seen` extend it; it expires if no process deletes it. */
const TTL = 86_400
/** How long it is known when a user was connected last, s. */
const LAST_SEEN_TTL = 86_400
/** Number of users per read. */
const PAGE = 1000
/** Field in the table of users: all of them were heard from at this time, or later. A uid is never empty. */
const SEEN = ''
/** The script's value for Told ''. */
const NOTHING = '.'

/**
 * @typedef {import('./contract.js').HoldingChange} HoldingChange
 * @typedef {import('./contract.js').Told} Told
 * @typedef {import('../../redis/client.js').RedisConnection} Redis
 */

/**
 * The session store in Redis (contract.js).
 *
 * @param {object} dependencies
 * @param {Redis} dependencies.redis
 * @param {boolean} [dependencies.services] whether there are business services that receive events; the same for all
 *   workers, default true
 * @returns {import('./contract.js').SessionStore}
 */
export function createRedisSessions ({ redis, services = true }) {
  const { client, keys } = redis

  /** @type {Omit<import('./contract.js').SessionStore, 'documents' | 'held' | 'session'>} */
  const store = {
    async write (incarnation, users) {
      const key = keys.workerUsers(incarnation)
      for (let at = 0; at < users.length; at += WRITE_BATCH) {
        /** @type {string[]} */
        const set = []
        /** @type {string[]} */
        const gone = []
        for (const [uid, user] of users.slice(at, at + WRITE_BATCH)) {
          if (user === null) gone.push(uid)
          else set.push(uid, encodeUser(user))
        }
        await Promise.all([
          set.length > 0 && client.hset(key, ...set),
          gone.length > 0 && client.hdel(key, ...gone),
          client.expire(key, TTL)
        ])
      }
    },

    async ended (users) {
      const named = users.filter(([uid]) => !isAnonymous(uid))
      const calls = groupBySlot(named, ([uid]) => slotIn(redis, keys.userSeen(uid)), HOLD_BATCH)
      const results = await resultsOf(calls, async (call) => {
        await redis.scripts.ended(
          call.map(([uid]) => keys.userSeen(uid)), [LAST_SEEN_TTL, ...call.map(([, time]) => Math.trunc(time))]
        )
        return []
      })
      return new Map([...results].flatMap(([[uid], error]) => error === undefined ? [] : [[uid, error]]))
    },

    async lastSeen (uid, device) {
      const found = await client.get(device === undefined ? keys.userSeen(uid) : keys.userDevice(uid, device))
      const time = device === undefined ? found : found?.split(' ')[2]
      return time == null ? null : Number(time)
    },

    async seen (incarnation, at) {
      const key = keys.workerUsers(incarnation)
      await Promise.all([
        client.hset(key, SEEN, at),
        client.expire(key, TTL),
        client.expire(keys.workerDocuments(incarnation), TTL)
      ])
    },

    hold: (incarnation, changes) => holdAll(redis, incarnation, services, changes),

    async* users (incarnation) {
      let cursor = '0'
      const seen = Number(await client.hget(keys.workerUsers(incarnation), SEEN))
      do {
        const [next, fields] = await client.hscan(keys.workerUsers(incarnation), cursor, 'COUNT', PAGE)
        /** @type {[string, import('./contract.js').UserSessions][]} */
        const page = []
        for (let i = 0; i < fields.length; i += 2) {
          if (fields[i] === SEEN) continue
          const user = decodeUser(fields[i + 1])
          page.push([fields[i], { ...user, sessions: asSeen(user.sessions, seen) }])
        }
        if (page.length > 0) yield page
        cursor = next
      } while (cursor !== '0')
    },

    async forget (incarnation) {
      await Promise.all([
        client.unlink(keys.workerUsers(incarnation)), client.unlink(keys.workerDocuments(incarnation))
      ])
    },

    async sessions (uid) {
      const live = [...await liveIncarnations(redis, splitHolders(await client.hget(keys.userHolders(uid), '')))]
      const found = await Promise.all(live.map((incarnation) => client.hmget(keys.workerUsers(incarnation), uid, SEEN)))
      return found.flatMap(([json, seen], i) =>
        json === null
          ? []
          : asSeen(decodeUser(json).sessions, Number(seen)).map((session) => ({
              ...session,
              worker: parseInt(live[i], 10)
            }))
      )
    }
  }
  return withInkcastErrors({ ...store, ...createRedisLists({ redis, users: store.users }) })
}

/**
 * @param {Redis} redis
 * @param {string} incarnation
 * @param {boolean} services
 * @param {HoldingChange[]} changes
 * @returns {Promise<(Told | Error)[]>}
 */
async function holdAll (redis, incarnation, services, changes) {
  const calls = groupBySlot(changes, (change) => slotIn(redis, holdersKey(redis.keys, change)), HOLD_BATCH)
  const opened = ofDocuments(changes, '+')
  const [answers, unlisted] = await Promise.all([
    resultsOf(calls, (call) => holdSome(redis, incarnation, services, call)),
    addToList(redis, incarnation, opened.map(({ guid }) => guid)).catch(toInkcastError)
  ])
  if (unlisted !== undefined) for (const change of opened) answers.set(change, unlisted)
  const closed = ofDocuments(changes, '-').filter((change) => !(answers.get(change) instanceof Error))
  // not before: a process that cleans up after this worker finds in the list what was not executed
  const stillListed = await listClosed(redis, incarnation, closed, answers).catch(toInkcastError)
  if (stillListed !== undefined) for (const change of closed) answers.set(change, stillListed)
  return changes.map((change) => /** @type {Told | Error} */ (answers.get(change)))
}

/**
 * @template T, R
 * @param {T[][]} calls one call of a script for each group
 * @param {(call: T[]) => Promise<R[]>} run
 * @returns {Promise<Map<T, R | Error>>} the result of each item, or the error of its call
 */
async function resultsOf (calls, run) {
  const results = await Promise.all(calls.map((call) => run(call).catch((error) => {
    const failure = toInkcastError(error)
    return call.map(() => failure)
  })))
  return new Map(calls.flatMap((call, i) => call.map((item, j) => [item, results[i][j]])))
}

/**
 * @param {Redis} redis
 * @param {string} incarnation
 * @param {boolean} services
 * @param {HoldingChange[]} changes of one call
 * @returns {Promise<Told[]>}
 */
async function holdSome ({ scripts, keys }, incarnation, services, changes) {
  const answers = await scripts.hold(changes.map((change) => holdersKey(keys, change)), [
    incarnation, services ? '1' : '0', ...changes.map(encodeChange)
  ])
  return changes.map((_, i) => answers[i] === NOTHING ? '' : /** @type {Told} */ (answers[i]))
}

/** @param {HoldingChange[]} changes @param {'+' | '-'} wanted @returns {(HoldingChange & { guid: string })[]} */
const ofDocuments = (changes, wanted) => /** @type {any} */ (
  changes.filter(({ uid, guid, op }) => uid === undefined && guid !== undefined && op === wanted))

/** @param {Redis} redis @param {string} incarnation @param {string[]} members of the list of its documents */
async function addToList ({ client, keys }, incarnation, members) {
  if (members.length === 0) return
  const key = keys.workerDocuments(incarnation)
  const added = batchesOf(members).map((some) => client.zadd(key, ...some.flatMap((member) => [0, member])))
  await Promise.all([...added, client.expire(key, TTL)])
}

/**
 * @param {Redis} redis
 * @param {string} incarnation
 * @param {(HoldingChange & { guid: string })[]} closed
 * @param {Map<HoldingChange, Told | Error>} answers
 */
async function listClosed (redis, incarnation, closed, answers) {
  if (closed.length === 0) return
  const [open, done] = [true, false].map((is) => closed.filter((change) => (answers.get(change) !== '') === is))
  await Promise.all([
    addToList(redis, incarnation, open.map(({ guid }) => UNCONFIRMED + guid)),
    ...batchesOf([...closed.map(({ guid }) => guid), ...done.map(({ guid }) => UNCONFIRMED + guid)])
      .map((some) => redis.client.zrem(redis.keys.workerDocuments(incarnation), some))
  ])
}

/** @param {string[]} members of one key; a worker that has ended may have had any number of documents */
const batchesOf = (members) => groupBySlot(members, () => 0, LIST_BATCH)

/** @param {Redis['keys']} keys @param {HoldingChange} change @returns {string} the hash of its entry */
const holdersKey = (keys, { uid, guid }) =>
  guid === undefined ? keys.userHolders(/** @type {string} */ (uid)) : keys.documentHolders(guid)

/** @param {HoldingChange} change @returns {string} as hold.lua reads it */
function encodeChange ({ uid, guid, op, told }) {
  const start = op + (told === '' ? NOTHING : told)
  return guid !== undefined && uid !== undefined ? `${start}:${uid}` : start
}

/** @param {string | null} entry @returns {string[]} */
const splitHolders = (entry) => (entry?.split('|')[2] ?? '').split(',').filter((holder) => holder !== '')

/** @param {import('./contract.js').SessionStore} store @returns {import('./contract.js').SessionStore} */
function withInkcastErrors ({ users, held, ...calls }) {
  const wrapped = Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [
      name,
      (/** @type {any[]} */ ...args) => /** @type {Function} */ (call)(...args).catch(throwInkcastError)
    ])
  )
  return { users, held, .../** @type {any} */ (wrapped) }
}
