import { pauseAfter, SHORTEST } from './pacing.js'
import { Membership } from './membership.js'
import { Merge } from './diff-merge.js'
import { diffPayload, listPayload } from './event-payload.js'

/**
 * A document's members on one worker. Changes of the members are written to the store, and diffs of the store are sent
 * to the members, both in batches (pacing.js). A quiet room takes a few words of memory.
 *
 * @typedef {import('./contract.js').PresenceChange} PresenceChange
 * @typedef {import('./contract.js').Diff} Diff
 * @typedef {import('./contract.js').Page} Page
 * @typedef {import('./membership.js').Participant} Participant
 * @typedef {import('./event-payload.js').Payload} Payload
 */

/**
 * Shared by all rooms.
 * @typedef {object} RoomDependencies
 * @property {import('./contract.js').PresenceStore} store
 * @property {(guid: string, payload: Payload) => { bytes: number }} createDelivery one for all members of a document;
 *   its bytes are known after the first delivery
 * @property {(room: Room) => void} onBusy the room has work: call `work` until it returns false
 * @property {{ open: boolean, failed: (operation: string, error: unknown) => void, ok: () => void }} gate of the store
 * @property {() => number} now ms, monotonic
 * @property {number} maxMembers
 * @property {import('../../observe/metrics/metrics.js').Metrics} metrics
 */

/** Members in the answer to a join, and on a page by default. */
export const PAGE = 100
/** Changes in one call of the store, which blocks it for others. */
const WRITE_BATCH = 500
/** Diffs queued while the list is read. */
const MAX_EARLY = 1000
/** Departures queued while the store is unavailable; beyond this, compare with the store instead. */
const MAX_GONE = 1000
/** How long a page is shared by joins, ms. */
const PAGE_TIME = 1000
/** Reads of a page until it is not older than the last diff that members got. */
export const READS = 3

/** State of a room with work to do. */
class Busy {
  /** Changes to write, by connection id. @type {Map<string, PresenceChange>} */
  pending = new Map()
  writing = false
  writeAt = 0
  /** The next diff to send. @type {Merge | null} */
  out = null
  sendAt = 0
  /** Diffs that arrived while the list is being read. @type {Diff[] | null} */
  early = null
  /** @type {Promise<void> | null} */
  loading = null
  /** Diffs may be missing: read the list. */
  lost = false
  /** Send the list as well. */
  tell = false
  /** The store's connections of this worker may differ from the real ones. */
  unsure = false
  comparing = false
  /** The first page, shared by joins. @type {Page | null} */
  page = null
  pageAt = 0
  /** @type {Promise<Page> | null} */
  reading = null
  /** Called after each write, successful or not, and when a write is no longer needed. @type {(() => void)[]} */
  waiters = []

  get idle () {
    return this.pending.size === 0 && this.out === null && this.page === null && !this.lost && !this.unsure &&
      !this.writing && !this.comparing && this.loading === null && this.reading === null
  }
}

export class Room {
  /** @type {Membership[]} */
  members
  /** Version of the last diff. */
  version = 0
  count = 0
  watched = false
  /** @type {Busy | null} */
  #busy = null
  #shared

  /** @param {string} guid @param {RoomDependencies} shared */
  constructor (guid, shared) {
    this.guid = guid
    this.#shared = shared
    this.members = []
  }

