import { pauseAfter, SHORTEST } from './cycle.js'
import { Membership } from './membership.js'
import { Merge } from './merge.js'
import { diffPayload, listPayload } from './payload.js'

/**
 * A document's members on one worker: what happens to them goes to the store, what the store tells goes to them, both
 * no more often than pauseAfter allows. While nothing happens it is a few words of memory.
 *
 * @typedef {import('./contract.js').Change} Change
 * @typedef {import('./contract.js').Diff} Diff
 * @typedef {import('./contract.js').Page} Page
 * @typedef {import('./membership.js').Participant} Participant
 * @typedef {import('./payload.js').Payload} Payload
 */

/**
 * What rooms share.
 * @typedef {object} RoomDependencies
 * @property {import('./contract.js').PresenceStore} store
 * @property {(guid: string, payload: Payload) => { bytes: number }} createDelivery what all members of a document are
 *   given; its bytes are known once somebody took it
 * @property {(room: Room) => void} onBusy it has something to do: `work` has to be called until it says false
 * @property {{ open: boolean, failed: (operation: string, error: unknown) => void, ok: () => void }} gate of the store
 * @property {() => number} now ms, monotonic
 * @property {number} maxMembers
 * @property {import('../metrics/metrics.js').Metrics} metrics
 */

/** Members in the answer to a join, and on a page by default. */
export const PAGE = 100
/** Changes in one call of the store, which may hold it up for others. */
const WRITE_BATCH = 500
/** Diffs kept aside while the list is read. */
const MAX_EARLY = 1000
/** Members who have gone that are kept to be told to a store that is away; with more, it is compared instead. */
const MAX_GONE = 1000
/** How long a page is kept for others who join, ms. */
const PAGE_TIME = 1000
/** How often a page is read again that is older than what members were told. */
export const READS = 3

/** What a room has while something happens in it. */
class Busy {
  /** To be written, by connection id. @type {Map<string, Change>} */
  pending = new Map()
  writing = false
  writeAt = 0
  /** To be told. @type {Merge | null} */
  out = null
  sendAt = 0
  /** Diffs that came while the list is being read. @type {Diff[] | null} */
  early = null
  /** @type {Promise<void> | null} */
  loading = null
  /** What was heard last may not be all: the list has to be read. */
  lost = false
  /** It has to be told as well. */
  tell = false
  /** The store may have other connections of this worker than there are. */
  unsure = false
  comparing = false
  /** For those who join. @type {Page | null} */
  page = null
  pageAt = 0
  /** @type {Promise<Page> | null} */
  reading = null
  /** Called when something was written, or could not be, or need not be any more. @type {(() => void)[]} */
  waiters = []

  get idle () {
    return this.pending.size === 0 && this.out === null && this.page === null && !this.lost && !this.unsure &&
      !this.writing && !this.comparing && this.loading === null && this.reading === null
  }
}

export class Room {
  /** @type {Membership[]} */
  members
  /** Of the last diff. */
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
  /** Nothing happens, so its version should be the store's. */
  get quiet () { return this.#busy === null }
  /** What members here have been told. */
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
    // an array that is pushed to has room for sixteen more
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

  /** @param {string} id @param {Change} change */
  #change (id, change) {
    const busy = this.#work()
    const { pending } = busy
    const before = pending.get(id)
    if (change.op === '=') {
      // it has not been written that it came, or was to be written that it left
      pending.set(id, before?.op === '+' ? { ...before, body: change.body } : change)
    } else if (change.op === '+') {
      pending.set(id, before === undefined ? change : { ...change, op: '=' })
    } else if (before?.op === '+') {
      pending.delete(id)
      // it may be that nothing else is to be written
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
    if (diff.version <= this.version) return
    if (diff.from !== this.version) return this.lose('gap')
    this.version = diff.version
    this.count = diff.count
    const busy = this.#work()
    busy.out ??= new Merge(diff.from)
    busy.out.add(diff)
    if (busy.out.size > 2 * this.#shared.maxMembers) busy.out.asList()
  }

  /** Who is here is not gone, whatever another worker believes. @param {string[]} removed */
  #keepMine (removed) {
    const ids = new Set(removed)
    for (const membership of this.members) if (ids.has(membership.id)) this.#restore(membership)
  }

  /**
   * The list has to be read and told, and what the store has of this worker to be compared.
   * @param {'gap' | 'silent' | 'interrupted'} reason
   */
  lose (reason) {
    const busy = this.#work()
    if (!busy.lost) this.#shared.metrics.presence_repairs.inc({ reason })
    busy.lost = busy.tell = busy.unsure = true
  }

  /** Does what is due. @param {number} now ms @returns {boolean} whether there is more to come */
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
      // what has happened since counts; of who came and left again it is not known whether it was written
      for (const change of changes.slice(written)) if (!busy.pending.has(change.id)) busy.pending.set(change.id, change)
    } finally {
      busy.writing = false
      busy.writeAt = now() + pauseAfter(this.count)
      // what was read before lacks it
      busy.page = busy.reading = null
      this.#wake(busy)
    }
  }

  /** Reads the list; diffs that come meanwhile are applied after it. @param {Busy} busy */
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
        this.version = page.version
        this.count = page.count
        busy.out = null
        busy.page = page
        busy.pageAt = now()
        if (busy.tell) this.#tell(busy, listPayload(this.guid, page))
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
        if (!there.delete(membership.id) && !busy.pending.has(membership.id)) this.#restore(membership)
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
   * Who joins where few are is answered when it is there for all workers. Where there are many it would have to wait
   * for too long, and who came last is told of a little later.
   * @param {Membership} membership
   */
  async written ({ id }) {
    const busy = this.#work()
    while (pauseAfter(this.count) <= SHORTEST && busy.pending.has(id) && this.#shared.gate.open)
      await this.#nextWrite(busy)
    while (busy.writing && pauseAfter(this.count) <= SHORTEST) await this.#nextWrite(busy)
  }

  /** Whoever waits looks again. @param {Busy} busy */
  #wake (busy) { for (const look of busy.waiters.splice(0)) look() }

  /** @param {Busy} busy @returns {Promise<void>} */
  #nextWrite (busy) { return new Promise((resolve) => { busy.waiters.push(resolve) }) }

  /**
   * The first members, not older than what members here were told, so that what they are told next comes after it.
   * @returns {Promise<Page>} rejects if the store cannot be read; the list is told when it can
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
      // the store has lost what it had: all of them are told the list
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
   * What is told to somebody who was not told everything.
   * @returns {Promise<Payload>}
   */
  async list () { return listPayload(this.guid, await this.page()) }

  /** @param {number} version of a page @returns {boolean} whether members here were told of a later one */
  isNewer (version) { return version < this.#sent }
}
