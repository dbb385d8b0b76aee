/**
 * One light client: it connects, joins its documents, acknowledges what the server asks it to, and checks that no
 * record is missing. A stock client would use several times the CPU of the server.
 */
import { LINKS } from './link.js'
import { preciseNow } from './packets.js'

/**
 * @typedef {import('./websocket.js').Target} Target
 * @typedef {import('./packets.js').LoadRecord} LoadRecord
 *
 * @typedef {object} Member
 * @property {string} [token]
 * @property {string} [source] local address
 * @property {string} id its own in this run
 * @property {boolean} msgpack
 * @property {boolean} polling
 * @property {Map<string, number>} documents their numbers by guid
 *
 * @typedef {object} Counts of all clients of a process
 * @property {number} deliveries
 * @property {number} doubled
 * @property {number} holes records of documents that were skipped
 * @property {number} acknowledged receipts that were answered
 * @property {number} cut records to everyone that were on their way when a connection broke
 * @property {number} unasked records to everyone without the receipt that was requested
 *
 * @typedef {object} Scene what the clients of a process share
 * @property {string} run
 * @property {Target} target
 * @property {Pick<import('./plan.js').Plan, 'protocol' | 'receipts' | 'resume' | 'everyone'>} plan
 * @property {Counts} counts
 * @property {(ms: number) => void} onLatency
 * @property {(client: LoadClient) => void} onOpen
 * @property {(client: LoadClient, reason: string, wasOpen: boolean) => void} onEnd not after `leave`
 *
 * @typedef {'closed' | 'connecting' | 'joining' | 'open'} State
 */

export class LoadClient {
  /** @type {State} */
  state = 'closed'
  /** Pings are not answered any more, or not sent. */
  silent = false
  /** It was open before, so that a new connection is a reconnect. */
  known = false
  /**
   * By guid; without a position the client joins where the log ends.
   * @type {Map<string, { epoch: string, offset: number }>}
   */
  positions = new Map()
  /** ms after which the server removes it when it is silent */
  patience = 0
  /** Number of the first record to everyone that was published while it was open. */
  #first = Infinity
  /** Numbers of those that have not arrived. @type {Set<number>} */
  #due = new Set()
  /** @type {Set<string>} */
  #joining = new Set()
  /** @type {import('./link.js').Session} */
  #session = { subscribed: false }
  #scene
  #member
  /** @type {import('./link.js').Link | undefined} */
  #link
  /** ms since 1970; earlier records come from the log. */
  #openedAt = 0

  /** @param {Scene} scene @param {Member} member */
  constructor (scene, member) {
    this.#scene = scene
    this.#member = member
  }

  connect () {
    const { target, plan: { protocol, resume, everyone } } = this.#scene
    const { documents, ...member } = this.#member
    const guids = [...documents.keys()]
    const session = this.#session
    this.state = 'connecting'
    this.#first = Infinity
    this.#due.clear()
    this.#joining = new Set(guids)
    const positionOf = (/** @type {string} */ guid) => this.positions.get(guid)
    this.#link = LINKS[protocol](
      { ...member, target, resume, everyone: everyone > 0, documents: guids, positionOf, session }, this.#events)
  }

