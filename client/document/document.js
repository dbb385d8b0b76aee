import { clock } from '../common/clock.js'
import { checkOptions } from '../common/check-options.js'
import { Emitter } from '../common/emitter.js'
import { closedError } from '../common/error.js'
import { Held } from './held.js'
import { within } from '../common/within.js'

/**
 * Events of the document itself. A record with one of these names is emitted as `record:<name>`, so that it cannot be
 * mistaken for an event of the gateway. (No record's name begins with `doc:`.)
 */
const OWN = new Set(['joined', 'resync', 'presence', 'closed'])

/** Maximum records that wait for one loop. */
const MAX_QUEUED = 10_000

/** Reasons to hold events. */
const NO_LISTENER = 'no listener'
const RESYNC = 'a listener of resync'

/**
 * An opened document. Close it as often as you opened it. Each Document has its own listeners. Documents of the same
 * guid share connection, position and presence.
 *
 * @template {object} [Events=Record<string, any>] payloads by the names of records
 * @template {object} [Presence=Record<string, any>] state of a member
 * @template {object} [Signals=Record<string, any>] data by the names of signals
 */
export class Document {
  #membership
  #emitter = new Emitter()
  /** Loops over the records. @type {Set<{ add: (turn: object) => void, end: () => void }>} */
  #loops = new Set()
  /** Begins with the first listener. @type {import('../common/clock.js').Timer | undefined} */
  #listening
  #closed = false
  /** Why the gateway ended it. @type {import('../common/error.js').ClientError | null} */
  #error = null
  /** @type {import('./loader.js').Loader | null} */
  #loader
  /** @type {import('../types.js').Status} */
  #status = 'joining'
  /** The last one that was reported. @type {import('../common/error.js').ClientError | null} */
  #reason = null
  #onReason
  #held = new Held((event, args) => this.#dispatch(event, args))
  /** The option `echo`: whether it receives this client's own messages. @readonly @type {boolean} */
  echo
  /**
   * @internal the position of the caller's copy, until it is compared
   * @type {import('./positions.js').Position | null}
   */
  _copy = null