  get unused () { return this.members.length === 0 && this.#busy === null }
  /** A quiet room should have the store's version. */
  get quiet () { return this.#busy === null }
  /** The version of the last message to the members. */
  get #sent () { return this.#busy?.out?.from ?? this.version }

  #work () {
    if (this.#busy === null) {
      this.#busy = new Busy()
      this.#shared.onBusy(this)
    }
    return this.#busy
  }

  /** @param {Participant} participant @param {string} body @returns {Membership} */
  join (participant, body) {
    const membership = new Membership(this, participant, body)
    // a literal, because the first push makes room for sixteen more
    if (this.members.length === 0) this.members = [membership]
    else membership.index = this.members.push(membership) - 1
    if (!this.watched) this.#work().lost = true
    this.#change(membership.id, { op: '+', id: membership.id, uid: membership.uid, client: membership.client, body })
    return membership
  }

  /** @param {Membership} membership @param {string} body */
  setState (membership, body) {
    if (membership.body === body) return
    membership.body = body
    this.#restore(membership)
  }

  /** Writes all of its members again. */
  renew () { for (const membership of this.members) this.#restore(membership) }

  /** @param {Membership} membership */
  #restore ({ id, uid, client, body }) { this.#change(id, { op: '=', id, uid, client, body }) }

  /** @param {Membership} membership @param {'-' | '~'} op */
  leave (membership, op) {
    const { id, uid, index } = membership
    const last = /** @type {Membership} */ (this.members.pop())
    if (last !== membership) {
      this.members[index] = last
      last.index = index
    }
    membership.participant = null
    this.#change(id, { op, id, uid, client: '', body: '' })
  }

  /** @param {string} id @param {PresenceChange} change */
  #change (id, change) {
    const busy = this.#work()
    const { pending } = busy
    const before = pending.get(id)
    if (change.op === '=') {
      // keep an unwritten join, with the new state; replace an unwritten departure
      pending.set(id, before?.op === '+' ? { ...before, body: change.body } : change)
    } else if (change.op === '+') {
      pending.set(id, before === undefined ? change : { ...change, op: '=' })
    } else if (before?.op === '+') {
      pending.delete(id)
      // there may be nothing else to write
      this.#wake(busy)
    } else {
      pending.set(id, change)
    }
    if (pending.size <= this.members.length + MAX_GONE) return
    for (const [id, { op }] of pending) if (op === '-' || op === '~') pending.delete(id)
    busy.unsure = true
  }

  /** @param {Diff} diff from the store */
  receive (diff) {
    if (this.#busy?.early) {
      if (this.#busy.early.length < MAX_EARLY) this.#busy.early.push(diff)
      else this.#busy.lost = true
      return
    }
    if (diff.removed.length > 0) this.#keepMine(diff.removed)
    // the next list has it; if Redis has lost its last writes, it may follow another version of that number
    if (this.#busy?.lost) return
    if (diff.version <= this.version) return
    if (diff.from !== this.version) return this.lose('gap')
    this.version = diff.version
    this.count = diff.count
    const busy = this.#work()
    busy.out ??= new Merge(diff.from)
    busy.out.add(diff)
    if (busy.out.size > 2 * this.#shared.maxMembers) busy.out.asList()
  }

  /** Restores members of this worker that another worker removed by mistake. @param {string[]} removed */
  #keepMine (removed) {
    const ids = new Set(removed)
    for (const membership of this.members) if (ids.has(membership.id)) this.#restore(membership)
  }

  /**
   * Diffs were missed: read and send the list, and compare this worker's connections with the store.
   * @param {'gap' | 'silent' | 'interrupted'} reason
   */
  lose (reason) {
    const busy = this.#work()
    if (!busy.lost) this.#shared.metrics.presence_repairs.inc({ reason })
    busy.lost = busy.tell = busy.unsure = true
  }

  /** Does the work that is due. @param {number} now ms @returns {boolean} whether more work will be due */
  work (now) {
    const busy = this.#busy
    if (busy === null) return false
    const { gate } = this.#shared
    if (gate.open) {
      if (busy.lost && busy.loading === null) this.#load(busy)
      if (busy.unsure && !busy.comparing && !busy.writing && !busy.lost) this.#compare(busy)
      if (busy.pending.size > 0 && !busy.writing && now >= busy.writeAt) this.#write(busy)
    }
    if (busy.out !== null && busy.loading === null && now >= busy.sendAt) this.#send(busy)
    if (busy.page !== null && now >= busy.pageAt + PAGE_TIME) busy.page = null
    if (busy.idle && now >= busy.writeAt && now >= busy.sendAt) this.#busy = null
    return this.#busy !== null
  }

  /** @param {Busy} busy */
  async #write (busy) {
    const { store, gate, now } = this.#shared
    const changes = [...busy.pending.values()]
    busy.pending.clear()
    busy.writing = true
    let written = 0
    try {
      for (; written < changes.length; written += WRITE_BATCH)
        await store.update(this.guid, changes.slice(written, written + WRITE_BATCH))
      gate.ok()
    } catch (error) {
      gate.failed('update', error)
      // newer changes win; whether a join was written before the failure is unknown
      for (const change of changes.slice(written)) if (!busy.pending.has(change.id)) busy.pending.set(change.id, change)
    } finally {
      busy.writing = false
      busy.writeAt = now() + pauseAfter(this.count)
      // pages from before the write are outdated
      busy.page = busy.reading = null
      this.#wake(busy)
    }
  }

  /** Reads the list; diffs that arrive meanwhile are applied after it. @param {Busy} busy */
  #load (busy) {
    const { store, gate, now } = this.#shared
    busy.lost = false
    busy.early = []
    busy.loading = (async () => {
      try {
        if (!this.watched) {
          await store.watch(this.guid)
          this.watched = true
        }
        const page = await store.page(this.guid, { limit: PAGE })
        gate.ok()
        // changes that members do not have are in the list, and no message follows it: also without a loss
        const isBehind = this.version !== 0 && page.version !== this.#sent
        this.version = page.version
        this.count = page.count
        busy.out = null
        busy.page = page
        busy.pageAt = now()
        if (busy.tell || isBehind) this.#tell(busy, listPayload(this.guid, page))
        busy.tell = false
      } catch (error) {
        gate.failed('page', error)
        busy.lost = busy.tell = true
      } finally {
        busy.loading = null
        const early = busy.early ?? []
        busy.early = null
        // after a failure they would only show a gap
        if (!busy.lost) for (const diff of early) this.receive(diff)
      }
    })()
  }

  /** @param {Busy} busy */
  async #compare (busy) {
    const { store, gate } = this.#shared
    busy.comparing = true
    busy.unsure = false
    try {
      const there = new Set(await store.mine(this.guid))
      gate.ok()
      for (const membership of this.members) {
        there.delete(membership.id)
        // the store may have an earlier state, if it has lost its last writes; a state that it has changes nothing
        if (!busy.pending.has(membership.id)) this.#restore(membership)
      }
      for (const id of there)
        if (!busy.pending.has(id)) busy.pending.set(id, { op: '~', id, uid: '', client: '', body: '' })
    } catch (error) {
      gate.failed('mine', error)
      busy.unsure = true
    } finally {
      busy.comparing = false
    }
  }

