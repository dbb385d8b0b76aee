import { clock } from '../common/clock.js'
import { interval } from '../common/interval.js'
import { delayAfter } from '../connection/delay.js'
import { clone } from '../common/clone.js'
import { ClientError, closedError } from '../common/error.js'
import { randomId } from '../common/random-id.js'
import { throwIfAborted } from '../common/within.js'
import { InFlight } from './in-flight.js'

/**
 * The queued edits of one user in one document: first those that other pages left behind (a reload, a crash), queue by
 * queue in the order in which the pages were opened, then this page's own. Each queue keeps its id and numbers, by
 * which the gateway recognizes what it has accepted.
 *
 * @typedef {import('./contract.js').Stored} Stored
 * @typedef {import('./contract.js').Store} Store
 * @typedef {import('./contract.js').Lock} Lock
 * @typedef {import('./contract.js').QueueEvents} QueueEvents
 *
 * @typedef {object} Edit
 * @property {Stored} stored
 * @property {import('../types.js').QueuedSend} shown
 * @property {boolean} ready whether it is in the store
 * @property {boolean} sent over this connection, and not answered yet
 * @property {Promise<void>} [marked] resolves when the store has its mark `cut`
 * @property {(answer: { traceId?: string }) => void} resolve
 * @property {(error: ClientError) => void} reject
 *
 * @typedef {{ id: string, edits: Edit[] }} Lane
 */

/** Maximum edits of a page and document that wait. */
const MAX_WAITING = 10_000
/** Edits that are sent without waiting for the answer to the first of them. */
const IN_FLIGHT = 16
/** Time between two looks for edits of pages that have ended, while there is a connection, ms. */
const LOOK = 30_000

/** A Queue (contract.js). */
export class DocumentQueue {
  #key
  #store
  #lock
  #inFlight
  #log
  #check
  #send
  #onPending
  #onDropped
  /** @type {Lane} */
  #own = { id: '', edits: [] }
  #nextSeq = 1
  /** In sending order; the last one is `#own`. @type {Lane[]} */
  #lanes = [this.#own]
  /** Ids of queues that this page has, or waits for. @type {Set<string>} */
  #known = new Set()
  /** Ids of queues of other pages that this page has taken over. @type {Set<string>} */
  #taken = new Set()
  /** The last list of pending edits, until it changes. @type {readonly import('../types.js').QueuedSend[] | null} */
  #listed = null
  #up = false
  /** Number of the current try; failures of earlier ones mean nothing. */
  #attempt = 0
  #failures = 0
  /** @type {import('../common/clock.js').Timer | undefined} */
  #pause
  /** @type {import('../common/clock.js').Timer | undefined} */
  #looking
  #closing = new AbortController()

  /**
   * @param {QueueEvents & { key: string, store: Store, lock: Lock, inFlight?: InFlight,
   *   check?: (argument: object) => void, log: (what: string, detail?: any) => void }} options check throws for data
   *   that cannot be sent; inFlight: of all queues of a client
   */
  constructor ({ key, store, lock, inFlight = new InFlight(), log, check = () => {}, send, ...events }) {
    this.#key = key
    this.#store = store
    this.#lock = lock
    this.#inFlight = inFlight
    this.#log = log
    this.#send = send
    this.#check = check
    this.#onPending = events.onPending
    this.#onDropped = events.onDropped
  }

