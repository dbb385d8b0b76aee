import { InkcastError } from '../errors.js'
import { toInkcastError } from '../redis/errors.js'
import { documentHolders, userHolders, workerUsers } from '../redis/keys.js'
import { slotOf } from '../redis/slot.js'
import { decodeUser, encodeUser } from './user-sessions.js'
import { liveIncarnations } from './worker-watch.js'

/** Changes in one call of the script, so that Redis does other things in between. */
const HOLD_BATCH = 200
/** Users written in one command. */
const WRITE_BATCH = 500
/** Users read at a time. */
const PAGE = 1000

/**
 * Sessions in Redis: contract.js.
 *
 * @param {object} dependencies
 * @param {import('../redis/client.js').RedisConnection} dependencies.redis
 * @returns {import('./contract.js').SessionStore}
 */
export function createRedisSessions ({ redis }) {
  const { client, scripts } = redis

  /**
   * @param {string} incarnation
   * @param {import('./contract.js').Change[]} changes
   * @param {string[]} keys
   * @param {number[]} indexes which of them
   * @param {import('./contract.js').Told[]} answers
   */
  async function holdSome (incarnation, changes, keys, indexes, answers) {
    /** @type {string[]} */
    const args = [incarnation]
    for (const index of indexes) {
      const { uid, guid, op, told, connections } = changes[index]
      args.push(guid === undefined ? '' : uid ?? '', op, told, connections === undefined ? '' : `=${connections}`)
    }
    const told = await scripts.hold(indexes.map((index) => keys[index]), args)
    told.forEach((answer, i) => { answers[indexes[i]] = answer })
  }

  /** @param {string} guid @returns {Promise<string[]>} names of who holds a document, with its connections: `<incarnation>=<count>` */
  async function holdersOf (guid) {
    return splitHolders(await client.hget(documentHolders(guid), ''))
  }

  /** @type {import('./contract.js').SessionStore} */
  const store = {
    async write (incarnation, users) {
      const key = workerUsers(incarnation)
      for (let at = 0; at < users.length; at += WRITE_BATCH) {
        /** @type {string[]} */
        const set = []
        /** @type {string[]} */
        const gone = []
        for (const [uid, user] of users.slice(at, at + WRITE_BATCH)) {
          if (user === null) gone.push(uid)
          else set.push(uid, encodeUser(user))
        }
        await Promise.all([set.length > 0 && client.hset(key, ...set), gone.length > 0 && client.hdel(key, ...gone)])
      }
    },

    async hold (incarnation, changes) {
      const keys = changes.map(({ uid, guid }) => guid === undefined ? userHolders(/** @type {string} */ (uid)) : documentHolders(guid))
      /** @type {Map<number, number[]>} */
      const bySlot = new Map()
      for (const [index, key] of keys.entries()) {
        const slot = redis.isCluster ? slotOf(key) : 0
        const indexes = bySlot.get(slot)
        if (indexes === undefined) bySlot.set(slot, [index])
        else indexes.push(index)
      }
      /** @type {import('./contract.js').Told[]} */
      const answers = Array(changes.length).fill('')
      const calls = []
      for (const indexes of bySlot.values()) {
        for (let at = 0; at < indexes.length; at += HOLD_BATCH) calls.push(holdSome(incarnation, changes, keys, indexes.slice(at, at + HOLD_BATCH), answers))
      }
      await Promise.all(calls)
      return answers
    },

    async* users (incarnation) {
      let cursor = '0'
      do {
        const [next, fields] = await client.hscan(workerUsers(incarnation), cursor, 'COUNT', PAGE)
        /** @type {[string, import('./contract.js').UserSessions][]} */
        const page = []
        for (let i = 0; i < fields.length; i += 2) page.push([fields[i], decodeUser(fields[i + 1])])
        if (page.length > 0) yield page
        cursor = next
      } while (cursor !== '0')
    },

    async forget (incarnation) { await client.unlink(workerUsers(incarnation)) },

    async sessions (uid) {
      const live = [...await liveIncarnations(redis, splitHolders(await client.hget(userHolders(uid), '')))]
      const found = await Promise.all(live.map((incarnation) => client.hget(workerUsers(incarnation), uid)))
      return found.flatMap((json, i) => json === null ? [] : decodeUser(json).sessions.map((session) => ({ ...session, worker: parseInt(live[i], 10) })))
    },

    async members (guid) {
      const entries = Object.entries(await client.hgetall(documentHolders(guid))).filter(([uid]) => uid !== '').map(([uid, entry]) => ({ uid, holders: splitHolders(entry) }))
      const live = await liveIncarnations(redis, new Set(entries.flatMap(({ holders }) => holders)))
      return entries.filter(({ holders }) => holders.some((holder) => live.has(holder))).map(({ uid }) => uid)
    },

    async connections (guid) {
      const counted = (await holdersOf(guid)).map((holder) => holder.split('='))
      const live = await liveIncarnations(redis, counted.map(([incarnation]) => incarnation))
      return counted.reduce((sum, [incarnation, count]) => live.has(incarnation) ? sum + Number(count) : sum, 0)
    }
  }
  return withInkcastErrors(store)
}

/** @param {string | null} entry @returns {string[]} */
const splitHolders = (entry) => (entry?.split('|')[2] ?? '').split(',').filter((holder) => holder !== '')

/** @param {import('./contract.js').SessionStore} store @returns {import('./contract.js').SessionStore} */
function withInkcastErrors ({ users, ...calls }) {
  const wrapped = Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, async (/** @type {any[]} */ ...args) => {
    try {
      return await /** @type {Function} */ (call)(...args)
    } catch (error) {
      throw error instanceof InkcastError ? error : toInkcastError(error)
    }
  }]))
  return { users, .../** @type {any} */ (wrapped) }
}
