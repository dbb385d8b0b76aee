import { firstOf, isBefore } from './guid-order.js'
import { asSeen } from './user-encoding.js'

/**
 * The session store of the embedded mode, in the memory of the only process (contract.js).
 *
 * @typedef {import('./contract.js').UserSessions} UserSessions
 * @typedef {import('./contract.js').Told} Told
 *
 * @typedef {object} StoredHolding of a user, a user in a document or a document
 * @property {Told} told
 * @property {string} teller
 * @property {Set<string>} holders
 */

/**
 * @param {object} [options]
 * @param {boolean} [options.services] whether there are business services that receive events; default true
 * @returns {import('./contract.js').SessionStore}
 */
export function createMemorySessions ({ services = true } = {}) {
  /** By incarnation; bounded by the number of connections. @type {Map<string, Map<string, UserSessions>>} */
  const workers = new Map()
  /** By incarnation. @type {Map<string, number>} */
  const seen = new Map()
  /** By user; bounded by the number of connections. @type {Map<string, StoredHolding>} */
  const users = new Map()
  /**
   * By document and user, '' for the document itself; bounded by the open documents of connections.
   * @type {Map<string, Map<string, StoredHolding>>}
   */
  const documents = new Map()

  /** @param {string} incarnation @param {import('./contract.js').HoldingChange} change @returns {Told} */
  function holdOne (incarnation, { uid = '', guid, op, told }) {
    const table = guid === undefined ? users : documents.get(guid) ?? new Map()
    const known = table.get(uid)
    const entry = known ?? { told: '0', teller: '', holders: new Set() }
    if (told !== '' && (entry.teller === incarnation || known === undefined)) {
      entry.told = told
      entry.teller = ''
    }
    if (op === '+') entry.holders.add(incarnation)
    if (op === '-') entry.holders.delete(incarnation)
    const held = entry.holders.size > 0 ? '1' : '0'
    if (!services) entry.told = held
    const answer = entry.teller === incarnation || (entry.teller === '' && held !== entry.told) ? held : ''
    if (answer !== '') entry.teller = incarnation
    if (held === '0' && entry.told === '0' && entry.teller === '') table.delete(uid)
    else table.set(uid, entry)
    if (guid !== undefined) {
      if (table.size > 0) documents.set(guid, table)
      else documents.delete(guid)
    }
    return answer
  }

  return {
    async write (incarnation, changed) {
      const table = workers.get(incarnation) ?? new Map()
      workers.set(incarnation, table)
      for (const [uid, user] of changed) {
        if (user === null) table.delete(uid)
        else table.set(uid, user)
      }
    },
    async seen (incarnation, at) {
      seen.set(incarnation, at)
    },
    hold: async (incarnation, changes) => changes.map((change) => holdOne(incarnation, change)),
    async* users (incarnation) {
      /** @type {[string, UserSessions][]} */
      const page = []
      for (const [uid, user] of workers.get(incarnation) ?? [])
        page.push([uid, { ...user, sessions: asSeen(user.sessions, seen.get(incarnation)) }])
      if (page.length > 0) yield page
    },
    async forget (incarnation) {
      workers.delete(incarnation)
      seen.delete(incarnation)
    },
    async sessions (uid) {
      const holders = [...(users.get(uid)?.holders ?? [])]
      return holders.flatMap((incarnation) => {
        const sessions = asSeen(workers.get(incarnation)?.get(uid)?.sessions ?? [], seen.get(incarnation))
        return sessions.map((session) => ({ ...session, worker: parseInt(incarnation, 10) }))
      })
    },
    async session (sid) {
      for (const [incarnation, table] of workers) {
        for (const [uid, { sessions }] of table) {
          const found = asSeen(sessions, seen.get(incarnation)).find((session) => session.sid === sid)
          if (found !== undefined) return { ...found, worker: parseInt(incarnation, 10), uid }
        }
      }
      return null
    },
    async documents ({ prefix = '', after, limit }) {
      const wanted = []
      for (const [guid, table] of documents)
        if (isHeld(table.get('')) && guid.startsWith(prefix) && (after === undefined || isBefore(after, guid)))
          wanted.push(guid)
      return firstOf(wanted, limit).map((guid) => {
        const table = /** @type {Map<string, StoredHolding>} */ (documents.get(guid))
        return { guid, members: table.size - 1 }
      })
    }
  }
}

/** @param {StoredHolding | undefined} holding */
const isHeld = (holding) => holding !== undefined && holding.holders.size > 0
