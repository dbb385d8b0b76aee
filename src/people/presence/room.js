import { pauseAfter, SHORTEST } from './pacing.js'
import { Merge } from './diff-merge.js'
import { Membership } from './membership.js'
import { diffPayload, listPayload } from './event-payload.js'
import { RoomWork } from './room-work.js'

/**
 * A document's members on one worker. Changes of the members are written to the store, and diffs of the store are sent
 * to the members, both in batches (pacing.js). A quiet room takes a few words of memory.
 *
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
/** Departures queued while the store is unavailable; beyond this, compare with the store instead. */
const MAX_GONE = 1000
/** Reads of a page until it is not older than what members have. */
export const READS = 3
/** Diffs that an answer has already are missing after this time, ms. */
const LATE = 1000

export class Room {
  /** @type {Membership[]} */
  members = []
  /** Version of the last diff. */
  version = 0
  /** Members on all workers. */
  count = 0
  /** The store's diffs arrive. */
  watched = false
  /** Version of the newest answer to a member: its diff may still be on its way. */
  #answered = 0
  /** Null: the room is quiet. @type {RoomWork | null} */
  #busy = null
  #shared

  /** @param {string} guid @param {RoomDependencies} shared */
  constructor (guid, shared) {
    this.guid = guid
    this.#shared = shared
  }

  get unused () { return this.members.length === 0 && this.#busy === null }
  /** A quiet room should have the store's version. */
  get quiet () { return this.#busy === null }
  /**
   * @param {number | null} version of the store, which forgets it when a document has no members
   * @returns {boolean} whether a quiet room and its members have it
   */
  isAt (version) {
    const isSame = version === this.version ||
      (version === null && this.count === 0 && this.members.every(({ watches }) => watches))
    return isSame && this.version >= this.#answered
  }

  /** The version of the last message to the members. */
  get #sent () { return this.#busy?.out?.from ?? this.version }

  #work () {
    if (this.#busy === null) {
      this.#busy = new RoomWork()
      this.#shared.onBusy(this)
    }
    return this.#busy
  }

  /**
   * @param {Participant} participant
   * @param {string} body
   * @param {boolean} [watches] without being in the list
   * @returns {Membership}
   */
  join (participant, body, watches = false) {
    const membership = new Membership(this, participant, body)
    membership.watches = watches
    // a literal, because the first push makes room for sixteen more
    if (this.members.length === 0) this.members = [membership]
    else membership.index = this.members.push(membership) - 1
    if (!this.watched) this.#work().readList()
    if (!watches) this.#change('+', membership)
    return membership
  }

  /** @param {Membership} membership @param {string} body */
  setState (membership, body) {
    if (membership.watches) return this.#list(membership, body)
    if (membership.body === body) return
    membership.body = body
    this.#restore(membership)
  }

  /** One that watches is in the list from now on. @param {Membership} membership @param {string} body */
  #list (membership, body) {
    membership.watches = false
    membership.body = body
    this.#change('+', membership)
  }

  /** Writes all of its members again. */
  renew () { for (const membership of this.members) this.#restore(membership) }

  /** @param {Membership} membership */
  #restore (membership) { if (!membership.watches) this.#change('=', membership) }

  /** @param {Membership} membership @param {'-' | '~'} op */
  leave (membership, op) {
    const { index } = membership
    const last = /** @type {Membership} */ (this.members.pop())
    if (last !== membership) {
      this.members[index] = last
      last.index = index
    }
    membership.participant = null
    // also without a change the room may be unused now
    if (membership.watches) return void this.#work()
    this.#change(op, { id: membership.id, uid: membership.uid, client: '', body: '' })
  }

  /** @param {'+' | '=' | '-' | '~'} op @param {{ id: string, uid: string, client: string, body: string }} of */
  #change (op, { id, uid, client, body }) {
    const busy = this.#work()
    busy.change({ op, id, uid, client, body })
    if (busy.pending.size > this.members.length + MAX_GONE) busy.dropDepartures()
  }