  /** @param {Busy} busy */
  #send (busy) {
    const out = /** @type {Merge} */ (busy.out)
    if (out.kind === 'list') {
      busy.lost = busy.tell = true
      busy.out = null
      return
    }
    busy.out = null
    if (busy.page !== null && busy.page.version < this.version) busy.page = null
    this.#tell(busy, diffPayload(this.guid, out))
  }

  /** @param {Busy} busy @param {Payload} payload */
  #tell (busy, payload) {
    const { createDelivery, now, metrics } = this.#shared
    const delivery = createDelivery(this.guid, payload)
    let told = 0
    for (const { participant } of this.members) {
      if (participant === null) continue
      participant.deliver(delivery)
      told++
    }
    const kind = payload.members ? 'list' : payload.countOnly ? 'count' : 'diff'
    metrics.presence_messages.inc({ kind }, told)
    busy.sendAt = now() + pauseAfter(this.count, delivery.bytes)
  }

  /**
   * Resolves when the answer to a join may be sent. In a small document that is after the join was written for all
   * workers. In a large one the write comes too late; the client gets the newest members with the next batch.
   * @param {Membership} membership
   */
  async written ({ id }) {
    const busy = this.#work()
    while (pauseAfter(this.count) <= SHORTEST && busy.pending.has(id) && this.#shared.gate.open)
      await this.#nextWrite(busy)
    while (busy.writing && pauseAfter(this.count) <= SHORTEST) await this.#nextWrite(busy)
  }

  /** Wakes the waiting joins. @param {Busy} busy */
  #wake (busy) { for (const look of busy.waiters.splice(0)) look() }

  /** @param {Busy} busy @returns {Promise<void>} */
  #nextWrite (busy) { return new Promise((resolve) => { busy.waiters.push(resolve) }) }

  /**
   * The first members, not older than the last message to members here, so that the next message follows it.
   * @returns {Promise<Page>} rejects if the store cannot be read; then the list is sent later
   */
  async page () {
    const busy = this.#work()
    if (busy.lost || busy.loading !== null) {
      if (busy.loading === null && this.#shared.gate.open) this.#load(busy)
      await busy.loading
      if (busy.lost) {
        busy.tell = true
        throw new Error('the members cannot be read')
      }
    }
    for (let read = 1; ; read++) {
      const page = busy.page ?? await (busy.reading ?? this.#read(busy))
      if (page.version >= this.#sent) return page
      busy.page = null
      if (read < READS) continue
      // the store has lost data: send the list to all
      this.lose('gap')
      return page
    }
  }

  /** @param {Busy} busy */
  #read (busy) {
    const reading = busy.reading = this.#shared.store.page(this.guid, { limit: PAGE }).then((page) => {
      if (busy.reading === reading) {
        busy.reading = null
        busy.page = page
        busy.pageAt = this.#shared.now()
      }
      return page
    }, (error) => {
      if (busy.reading === reading) busy.reading = null
      busy.lost = busy.tell = true
      throw error
    })
    return reading
  }

  /**
   * The list, for a member that missed messages.
   * @returns {Promise<Payload>}
   */
  async list () { return listPayload(this.guid, await this.page()) }

  /** @param {number} version of a page @returns {boolean} whether members here got a later one */
  isNewer (version) { return version < this.#sent }
}