  /** @type {import('./link.js').Events} */
  #events = {
    onConnected: (patience) => {
      this.patience = patience
      this.state = 'joining'
      this.#opened()
    },
    onJoined: (guid) => {
      this.#joining.delete(guid)
      this.#opened()
    },
    onPosition: (guid, position) => this.#skipTo(guid, position),
    onRecord: (record) => this.#record(record),
    onEnd: (reason) => this.#end(reason)
  }

  /** Disconnects on purpose. @param {boolean} resume keep the positions */
  leave (resume) {
    this.state = 'closed'
    this.#link?.close(resume)
    if (!resume) this.positions.clear()
  }

  /** @param {string} reason */
  fail (reason) {
    this.#link?.close(true)
    this.#end(reason)
  }

  silence () {
    this.silent = true
    this.#link?.silence()
  }

  /**
   * Does what editors do: sends a signal to its document, and opens one of its own for a moment, with presence, to
   * which it sends an edit. The answers are not checked here: the server counts its errors by event.
   * @param {string} own id of that document, new each time
   */
  act (own) {
    const link = this.#link
    /** @param {string} event @param {object} data */
    const emit = (event, data) => link?.emit(event, data)
    const [guid] = this.#member.documents.keys()
    emit('doc:signal', { guid, event: 'cursor', data: { own } })
    emit('doc:join', { guid: own, state: { name: own } })
    const later = (/** @type {number} */ ms, /** @type {string} */ event, /** @type {object} */ data) => {
      setTimeout(() => {
        if (link === this.#link && this.state === 'open') emit(event, data)
      }, ms).unref()
    }
    later(ACT / 2, 'doc:send', { guid: own, data: { own } })
    later(ACT, 'doc:leave', { guid: own })
  }

  /** A record to everyone is about to be published. @param {number} number */
  expect (number) {
    this.#first = Math.min(this.#first, number)
    this.#due.add(number)
  }

  /** Records to everyone that have not arrived. */
  get outstanding () { return this.#due.size }

  /**
   * @param {number[]} ends number of records of each document
   * @returns {number} records of its documents that are in the log although no service published them
   */
  surplus (ends) {
    let surplus = 0
    for (const [guid, document] of this.#member.documents)
      surplus += Math.max(0, (this.positions.get(guid)?.offset ?? 0) - ends[document])
    return surplus
  }

  /**
   * @param {number[]} ends number of records of each document
   * @returns {number} records of its documents that have not arrived
   */
  missing (ends) {
    let missing = 0
    for (const [guid, document] of this.#member.documents)
      missing += Math.max(0, ends[document] - (this.positions.get(guid)?.offset ?? 0))
    return missing
  }

  /** @param {string} reason */
  #end (reason) {
    if (this.state === 'closed') return
    const wasOpen = this.state === 'open'
    // records to everyone are not resumed: it cannot be known whether the server sent them
    this.#scene.counts.cut += this.outstanding
    this.#due.clear()
    this.state = 'closed'
    this.#scene.onEnd(this, reason, wasOpen)
  }

  #opened () {
    if (this.state !== 'joining' || this.#joining.size > 0) return
    this.state = 'open'
    this.#openedAt = preciseNow()
    this.#scene.onOpen(this)
  }

  /** @param {LoadRecord} record */
  #record ({ run, number, at, document, offset, ack }) {
    const { counts, onLatency, plan: { receipts } } = this.#scene
    if (ack !== undefined) {
      this.#link?.acknowledge(ack)
      counts.acknowledged++
    }
    if (run !== this.#scene.run) return
    const fresh = document === -1 ? this.#everyone(number) : this.#document(run, document, offset)
    if (!fresh) return
    counts.deliveries++
    if (document === -1 && receipts && ack === undefined) counts.unasked++
    if (this.state === 'open' && at >= this.#openedAt) onLatency(preciseNow() - at)
  }

  /** @param {number} number @returns {boolean} the record is expected, and no duplicate */
  #everyone (number) {
    // published before this client was open
    if (number < this.#first) return false
    const isDue = this.#due.delete(number)
    if (!isDue) this.#scene.counts.doubled++
    return isDue
  }

  /** @param {string} run @param {number} document @param {number | undefined} offset */
  #document (run, document, offset) {
    const position = this.positions.get(guidOf(run, document))
    if (position === undefined || offset === undefined) return true
    if (offset <= position.offset) {
      this.#scene.counts.doubled++
      return false
    }
    this.#scene.counts.holes += offset - position.offset - 1
    position.offset = offset
    return true
  }

  /** @param {string} guid @param {import('./link.js').Position} position */
  #skipTo (guid, { epoch, offset }) {
    const position = this.positions.get(guid)
    this.#scene.counts.holes += Math.max(0, offset - (position?.offset ?? offset))
    this.positions.set(guid, { epoch, offset: Math.max(offset, position?.offset ?? 0) })
  }
}

/** Time that a client has a document of its own open, ms. */
const ACT = 1000

/** @param {string} run @param {number} document @returns {string} an id of this run only, so its offsets begin at 1 */
export const guidOf = (run, document) => `load-${run}-${document}`
