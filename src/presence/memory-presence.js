import { workerOfSid } from '../wire/session-id.js'
import { EMPTY_TTL, LIST_AGAIN, MAX_CONNECTIONS, PAGE_BYTES } from './contract.js'
import { makeMember } from './member-view.js'

/**
 * The presence store of the embedded mode: within one process.
 *
 * @typedef {import('./contract.js').PresenceChange} PresenceChange
 * @typedef {import('./contract.js').Diff} Diff
 * @typedef {import('./contract.js').Member} Member
 * @typedef {{ id: string, uid: string, client: string, body: string, incarnation: string }} PresenceEntry
 * @typedef {{ incarnation: string, watched: Set<string>, tell: (guid: string, diff: Diff) => void }} Attached
 */

class Document {
  /** @type {Map<string, PresenceEntry>} by connection id */
  entries = new Map()
  /** @type {Map<string, Set<string>>} connections by user */
  users = new Map()
  /** Users in the order of pages; null: not sorted yet. @type {string[] | null} */
  sorted = null
  countOnly = false
  emptySince = 0
  /** @param {number} version */
  constructor (version) { this.version = version }

  /** @param {PresenceEntry} entry */
  set (entry) {
    this.entries.set(entry.id, entry)
    const ids = this.users.get(entry.uid)
    if (ids !== undefined) return void ids.add(entry.id)
    this.users.set(entry.uid, new Set([entry.id]))
    this.sorted = null
  }

  /** @param {PresenceEntry} entry */
  delete ({ id, uid }) {
    this.entries.delete(id)
    const ids = /** @type {Set<string>} */ (this.users.get(uid))
    ids.delete(id)
    if (ids.size > 0) return
    this.users.delete(uid)
    this.sorted = null
  }

  /** @param {string} uid of a member @returns {{ member: Member, bytes: number }} */
  member (uid) {
    const entries = [.../** @type {Set<string>} */ (this.users.get(uid))]
      .sort()
      .slice(0, MAX_CONNECTIONS)
      .map((id) => /** @type {PresenceEntry} */ (this.entries.get(id)))
    return {
      member: makeMember(uid, entries.map(({ id, body }) => [id, JSON.parse(body)])),
      bytes: entries.reduce((sum, { body }) => sum + body.length, 0)
    }
  }
}

/**
 * Shared by the stores of one process.
 *
 * @param {object} settings
 * @param {number} settings.maxMembers of a document; with more, diffs have only the count
 * @param {import('../common/clock.js').Clock} settings.clock
 */
export function createMemoryPresenceHub ({ maxMembers, clock }) {
  /** @type {Map<string, Document>} bounded by the documents that connections have open, or left within EMPTY_TTL */
  const documents = new Map()
  /** @type {Set<Attached>} */
  const stores = new Set()
  /** Versions begin with the time, and a document that is forgotten begins again: so this time never goes back. */
  const begin = clock.now() - clock.monotonic()
  /** @type {(() => void)[]} */
  let queue = []

  function drain () {
    const diffs = queue
    queue = []
    for (const tell of diffs) tell()
  }

  /** @param {string} guid @param {Diff} diff */
  function publish (guid, diff) {
    for (const store of stores) {
      if (!store.watched.has(guid)) continue
      if (queue.push(() => { if (store.watched.has(guid)) store.tell(guid, diff) }) === 1) clock.soon(drain)
    }
  }

  /** Removes documents that have been empty for EMPTY_TTL, as Redis does. */
  function sweep () {
    const before = clock.monotonic() - EMPTY_TTL * 1000
    for (const [guid, document] of documents)
      if (document.users.size === 0 && document.emptySince < before) documents.delete(guid)
  }
  let sweptAt = clock.monotonic()

  /**
   * @param {string} guid
   * @param {PresenceChange[]} changes
   * @param {string} incarnation of the worker that has these connections
   */
  function update (guid, changes, incarnation) {
    const known = documents.get(guid)
    const document = known ?? new Document(0)
    /** @type {Map<string, { before: boolean, gone: string[] }>} */
    const touched = new Map()
    /** @type {string[]} */
    const closed = []
    /** @type {string[]} */
    const removed = []
    /** @param {string} uid */
    const touch = (uid) => {
      let user = touched.get(uid)
      if (user === undefined) touched.set(uid, user = { before: document.users.has(uid), gone: [] })
      return user
    }
    /** @param {PresenceEntry} entry */
    const remove = (entry) => {
      touch(entry.uid).gone.push(entry.id)
      document.delete(entry)
      removed.push(entry.id)
    }
    for (const { op, id, uid, client, body } of changes) {
      const entry = document.entries.get(id)
      if (op === '-' || op === '~') {
        if (entry === undefined || (client !== '' && entry.incarnation !== client)) continue
        remove(entry)
        if (op === '-') closed.push(id)
        continue
      }
      if (entry !== undefined && entry.body === body && entry.incarnation === incarnation) continue
      touch(uid)
      if (op === '+' && client !== '') {
        for (const other of [...document.users.get(uid) ?? []]) {
          const theirs = /** @type {PresenceEntry} */ (document.entries.get(other))
          if (other !== id && theirs.client === client) remove(theirs)
        }
      }
      document.set({ id, uid, client, body, incarnation })
    }
    if (touched.size === 0) return

    /** @type {Pick<Diff, 'joined' | 'changed' | 'left' | 'closed' | 'removed'>} */
    const diff = { joined: [], changed: [], left: [], closed: [], removed }
    let before = document.users.size
    for (const [uid, user] of touched) {
      const now = document.users.has(uid)
      if (user.before && !now) before++
      if (!user.before && now) before--
      if (now) (user.before ? diff.changed : diff.joined).push(document.member(uid).member)
      else diff.left.push({ uid, ids: user.gone })
    }
    const gone = new Set(diff.left.flatMap(({ ids }) => ids))
    diff.closed = closed.filter((id) => !gone.has(id))

    const count = document.users.size
    const wasCountOnly = document.countOnly
    document.countOnly = count > maxMembers * (wasCountOnly ? LIST_AGAIN : 1)
    const kind = document.countOnly ? 'count' : wasCountOnly ? 'list' : 'diff'
    if (known === undefined) documents.set(guid, document)
    document.emptySince = clock.monotonic()
    if (sweptAt < clock.monotonic() - EMPTY_TTL * 1000) {
      sweptAt = clock.monotonic()
      sweep()
    }
    if (kind === 'count' && wasCountOnly && count === before && removed.length === 0) return
    const from = document.version
    document.version = from === 0 ? Math.floor(begin + clock.monotonic()) : from + 1
    publish(guid, {
      from,
      version: document.version,
      count,
      kind,
      ...(kind === 'diff' ? diff : { joined: [], changed: [], left: [], closed: [], removed })
    })
  }

  return {
    documents,
    update,
    /** @param {Attached} store */
    attach (store) { stores.add(store) },
    /** @param {Attached} store */
    detach (store) { stores.delete(store) }
  }
}