  /** Takes the name of this page's queue, and the edits that others left behind. */
  async start () {
    // a count instead of the time of day, which can be set back
    const newest = Math.max(0, ...[...(await this.#store.load(this.#key)).keys()].map((id) => Number.parseInt(id) || 0))
    this.#own.id = `${newest + 1}-${randomId()}`
    this.#known.add(this.#own.id)
    await this.#lock(this.#nameOf(this.#own.id), this.#closing.signal)
    await this.#takeOver()
  }

  /**
   * @param {{ event?: string, data: unknown }} argument
   * @returns {Promise<{ traceId?: string }>}
   */
  async add (argument) {
    if (this.#closing.signal.aborted) throw closedError()
    this.#check(argument)
    if (this.#own.edits.length >= MAX_WAITING)
      throw new ClientError({ code: 'too_many_waiting', message: 'too many edits are queued', retryable: true })
    let stored
    try {
      // what the caller changes later must not be sent instead of what is stored
      stored = { seq: this.#nextSeq, ...clone(argument) }
    } catch (error) {
      throw notStored(error)
    }
    this.#nextSeq++
    /** @type {Edit} */
    const edit = {
      stored, shown: shown(this.#own.id, stored), ready: false, sent: false, resolve: () => {}, reject: () => {}
    }
    /** @type {Promise<{ traceId?: string }>} */
    const accepted = new Promise((resolve, reject) => Object.assign(edit, { resolve, reject }))
    // the caller gets it when the edit is stored
    accepted.catch(() => {})
    this.#own.edits.push(edit)
    try {
      await this.#store.add(this.#key, this.#own.id, stored)
    } catch (error) {
      this.#drop(this.#own, edit)
      throw notStored(error)
    }
    edit.ready = true
    this.#changed()
    this.#sendMore()
    return accepted
  }

  joined () {
    // a listener to the join may have closed the document
    if (this.#closing.signal.aborted) return
    this.#up = true
    this.#failures = 0
    this.#again()
    this.#look()
    this.#looking?.stop()
    this.#looking = interval.every(LOOK, () => this.#look())
  }

  lost () {
    this.#up = false
    this.#pause?.stop()
    this.#looking?.stop()
    this.#attempt++
  }

  close () {
    this.lost()
    this.#closing.abort(closedError())
    for (const { edits } of this.#lanes)
      for (const { reject } of edits) reject(closedError('the document'))
  }

  #look () {
    this.#takeOver().catch((error) => {
      if (!this.#closing.signal.aborted) this.#log('outbox failed', String(error))
    })
  }

  /** Resolves when this page has all queues whose pages have ended; the others follow when theirs end. */
  async #takeOver () {
    for (const id of [...(await this.#store.load(this.#key)).keys()].sort(byAge)) {
      // a queue that was emptied may have got an edit from the last moment of its page
      if (this.#known.has(id) && (!this.#taken.has(id) || this.#lanes.some((lane) => lane.id === id))) continue
      this.#known.add(id)
      try {
        if (this.#taken.has(id) || await this.#lock(this.#nameOf(id), this.#closing.signal, false)) {
          await this.#adopt(id)
        } else {
          this.#lock(this.#nameOf(id), this.#closing.signal).then(() => this.#adopt(id)).catch((error) => {
            this.#forget(id, error)
          })
        }
      } catch (error) {
        this.#forget(id, error)
      }
    }
  }

  /** The next look tries it again. @param {string} id @param {unknown} error */
  #forget (id, error) {
    if (!this.#taken.has(id)) this.#known.delete(id)
    if (!this.#closing.signal.aborted) this.#log('outbox failed', String(error))
  }

  /** Takes what a page that has ended left behind. @param {string} id of its queue, whose name this page has */
  async #adopt (id) {
    this.#taken.add(id)
    const left = (await this.#store.load(this.#key)).get(id) ?? []
    throwIfAborted(this.#closing.signal)
    if (left.length === 0 || this.#lanes.some((lane) => lane.id === id)) return
    this.#log('edits taken over', left.length)
    const edits = left.map((stored) =>
      ({ stored, shown: shown(id, stored), ready: true, sent: false, resolve: () => {}, reject: () => {} }))
    const others = [...this.#lanes.slice(0, -1), { id, edits }].sort((a, b) => byAge(a.id, b.id))
    this.#lanes = [...others, this.#own]
    this.#changed()
    this.#sendMore()
  }

  /** Sends all unanswered edits again. */
  #again () {
    this.#attempt++
    this.#pause?.stop()
    this.#pause = undefined
    for (const { edits } of this.#lanes) for (const edit of edits) edit.sent = false
    this.#sendMore()
  }

  #sendMore () {
    if (!this.#up || this.#pause !== undefined) return
    // an older queue first, for the order of the user's edits
    const lane = this.#lanes.find(({ edits }) => edits.length > 0)
    for (const edit of lane?.edits.slice(0, IN_FLIGHT) ?? []) {
      if (!edit.ready) return // the next one must not overtake it
      if (edit.sent) continue
      if (!this.#inFlight.begin(edit.stored.cut === true, this.#onTurn)) return
      this.#sendOne(/** @type {Lane} */ (lane), edit).finally(() => this.#inFlight.end())
    }
  }

  #onTurn = () => this.#sendMore()

  /** @param {Lane} lane @param {Edit} edit */
  async #sendOne (lane, edit) {
    const attempt = this.#attempt
    edit.sent = true
    if (edit.marked !== undefined) {
      await edit.marked
      if (attempt !== this.#attempt) return
    }
    const { seq, cut, ...argument } = edit.stored
    try {
      const { traceId } = await this.#send({ ...argument, queue: { id: lane.id, seq } })
      this.#failures = 0
      await this.#settle(lane, edit)
      edit.resolve(traceId === undefined ? {} : { traceId })
    } catch (error) {
      const refusal = /** @type {ClientError} */ (error)
      const { cause } = /** @type {{ cause?: ClientError }} */ (refusal)
      if (!refusal.retryable && !GONE.test(refusal.code)) {
        await this.#refused(lane, edit, refusal)
      } else if (cause?.code === 'bad_value') {
        // the gateway has cut the connection for a packet that it cannot decode: maybe for this one
        if (cut) return this.#refused(lane, edit, cause)
        edit.stored = { ...edit.stored, cut: true }
        edit.marked = this.#store
          .add(this.#key, lane.id, edit.stored)
          .catch((failure) => this.#log('outbox failed', String(failure)))
      } else if (attempt === this.#attempt && this.#up) {
        this.#attempt++
        this.#log('queued edit waits', refusal.code)
        this.#pause = clock.timer(delayAfter(refusal, this.#failures++), () => this.#again())
      }
    }
  }

  /** The gateway refuses it for good. @param {Lane} lane @param {Edit} edit @param {ClientError} refusal */
  async #refused (lane, edit, refusal) {
    // no page would learn it: the edit stays stored, and the next one that opens the document sends it again
    if (this.#closing.signal.aborted) return
    this.#log('queued edit refused', refusal.code)
    await this.#settle(lane, edit)
    edit.reject(refusal)
    this.#onDropped(edit.shown, refusal)
  }

  /** The gateway has answered. @param {Lane} lane @param {Edit} edit */
  async #settle (lane, edit) {
    // what stays in the store is sent again, and recognized by the gateway
    await this.#store
      .remove(this.#key, lane.id, edit.stored.seq)
      .catch((error) => this.#log('outbox failed', String(error)))
    this.#drop(lane, edit)
  }

  /** @param {Lane} lane @param {Edit} edit */
  #drop (lane, edit) {
    const at = lane.edits.indexOf(edit)
    if (at === -1) return
    lane.edits.splice(at, 1)
    if (lane.edits.length === 0 && lane !== this.#own) this.#lanes.splice(this.#lanes.indexOf(lane), 1)
    this.#changed()
    this.#sendMore()
  }

  #changed () {
    this.#listed = null
    this.#onPending(this.#pending)
  }

  // only when it is read: of 10,000 edits each one changes the list
  #pending = () => this.#listed ??=
    this.#lanes.flatMap(({ edits }) => edits.filter(({ ready }) => ready).map(({ shown }) => shown))

  /** @param {string} id of a queue */
  #nameOf (id) { return `inkcast ${this.#key} ${id}` }
}

/** @param {string} id of the queue @param {Stored} stored @returns {import('../types.js').QueuedSend} */
const shown = (id, { seq, event = 'message', data }) => ({ id: `${id}:${seq}`, event, data })

/** @param {string} one @param {string} other ids of queues: a number, and random characters */
const byAge = (one, other) => Number.parseInt(one) - Number.parseInt(other) || (one < other ? -1 : 1)

/** @param {unknown} cause */
const notStored = (cause) =>
  new ClientError({ code: 'storage_failed', message: 'the edit cannot be stored' }, { cause })

/** Errors of a connection, document or token that is going: the edit itself is not refused. */
const GONE = /^(not_joined|disconnected|closed|unauthorized|token_expired|kicked)$/
