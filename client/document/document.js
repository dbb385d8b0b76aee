import { checkOptions } from '../common/check-options.js'
import { closedError } from '../common/error.js'
import { within } from '../common/within.js'

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
  #inbox
  /** The option `echo`: whether it receives this client's own messages. @readonly @type {boolean} */
  echo

  /** @internal @param {import('../types.js').Shared} membership @param {import('./inbox.js').Inbox} inbox */
  constructor (membership, inbox) {
    this.#membership = membership
    this.#inbox = inbox
    this.echo = inbox.echo
  }

  /** Id of the document. */
  get guid () { return this.#membership.guid }

  /**
   * Position of this client in the document's log. It is ahead of the listeners while records are held for them. The
   * position of the listeners is that of the last record (Meta) or `resync` that they received.
   * @returns {import('./positions.js').Position | null}
   */
  get position () { return this.#inbox.position }

  /**
   * Present members by user id, kept up to date. Empty unless the document was opened with `state` or `presence`,
   * and above 500 members (`PRESENCE_MAX_MEMBERS`): then only `presence.count` is known.
   * @returns {ReadonlyMap<string, import('../presence/presence.js').Member<Presence>> & { readonly count: number }}
   */
  get presence () { return /** @type {any} */ (this.#membership.members) }

  /** Whether the document is joined now: while `status` is `loading` or `live`. */
  get live () { return !this.#inbox.closed && this.#membership.joined }

  /**
   * Whether the token allowed only reading at the last join. If so, `send` fails with `forbidden`. Always false if an
   * access service decides (`AUTH_ACCESS_URL`).
   * @returns {boolean}
   */
  get readOnly () { return this.#membership.readOnly }

  /** Whether the document waits, loads or is up to date. @returns {import('../types.js').Status} */
  get status () { return this.#inbox.status }

  /**
   * Why the document is not up to date: the error of the last call of `load`, or the error that has closed the
   * document. Null if there is none.
   * @returns {import('../common/error.js').ClientError | null}
   */
  get reason () { return this.#inbox.reason }

  /**
   * Resolves when the document is joined and loaded, at once if it is.
   * @returns {Promise<void>} rejects if the document is closed before
   */
  get ready () { return this.#inbox.ready() }

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
    const off = this.#inbox.emitter.on(event, listener)
    const remove = () => {
      off()
      signal?.removeEventListener('abort', remove)
    }
    if (signal?.aborted) remove()
    else signal?.addEventListener('abort', remove)
    this.#inbox.listen()
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
  off (event, listener) { this.#inbox.emitter.off(event, listener) }

  /**
   * A loop over the records and signals from now on. A `resync` is a turn of the loop, unless the document was opened
   * with `load`. `doc.close()` ends the loop. If the event `closed` ends it, the loop throws the error of this event.
   * If more than 10,000 turns wait for a slow loop, one `resync` turn replaces them, also with `load`.
   * @returns {AsyncGenerator<import('../types.js').Turn<Events & import('../types.js').Named<Signals>>, void>}
   */
  [Symbol.asyncIterator] () { return this.#inbox.loop() }

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
    if (this.#inbox.closed) throw closedError()
    checkOptions('send', options)
    const argument = event === undefined ? { data } : { event, data }
    if (queue) return within(this.#membership.queue(argument), { signal, timeout }, 'it stays queued')
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
    return !this.#inbox.closed && this.#membership.signal(event, data, combine)
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
  async history ({ signal, ...query } = {}) {
    if (this.#inbox.closed) throw closedError()
    return within(this.#membership.history(query), { signal }, '')
  }

  /**
   * Replaces this member's state in `presence`. The client sends the state again after each reconnect. If
   * the gateway refuses it for good, the client goes back to the last state that the gateway accepted.
   *
   * @param {Presence} state
   * @returns {Promise<void>} resolves when the gateway has the state
   * @throws {import('../common/error.js').ClientError}
   */
  setState (state) { return this.#withPart((part) => part.setState(state)) }

  /**
   * Tells the other members whether this one is idle, for example while the page is hidden. The client says it again
   * after each reconnect.
   *
   * @param {boolean} idle
   * @returns {Promise<void>} resolves when the gateway knows; at once if this client takes no part in the presence
   * @throws {import('../common/error.js').ClientError}
   */
  setIdle (idle) { return this.#withPart((part) => part.setIdle(idle)) }

  /**
   * The users who have left the presence within a day, the last one first; 100 at most. The gateway notes them from the
   * first call on, until nobody has called for a day.
   * @returns {Promise<import('../presence/presence.js').Left[]>}
   * @throws {import('../common/error.js').ClientError}
   */
  left () { return this.#withPart((part) => part.left()) }

  /** @param {(part: import('../presence/participation.js').Participation) => Promise<any>} use */
  async #withPart (use) {
    if (this.#inbox.closed) throw closedError()
    return this.#membership.withPart(use)
  }

  /**
   * Calls the option `load` again, as after a resync. For a page that finds that its copy is wrong. Without
   * `load` nothing happens.
   * @returns {Promise<void>} resolves when the document is loaded
   */
  async reload () {
    if (this.#inbox.closed) throw closedError()
    this.#inbox.load('reload')
    await this.ready
  }

  /** Closes the document and removes all listeners. */
  close () { this.#inbox.close() }
}
