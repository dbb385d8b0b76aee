import { clock } from '../common/clock.js'
import { Emitter, call } from '../common/emitter.js'
import { closedError } from '../common/error.js'
import { Waiting } from '../common/waiting.js'
import { Held } from './held.js'
import { nameOf } from './own-events.js'

/** @typedef {import('../common/error.js').ClientError} ClientError */

/** Maximum records that wait for one loop. */
const MAX_QUEUED = 10_000

/** Reasons to hold events. */
const NO_LISTENER = 'no listener'
const JOIN = 'joining'
const RESYNC = 'resync'

/**
 * Incoming events of one opened Document: its listeners and loops, and the events that are held for them. The Document
 * is its face for the page. The membership, which all inboxes of a guid share, calls:
 *
 * - `record`, `emit` with what the gateway has sent
 * - `joined` when it is joined, `checkStatus` when it no longer is; `compare` for a copy, when the epoch is known
 * - `load` if the page has no copy, `fail` when it is over; `close` ends it from this side, and calls `close` there
 */
export class Inbox {
  emitter = new Emitter()
  /** Loops over the records. @type {Set<{ add: (turn: object) => void, end: () => void }>} */
  loops = new Set()
  held = new Held((event, args) => this.#dispatch(event, args))
  closed = false
  /** Callers that wait for another status. */
  waiting = new Waiting()
  /** Why the gateway ended it. @type {ClientError | null} */
  error = null
  /** The position of the caller's copy, until it is compared. @type {import('./positions.js').Position | null} */
  copy = null
  /** Offset up to which the page has the records, from its copy or its service, until a resync. */
  floor = 0
  /** Whether it gets this client's own messages. */
  echo
  #membership
  /** Begins with the first listener. @type {import('../common/clock.js').Timer | undefined} */
  #listening
  /** @type {import('./loader.js').Loader | undefined} */
  #loader
  /** Last reported. @type {import('../types.js').Status} */
  #status = 'joining'
  /** Last reported. @type {ClientError | null} */
  #reason = null
  #onReason

  /**
   * @param {import('../types.js').Shared} membership
   * @param {{ echo?: boolean | undefined, load?: import('../types.js').Load | undefined, onReason?:
   *   ((reason: ClientError | null) => void) | undefined }} options see OpenOptions
   * @param {typeof import('./loader.js').Loader} [Loader] if there is a `load`
   */
  constructor (membership, { echo = false, load, onReason }, Loader) {
    this.#membership = membership
    this.#onReason = onReason
    this.held.reasons.add(NO_LISTENER)
    // records before the epoch is known have no position, and are dropped if the connection is lost
    if (!membership.position?.epoch) this.held.reasons.add(JOIN)
    this.echo = echo
    this.#loader = Loader && new Loader(/** @type {import('../types.js').Load} */ (load), membership, this)
  }

  /** @returns {import('../types.js').Status} */
  get status () {
    if (this.closed) return 'closed'
    if (!this.#membership.joined) return 'joining'
    return this.#loader?.loading ? 'loading' : 'live'
  }

  /** A copy of the client's. */
  get position () { return this.#membership.position && { ...this.#membership.position } }

  /** Why it is not up to date. */
  get reason () { return this.error ?? this.#loader?.reason ?? null }

  /** Whether its listeners are behind the client's position, or the page is ahead of it. */
  get holds () {
    return this.held.reasons.size > 0 || this.floor > /** @type {number} */ (this.position?.offset)
  }

  /** @returns {Promise<void>} resolves when it is joined and loaded */
  async ready () {
    while (this.status !== 'live') {
      if (this.closed) throw this.error ?? closedError()
      await this.waiting.wait()
    }
  }

  /** @param {import('../types.js').LoadReason} reason */
  load (reason) { this.#loader?.start(reason) }

  /**
   * Compares the caller's copy with the client's position: an older copy misses records, and a newer one has some of
   * those that follow.
   */
  compare () {
    const { copy } = this
    const position = /** @type {import('./positions.js').Position} */ (this.position)
    this.copy = null
    if (copy?.epoch === position.epoch && copy.offset >= position.offset) this.floor = copy.offset
    else if (copy) this.emit('resync', [{ position, reason: 'opened' }])
  }

  /** A listener was added: what is held for it comes after the caller has added its other listeners. */
  listen () { if (!this.#listening) this.#listening = clock.timer(0, () => this.#release(NO_LISTENER)) }

  async* loop () {
    /** @type {any[]} */
    let queue = []
    let wake = () => {}
    const loop = {
      add: (/** @type {object} */ turn) => {
        if (queue.length < MAX_QUEUED) queue.push(turn)
        else queue = [{ event: 'resync', payload: { position: this.position, reason: 'overflow' } }]
        wake()
      },
      end: () => wake()
    }
    this.loops.add(loop)
    this.listen()
    try {
      for (;;) {
        while (queue.length > 0) yield queue.shift()
        if (this.closed) break
        await /** @type {Promise<void>} */ (new Promise((resolve) => { wake = resolve }))
      }
      if (this.error) throw this.error
    } finally {
      this.loops.delete(loop)
    }
  }

  /** Emits `doc:status` if the status or the reason has changed. */
  checkStatus () {
    const { status, reason } = this
    if (reason !== this.#reason) {
      this.#reason = reason
      if (this.#onReason) call(this.#onReason, reason)
    } else if (status === this.#status) return
    this.#status = status
    this.waiting.resolve()
    this.emitter.emit('doc:status', status, reason)
  }

  /** @param {string} event @param {any[]} args */
  record (event, args) { if (!(args[1].offset <= this.floor)) this.emit(nameOf(event), args) }

  /** @param {string} event @param {any[]} args */
  emit (event, args) {
    if (this.closed) return
    if (event === 'resync') {
      this.floor = 0
      if (this.#loader) {
        this.#loader.start(args[0].reason)
        this.emitter.emit(event, ...args)
        return
      }
    }
    if (this.held.emit(event, args)) return
    this.#membership.log('overflow', [...this.held.reasons].join())
    if (this.#loader) this.#loader.overflow()
    else this.held.replace([['resync', [{ position: this.position, reason: 'overflow' }]]])
  }

  /** The gateway has joined it. @param {string} epoch of the log, for held events that arrived before it was known */
  joined (epoch) {
    for (const [event, [first, meta]] of this.held.events) {
      const position = event === 'resync' ? first.position : meta
      if (position?.epoch === '') position.epoch = epoch
    }
    this.checkStatus()
    this.compare()
    this.#release(JOIN)
  }

  /** The gateway ended it. @param {ClientError} error */
  fail (error) {
    if (this.closed) return
    this.error = error
    // what is held for a listener comes first
    this.held.reasons.clear()
    if (this.#loader?.loading) this.held.replace()
    this.held.release('')
    this.emitter.emit('closed', error)
    this.close()
  }

  close () {
    if (this.closed) return
    this.closed = true
    this.#loader?.stop()
    this.held.replace()
    this.checkStatus()
    this.emitter.clear()
    for (const { end } of this.loops) end()
    this.#membership.close(this)
  }

  /** @param {string} reason */
  #release (reason) {
    if (this.closed) return
    this.held.release(reason)
    this.#membership.dealtWith()
  }

  /** @param {string} event @param {any[]} args */
  #dispatch (event, args) {
    const results = this.emitter.emit(event, ...args)
    const [payload, meta, acknowledge] = args
    if (event === 'resync' || meta !== undefined)
      for (const { add } of this.loops) add({ event, payload, meta, acknowledge })
    if (event !== 'resync' || this.closed) return
    const loading = results.filter((result) => typeof /** @type {any} */ (result)?.then === 'function')
    let pending = loading.length
    if (pending === 0) return
    this.held.reasons.add(RESYNC)
    // each separately: an unhandled rejection is reported, and the others continue
    for (const load of loading) Promise.resolve(load).finally(() => { if (--pending === 0) this.#release(RESYNC) })
  }
}