/**
 * @param {object} dependencies
 * @param {ReturnType<typeof createMemoryPresenceHub>} dependencies.hub
 * @param {number} [dependencies.workerNumber] undefined: this store only reads
 * @param {string} [dependencies.incarnation] of the worker number
 * @returns {import('./contract.js').PresenceStore}
 */
export function createMemoryPresence ({ hub, workerNumber, incarnation = '' }) {
  const { documents } = hub
  /** @type {import('./contract.js').PresenceHandlers | undefined} */
  let handlers
  /** @type {Attached} */
  const self = { incarnation, watched: new Set(), tell: (guid, diff) => handlers?.onDiff(guid, diff) }

  /** @param {(entry: PresenceEntry) => boolean} isLost */
  function lose (isLost) {
    for (const [guid, document] of documents) {
      const lost = [...document.entries.values()].filter(isLost)
      if (lost.length > 0)
        hub.update(
          guid,
          lost.map(({ id, uid, incarnation: theirs }) => ({ op: '~', id, uid, client: theirs, body: '' })),
          incarnation
        )
    }
  }

  return {
    async start (receivers) {
      handlers = receivers
      hub.attach(self)
      lose((entry) => workerOfSid(entry.id) === workerNumber && entry.incarnation !== incarnation)
    },
    async stop () { hub.detach(self) },
    async watch (guid) { self.watched.add(guid) },
    unwatch (guid) { self.watched.delete(guid) },
    async update (guid, changes) { hub.update(guid, changes, incarnation) },

    async page (guid, { after, limit }) {
      const document = documents.get(guid)
      if (document === undefined) return { version: 0, count: 0, countOnly: false, members: [] }
      const { version, countOnly, users } = document
      const uids = document.sorted ??= [...users.keys()].sort()
      const begin = after === undefined ? 0 : firstAfter(uids, after)
      /** @type {Member[]} */
      const members = []
      for (let bytes = 0, i = begin; i < uids.length && members.length < limit && bytes < PAGE_BYTES; i++) {
        const { member, bytes: more } = document.member(uids[i])
        members.push(member)
        bytes += more
      }
      const more = begin + members.length < uids.length
      return {
        version,
        count: users.size,
        countOnly,
        members,
        ...(more ? { cursor: members[members.length - 1].uid } : {})
      }
    },

    async versions (guids) { return guids.map((guid) => documents.get(guid)?.version ?? null) },

    async mine (guid) {
      return [...(documents.get(guid)?.entries.values() ?? [])]
        .filter(({ id }) => workerOfSid(id) === workerNumber)
        .map(({ id }) => id)
    },

    async forget (number, theirs) {
      lose((entry) => workerOfSid(entry.id) === number && entry.incarnation === theirs)
    }
  }
}

/** @param {string[]} sorted @param {string} value @returns {number} index of the first larger string */
function firstAfter (sorted, value) {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle] <= value) low = middle + 1
    else high = middle
  }
  return low
}