  /**
   * @internal
   * @param {import('../types.js').Shared} membership
   * @param {{ echo?: boolean | undefined, load?: import('../types.js').Load | undefined, onReason?:
   *   ((reason: import('../common/error.js').ClientError | null) => void) | undefined }} options see OpenOptions
   * @param {typeof import('./loader.js').Loader} [Loader] if there is a `load`
   */
  constructor (membership, { echo = false, load, onReason }, Loader) {
    this.#membership = membership
    this.#onReason = onReason
    this.#held.reasons.add(NO_LISTENER)
    this.#loader = load === undefined || Loader === undefined ? null : new Loader({
      load,
      membership,
      held: this.#held,
      onChange: () => this._checkStatus(),
      onLoaded: () => membership.dealtWith(),
      onFailed: (error) => this._fail(error)
    })
    this.echo = echo
  }

  /** Id of the document. */
  get guid () { return this.#membership.guid }

  /**
   * Position of this client in the document's log. It is ahead of the listeners while records are held for them. The
   * position of the listeners is that of the last record (Meta) or `resync` that they received.
   * @returns {import('./positions.js').Position | null}
   */
  get position () { return this.#membership.position && { ...this.#membership.position } }

  /**
   * Present members by user id, kept up to date. Empty unless the document was opened with `state` or `presence`.
   * @returns {ReadonlyMap<string, import('../presence/presence.js').Member<Presence>> & { readonly count: number }}
   */
  get presence () { return /** @type {any} */ (this.#membership.members) }

  /** Whether the document is joined now. */
  get live () { return !this.#closed && this.#membership.joined }

  /**
   * Whether the token allowed only reading at the last join. If so, `send` fails with `forbidden`. Always false if an
   * access service decides (`AUTH_ACCESS_URL`).
   * @returns {boolean}
   */
  get readOnly () { return this.#membership.readOnly }

  /** Whether the document waits, loads or is up to date. @returns {import('../types.js').Status} */
  get status () {
    if (this.#closed) return 'closed'
    if (!this.#membership.joined) return 'joining'
    return this.#loader?.loading ? 'loading' : 'live'
  }

  /**
   * Why the document is not up to date: the error of the last call of `load`, or the error that has closed the
   * document. Null if there is none.
   * @returns {import('../common/error.js').ClientError | null}
   */
  get reason () { return this.#error ?? this.#loader?.reason ?? null }

  /**
   * Resolves when the document is joined and loaded, at once if it is.
   * @returns {Promise<void>} rejects if the document is closed before
   */
  get ready () { return this.#whenReady() }

  /**
   * Edits that were sent with `queue` and that the gateway has not accepted yet, the oldest first.
   * @returns {readonly import('../types.js').QueuedSend[]}
   */
  get pending () { return this.#membership.pending() }

  /**
   * Listens to records by event name (`message` if the publisher set none), to signals by name, or to an event of the
   * document (`OwnEvents`). Returns a function that removes the listener.
   * @readonly
   * @type {import('../types.js').Listen<Events, Presence, Signals>}
   */
  on = (/** @type {string} */ event, /** @type {Function} */ listener, { signal } = /** @type {any} */ ({})) => {
    const remove = this.#emitter.on(event, listener)
    if (signal?.aborted) remove()
    else signal?.addEventListener('abort', remove, { once: true })
    this.#startListening()
    return remove
  }

  /**
   * Like `on`, for the next event only.
   * @readonly
   * @type {import('../types.js').Listen<Events, Presence, Signals>}
   */
  once = (/** @type {string} */ event, /** @type {Function} */ listener, /** @type {any} */ options) => {
    const remove = this.on(/** @type {any} */ (event), /** @type {any} */ ((/** @type {any[]} */ ...args) => {
      remove()
      return listener(...args)
    }), options)
    return remove
  }

  /** @param {string} event @param {Function} listener */
  off (event, listener) { this.#emitter.off(event, listener) }

  /**
   * A loop over the records and signals from now on. A `resync` is a turn of the loop, unless the document was opened
   * with `load`. `doc.close()` ends the loop. If the event `closed` ends it, the loop throws the error of this event.
   * If more than 10,000 turns wait for a slow loop, one `resync` turn replaces them, also with `load`.
   * @returns {AsyncGenerator<import('../types.js').Turn<Events & import('../types.js').Named<Signals>>, void>}
   */
  async* [Symbol.asyncIterator] () {
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
    this.#loops.add(loop)
    this.#startListening()
    try {
      for (;;) {
        while (queue.length > 0) yield queue.shift()
        if (this.#closed) break
        await /** @type {Promise<void>} */ (new Promise((resolve) => { wake = resolve }))
      }
      if (this.#error !== null) throw this.#error
    } finally {
      this.#loops.delete(loop)
    }
  }

  /**
   * Sends data to the business services. If the gateway has no service (neither Kafka nor `UPLINK_URL` nor
   * `UPLINK_GROUPS`), it publishes the data to everyone who has the document open. Without a connection the call waits
   * for one.
   *
   * With `queue` (needs the option `outbox` of `connect`) the data survives lost connections and reloads of the page.
   * The client sends queued data in order, and the gateway accepts it once. Until then it is in `pending`. The promise
   * resolves when the gateway has accepted the data, however long that takes. A promise does not survive a reload.
   *
   * @template {keyof Events & string} [E='message' extends keyof Events ? 'message' : keyof Events & string]
   * @overload
   * @param {Events[E]} data
   * @param {import('../types.js').SendOptions<E> & { queue?: false | undefined }} [options]
   * @returns {Promise<{ traceId: string }>} resolves when Kafka or Redis has it; in embedded mode, the gateway
   */
  /**
   * @template {keyof Events & string} [E='message' extends keyof Events ? 'message' : keyof Events & string]
   * @overload
   * @param {Events[E]} data
   * @param {import('../types.js').SendOptions<E> & { queue?: boolean | undefined }} options
   * @returns {Promise<{ traceId?: string }>} no `traceId`: the gateway had accepted it before, and the answer was lost
   */
  /**
   * @param {any} data
   * @param {import('../types.js').SendOptions<any> & { queue?: boolean | undefined }} [options]
   * @returns {Promise<any>}
   * @throws {import('../common/error.js').ClientError} with `disconnected` or `timeout` the outcome is unknown
   */
  async send (data, options = {}) {
    const { event, timeout, signal, queue = false, traceparent } = options
    if (this.#closed) throw closedError()
    checkOptions('send', options)
    const argument = event === undefined ? { data } : { event, data }
    if (queue) return within(this.#membership.queue(argument), { signal, timeout }, 'not accepted yet; it stays queued')
    const sent = this.#membership.request('doc:send', { ...argument, ...(traceparent && { traceparent }) }, timeout)
    const { traceId } = await within(sent, { signal }, '')
    return { traceId }
  }

  /**
   * Sends a signal to all other clients that have the document open, for example a cursor. A signal is never stored,
   * and without a connection it is not sent. Signals are combined: the first one is sent at once, then every 50 ms the
   * newest one of each name.
   *
   * @template {keyof Signals & string} E
   * @param {E} event
   * @param {Signals[E]} data
   * @param {{ combine?: boolean | undefined }} [options] combine: false sends each signal at once; default true
   * @returns {boolean} true: the client sends this signal, or a newer one of the same name in its place, unless the
   *   connection is lost before. False: no connection, or this client may not signal
   * @throws {import('../common/error.js').ClientError} value_too_large
   */
  signal (event, data, { combine = true } = {}) {
    return !this.#closed && this.#membership.signal(event, data, combine)
  }

  /**
   * Reads the document's log.
   *
   * @param {{ before?: number | undefined, limit?: number | undefined, signal?: AbortSignal | undefined }} [options]
   *   before: an offset; default: the end of the log. limit: 1 to 100, default 50
   * @returns {Promise<{ records: import('../types.js').LoggedRecord[], position: import('./positions.js').Position,
   *   more: boolean }>} the newest records before `before`, the oldest first; `more`: whether the log has
   *   earlier ones
   * @throws {import('../common/error.js').ClientError}
   */
  async history ({ before, limit, signal } = {}) {
    if (this.#closed) throw closedError()
    return within(this.#membership.history({ before, limit }), { signal }, '')
  }

  /**
   * Replaces this member's state in `presence`. The client sends the state again after each reconnect.
   *
   * @param {Presence} state
   * @returns {Promise<void>} resolves when the gateway has the state
   * @throws {import('../common/error.js').ClientError}
   */
  async setState (state) {
    if (this.#closed) throw closedError()
    await this.#membership.setState(state)
  }

  /**
   * Calls the option `load` again, as after a resync. For a page that finds that its copy is wrong.
   * @returns {Promise<void>} resolves when the document is loaded
   */
  async reload () {
    if (this.#closed) throw closedError()
    this._load('reload')
    await this.ready
  }

  /** Closes the document and removes all listeners. */
  close () { this.#end() }

  /** @internal @param {import('../types.js').LoadReason} reason */
  _load (reason) { this.#loader?.start(reason) }

  async #whenReady () {
    for (;;) {
      if (this.#closed) throw this.#error ?? closedError()
      if (this.#loader?.loading) await this.#loader.done
      else if (this.#membership.joined) return
      else await this.#membership.whenJoined()
    }
  }

  /** @internal emits `doc:status` if the status or the reason has changed */
  _checkStatus () {
    const { status, reason } = this
    if (reason !== this.#reason) {
      this.#reason = reason
      this.#onReason?.(reason)
    } else if (status === this.#status) return
    this.#status = status
    this.#emitter.emit('doc:status', status, reason)
  }

  /**
   * @internal
   * @param {string} event
   * @param {[any, import('../types.js').Meta, ((() => void) | undefined)?]} args
   */
  _record (event, args) {
    if (this.#loader?.covers(args[1])) return
    this._emit(nameOf(event), args)
  }

  /** @internal an event that is never held @param {string} event @param {() => unknown[]} args for its listeners */
  _notify (event, args) { if (this.#emitter.has(event)) this.#emitter.emit(event, ...args()) }

  /**
   * @internal
   * @param {string} event
   * @param {any[]} args
   */
  _emit (event, args) {
    if (this.#closed) return
    if (event === 'resync' && this.#loader !== null) {
      this.#loader.start(args[0].reason)
      this.#emitter.emit('resync', ...args)
    } else if (!this.#held.emit(event, args)) {
      this.#overflow()
    }
  }

  #overflow () {
    this.#membership.log('too many records held', [...this.#held.reasons].join())
    // the log has what is dropped: a load in progress reads it there
    if (this.#loader?.loading) this.#held.replace([])
    else if (this.#loader !== null) this.#loader.start('overflow')
    else this.#held.replace([['resync', [{ position: this.position, reason: 'overflow' }]]])
  }

  /** @internal adds the epoch to held events that arrived before it was known @param {string} epoch */
  _complete (epoch) {
    for (const [event, [first, meta]] of this.#held.events) {
      const position = event === 'resync' ? first.position : meta
      if (position?.epoch === '') position.epoch = epoch
    }
  }

  /** @internal whether its listeners are behind the client's position, or ahead of it */
  get _holds () { return this.#held.reasons.size > 0 || !!this.#loader?.isAhead }

  /** @internal drops held events */
  _forget () { this.#held.replace([]) }

  /** @internal for tools */
  get _held () { return this.#held }

  /** @internal for tools */
  get _listeners () { return this.#emitter.size + this.#loops.size }

  /** @internal the gateway ended it @param {import('../common/error.js').ClientError} error */
  _fail (error) {
    if (this.#closed) return
    this.#error = error
    // what is held for a listener comes first
    this.#held.reasons.clear()
    if (this.#loader?.loading) this.#held.replace([])
    this.#held.release('')
    this.#emitter.emit('closed', error)
    this.#end()
  }

  #end () {
    if (this.#closed) return
    this.#closed = true
    this.#loader?.stop()
    this.#held.replace([])
    this._checkStatus()
    this.#emitter.clear()
    for (const { end } of this.#loops) end()
    this.#membership.close(this)
  }

  #startListening () {
    // after the caller has added its other listeners
    if (this.#listening === undefined) this.#listening = clock.timer(0, () => this.#release(NO_LISTENER))
  }

  /** @param {string} reason */
  #release (reason) {
    if (this.#closed) return
    this.#held.release(reason)
    this.#membership.dealtWith()
  }

  /** @param {string} event @param {any[]} args */
  #dispatch (event, args) {
    const results = this.#emitter.emit(event, ...args)
    const [payload, meta, acknowledge] = args
    if (event === 'resync' || meta !== undefined)
      for (const { add } of this.#loops) add({ event, payload, meta, acknowledge })
    if (event !== 'resync' || this.#closed) return
    const loading = results.filter((result) => typeof /** @type {any} */ (result)?.then === 'function')
    if (loading.length === 0) return
    this.#held.reasons.add(RESYNC)
    let pending = loading.length
    // each separately: an unhandled rejection is reported, and the others continue
    for (const load of loading) Promise.resolve(load).finally(() => { if (--pending === 0) this.#release(RESYNC) })
  }
}

/** @param {string} event of a record */
const nameOf = (event) => OWN.has(event) ? `record:${event}` : event
