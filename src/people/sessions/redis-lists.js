import { workerOfSid } from '../../wire/session-id.js'
import { incarnationName } from '../workers/worker-watch.js'

/** Before the guid of a document that a worker has released while the report must be confirmed; guids have no such. */
export const UNCONFIRMED = '\0'
/** The first one that a guid can begin with, behind UNCONFIRMED. */
const FIRST = '\x01'
/** Number of documents per read. */
const PAGE = 1000

/** As Redis compares: by the bytes of UTF-8, and not by language. @param {string} a @param {string} b */
const isBefore = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0

/** @param {Iterable<string>} guids @param {number} limit @returns {string[]} the first ones in this order, each once */
const firstOf = (guids, limit) =>
  Array.from(new Set(guids), (guid) => Buffer.from(guid)).sort(Buffer.compare).slice(0, limit).map(String)

/**
 * Lookups of the session store that need no user: documents, and a connection by its id (contract.js).
 *
 * @param {object} dependencies
 * @param {Pick<import('../../redis/client.js').RedisConnection, 'client' | 'keys'>} dependencies.redis
 * @param {import('./contract.js').SessionStore['users']} dependencies.users
 * @returns {Pick<import('./contract.js').SessionStore, 'documents' | 'held' | 'session'>}
 */
export function createRedisLists ({ redis: { client, keys }, users }) {
  /** @param {string} guid @returns {Promise<import('./contract.js').OpenDocument>} */
  async function describe (guid) {
    const key = keys.documentHolders(guid)
    // the field '' is the document itself
    const [fields, own] = await Promise.all([client.hlen(key), client.hexists(key, '')])
    return { guid, members: fields - own }
  }

  return {
    async documents ({ prefix = '', after, limit }) {
      const incarnations = Object.entries(await client.hgetall(keys.workers.incarnations))
      const from = after !== undefined && !isBefore(after, prefix) ? `(${after}` : `[${prefix || FIRST}`
      // no byte of UTF-8 is as high
      const to = Buffer.concat([Buffer.from(`(${prefix}`), Buffer.of(0xff)])
      const lists = await Promise.all(incarnations.map(([number, incarnation]) =>
        client.zrangebylex(
          keys.workerDocuments(incarnationName(Number(number), Number(incarnation))), from, /** @type {any} */ (to),
          'LIMIT', 0, limit
        )
      ))
      return Promise.all(firstOf(lists.flat(), limit).map(describe))
    },

    async* held (incarnation) {
      const key = keys.workerDocuments(incarnation)
      for (let from = '-'; ;) {
        const found = await client.zrangebylex(key, from, '+', 'LIMIT', 0, PAGE)
        if (found.length > 0) yield found.map((member) => member.startsWith(UNCONFIRMED) ? member.slice(1) : member)
        if (found.length < PAGE) return
        from = `(${found.at(-1)}`
      }
    },

    async session (sid) {
      const worker = workerOfSid(sid)
      if (worker === undefined) return null
      const incarnation = await client.hget(keys.workers.incarnations, String(worker))
      if (incarnation === null) return null
      for await (const page of users(incarnationName(worker, Number(incarnation)))) {
        for (const [uid, { sessions }] of page) {
          const found = sessions.find((session) => session.sid === sid)
          if (found !== undefined) return { ...found, worker, uid }
        }
      }
      return null
    }
  }
}