  /** @param {Diff} diff from the store */
  receive (diff) {
    if (this.#busy?.isLoading) return this.#busy.keepEarly(diff)
    if (diff.removed.length > 0) this.#keepMine(diff.removed)
    this.#removeLate(diff)
    // the next list has it; if Redis has lost its last writes, it may follow another version of that number
    if (this.#busy?.isBehind) return
    if (diff.version <= this.version) return
    if (diff.from !== this.version) return this.lose('gap')
    this.version = diff.version
    this.count = diff.count
    const busy = this.#work()
    if (busy.out === null) {
      busy.out = new Merge(diff.from)
      busy.sendAt = Math.max(busy.sendAt, this.#shared.now())
    }
    const { out } = busy
    out.add(diff)
    if (out.size > 2 * this.#shared.maxMembers) out.asList()
  }

  /**
   * Restores members of this worker that another worker removed by mistake. One whose connection is lost is not
   * restored: the same client has connected to the other worker.
   * @param {string[]} removed
   */
  #keepMine (removed) {
    const ids = new Set(removed)
    for (const membership of this.members)
      if (ids.has(membership.id) && membership.participant !== null) this.#restore(membership)
  }

  /**
   * Removes connections of this worker that have left: a network may deliver a write after a later one, on another
   * connection, has removed them.
   * @param {Diff} diff
   */
  #removeLate ({ joined, changed }) {
    /** @type {Map<string, import('./contract.js').PresenceChange>} */
    const late = new Map()
    for (const { id, connections = [{ id }] } of [...joined, ...changed]) {
      for (const connection of connections) {
        const removal = this.#shared.store.removalOf(connection.id)
        if (removal !== null) late.set(connection.id, removal)
      }
    }
    if (late.size === 0) return
    for (const membership of this.members) if (!membership.watches) late.delete(membership.id)
    for (const [id, removal] of late) if (!this.#busy?.pending.has(id)) this.#change('~', removal)
  }

  /**
   * Diffs were missed: read and send the list, and compare this worker's connections with the store.
   * @param {'gap' | 'silent' | 'interrupted'} reason
   */
  lose (reason) {
    const busy = this.#work()
    if (!busy.isBehind) this.#shared.metrics.presence_repairs.inc({ reason })
    busy.readList()
    busy.compare()
    busy.tell = true
  }

  /** Does the work that is due. @param {number} now ms @returns {boolean} whether more work will be due */
  work (now) {
    const busy = this.#busy
    if (busy === null) return false
    const { gate } = this.#shared
    if (gate.open) {
      if (busy.list === 'due') busy.loading = this.#load(busy)
      if (busy.comparison === 'due' && !busy.writing && !busy.isBehind) this.#compare(busy)
      if (busy.pending.size > 0 && !busy.writing && now >= busy.writeAt) this.#write(busy)
    }
    if (busy.out !== null && !busy.isLoading && now >= busy.sendAt) this.#send(busy, now)
    busy.expirePage(now)
    if (busy.idle && now >= busy.writeAt && now >= busy.sendAt) this.#busy = null
    return this.#busy !== null
  }

  /** @param {RoomWork} busy */
  async #write (busy) {
    const { store, gate, now } = this.#shared
    const changes = busy.take()
    busy.writing = true
    let written = 0
    try {
      for (; written < changes.length; written += WRITE_BATCH)
        await store.update(this.guid, changes.slice(written, written + WRITE_BATCH))
      gate.ok()
    } catch (error) {
      gate.failed('update', error)
      // newer changes win
      for (const change of changes.slice(written)) busy.again(change)
    } finally {
      busy.writing = false
      busy.writeAt = now() + pauseAfter(this.count)
      busy.dropPages()
      busy.wake()
    }
  }

  /** Reads the list; diffs that arrive meanwhile are applied after it. @param {RoomWork} busy */
  async #load (busy) {
    const { store, gate, now } = this.#shared
    busy.list = 'running'
    // a loss that is noticed while this is read concerns the next list
    const { tell } = busy
    busy.tell = false
    let failed = false
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
      this.#answered = 0
      this.count = page.count
      busy.out = null
      busy.sharePage(page, now())
      if (tell || isBehind) this.#tell(busy, listPayload(this.guid, page))
    } catch (error) {
      gate.failed('page', error)
      failed = busy.tell = true
    }
    busy.end('list', failed)
    const early = busy.early.splice(0)
    // after a failure they would only show a gap
    if (!busy.isBehind) for (const diff of early) this.receive(diff)
  }

  /** @param {RoomWork} busy */
  async #compare (busy) {
    const { store, gate } = this.#shared
    busy.comparison = 'running'
    let failed = false
    try {
      const there = new Set(await store.mine(this.guid))
      gate.ok()
      for (const membership of this.members) {
        if (!membership.watches) there.delete(membership.id)
        // the store may have an earlier state, if it has lost its last writes; a state that it has changes nothing
        if (!busy.pending.has(membership.id)) this.#restore(membership)
      }
      for (const id of there)
        if (!busy.pending.has(id)) busy.pending.set(id, { op: '~', id, uid: '', client: '', body: '' })
    } catch (error) {
      gate.failed('mine', error)
      failed = true
    }
    busy.end('comparison', failed)
  }

  /** @param {RoomWork} busy @param {number} now ms */
  #send (busy, now) {
    const out = /** @type {Merge} */ (busy.out)
    // a member has a later version: one message has everything up to it
    if (out.version < this.#answered) {
      if (now >= busy.sendAt + LATE) this.lose('gap')
      return
    }
    busy.out = null
    if (out.kind === 'list') {
      busy.readList()
      busy.tell = true
      return
    }
    if (busy.page !== null && busy.page.version < this.version) busy.page = null
    this.#tell(busy, diffPayload(this.guid, out))
  }

  /** @param {RoomWork} busy @param {Payload} payload */
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
      await busy.nextWrite()
    while (busy.writing && pauseAfter(this.count) <= SHORTEST) await busy.nextWrite()
  }

  /**
   * The first members, for an answer: not older than what members here have, and the next message follows it.
   * @returns {Promise<Page>} rejects if the store cannot be read; then the list is sent later
   */
  async page () {
    const busy = this.#work()
    if (busy.list !== 'done') {
      if (busy.list === 'due' && this.#shared.gate.open) busy.loading = this.#load(busy)
      await busy.loading
      if (busy.isBehind) {
        busy.tell = true
        throw new Error('the members cannot be read')
      }
    }
    const { store, now } = this.#shared
    for (let read = 1; ; read++) {
      const page = busy.page ?? await busy.readPage(() => store.page(this.guid, { limit: PAGE }), now)
      if (this.answer(page.version)) return page
      busy.page = null
      if (read < READS) continue
      // the store has lost data: send the list to all
      this.lose('gap')
      return page
    }
  }

  /** The list, for a member that missed messages. @returns {Promise<Payload>} */
  async list () { return listPayload(this.guid, await this.page()) }

  /**
   * @param {number} version of a page for an answer to a member
   * @returns {boolean} false: members here have a later one, so it is to be read again
   */
  answer (version) {
    if (version < Math.max(this.#sent, this.#answered)) return false
    this.#answered = version
    return true
  }
}
