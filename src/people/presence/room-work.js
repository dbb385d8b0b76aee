/**
 * The work of a room: what is to be written, read, compared and sent. A quiet room has none of it.
 *
 * @typedef {import('./contract.js').PresenceChange} PresenceChange
 * @typedef {import('./contract.js').Page} Page
 * @typedef {'done' | 'due' | 'running' | 'again'} Task again: it is running, and due again after that
 */

/** @type {Record<Task, Task>} the state of a task that becomes due */
const DUE = { done: 'due', due: 'due', running: 'again', again: 'again' }
/** Diffs queued while the list is read. */
const MAX_EARLY = 1000
/** How long a page is shared by joins, ms. */
const PAGE_TIME = 1000

export class RoomWork {
  /** Reading the list: due while diffs may be missing, and before the document is watched. @type {Task} */
  list = 'done'
  /** Comparing this worker's connections with those in the store: due when they may differ. @type {Task} */
  comparison = 'done'
  /** Changes to write, by connection id. @type {Map<string, PresenceChange>} */
  pending = new Map()
  /** Connection ids of joins among them that may be written: the store has not confirmed it. @type {Set<string>} */
  #unsure = new Set()
  writing = false
  writeAt = 0
  /** The next diff to send. @type {import('./diff-merge.js').Merge | null} */
  out = null
  sendAt = 0
  /** Send the list when it is read. */
  tell = false
  /** Diffs that arrived while the list is being read. @type {import('./contract.js').Diff[]} */
  early = []
  /** The last reading of the list. */
  loading = Promise.resolve()
  /** The first page, shared by joins. @type {Page | null} */
  page = null
  #pageUntil = 0
  /** @type {Promise<Page> | null} */
  #reading = null
  /** Called after each write, successful or not, and when a write is no longer needed. @type {(() => void)[]} */
  #waiters = []

  get idle () {
    return this.pending.size === 0 && !this.writing && this.out === null && this.page === null &&
      this.#reading === null && this.list === 'done' && this.comparison === 'done'
  }

  /** Diffs may be missing, also of the list that is being read. */
  get isBehind () { return this.list === 'due' || this.list === 'again' }
  get isLoading () { return this.list === 'running' || this.list === 'again' }

  readList () { this.list = DUE[this.list] }

  compare () { this.comparison = DUE[this.comparison] }

  /** @param {'list' | 'comparison'} task that is running @param {boolean} failed it is due again */
  end (task, failed) { this[task] = failed || this[task] === 'again' ? 'due' : 'done' }

  /** @param {PresenceChange} change */
  change (change) {
    const { pending } = this
    const { op, id } = change
    const before = pending.get(id)
    if (op === '=') {
      // keep an unwritten join, with the new state; replace an unwritten departure
      pending.set(id, before?.op === '+' ? { ...before, body: change.body } : change)
    } else if (op === '+') {
      pending.set(id, before === undefined ? change : { ...change, op: '=' })
    } else if (before?.op === '+' && !this.#unsure.delete(id)) {
      pending.delete(id)
      // there may be nothing else to write
      this.wake()
    } else {
      pending.set(id, change)
    }
  }

  /** @returns {PresenceChange[]} the changes to write now */
  take () {
    const changes = [...this.pending.values()]
    this.pending.clear()
    this.#unsure.clear()
    return changes
  }

  /** @param {PresenceChange} change whose write has failed: a newer one wins */
  again (change) {
    if (this.pending.has(change.id)) return
    this.pending.set(change.id, change)
    if (change.op === '+') this.#unsure.add(change.id)
  }

  /** Compares with the store instead of keeping the departures to write. */
  dropDepartures () {
    for (const [id, { op }] of this.pending) if (op === '-' || op === '~') this.pending.delete(id)
    this.compare()
  }

  /** @param {import('./contract.js').Diff} diff that arrived while the list is being read */
  keepEarly (diff) {
    if (this.early.length < MAX_EARLY) this.early.push(diff)
    else this.readList()
  }

  /** @param {Page} page @param {number} now ms */
  sharePage (page, now) {
    this.page = page
    this.#pageUntil = now + PAGE_TIME
  }

  /** @param {number} now ms */
  expirePage (now) { if (now >= this.#pageUntil) this.page = null }

  /** Pages from before a write are outdated. */
  dropPages () { this.page = this.#reading = null }

  /**
   * @param {() => Promise<Page>} read
   * @param {() => number} now ms
   * @returns {Promise<Page>} shared by concurrent calls
   */
  readPage (read, now) {
    if (this.#reading !== null) return this.#reading
    const reading = this.#reading = read().then((page) => {
      if (this.#reading === reading) {
        this.#reading = null
        this.sharePage(page, now())
      }
      return page
    }, (error) => {
      if (this.#reading === reading) this.#reading = null
      this.readList()
      this.tell = true
      throw error
    })
    return reading
  }

  /** @returns {Promise<void>} */
  nextWrite () { return new Promise((resolve) => { this.#waiters.push(resolve) }) }

  /** Wakes the waiting joins. */
  wake () { for (const look of this.#waiters.splice(0)) look() }
}
