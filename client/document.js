import { Emitter } from './emitter.js'
import { ClientError } from './error.js'

/**
 * @typedef {object} Meta
 * @property {string} [guid] of the document
 * @property {number} [offset] place in the document's log; absent on ephemeral records
 * @property {string} [epoch] of the log. `{ epoch, offset }` is the position of this record, from which to resume once
 *   it is processed; absent as offset is
 * @property {string} traceId
 * @property {number} ts ms since 1970, by the publisher's clock
 * @property {string} [from] connection id of the sender, on records from clients
 */

/**
 * The membership that a document shares with others of the same guid (membership.js).
 *
 * @typedef {object} Shared
 * @property {string} guid
 * @property {import('./positions.js').Position | null} position
 * @property {import('./presence.js').Presence} presence
 * @property {boolean} joined
 * @property {(event: string, argument: object, timeout?: number) => Promise<any>} request
 * @property {(event: string, data: unknown) => boolean} signal
 * @property {(state: object) => Promise<void>} setState
 * @property {(document: Document) => void} close
 * @property {() => void} dealtWith
 */

/**
 * @typedef {object} Resync
 * @property {import('./positions.js').Position | null} position from which the records continue
 * @property {string} reason `trimmed` (the log does not reach back that far), `epoch` (the log was lost), `overflow`
 *   (too many records arrived before a listener was added), `opened` (the document was open already, at a later
 *   position)
 */

/**
 * @callback Listener
 * @param {any} payload
 * @param {Meta} meta
 * @param {() => void} [acknowledge] call it when the record is processed; present only if the publisher requested a
 *   receipt
 * @returns {void}
 */

/**
 * Events of the document itself. A record with one of these names is emitted as `record:<name>`, so that it cannot be
 * mistaken for an event of the gateway.
 */
const OWN = new Set(['joined', 'resync', 'presence', 'closed'])

/** Maximum records held for listeners; above it all are dropped and replaced by one `resync`. */
const MAX_HELD = 10_000

/**
 * An opened document. Close it as often as it was opened. Each Document has its own listeners; connection, position and
 * presence are shared.
 */
export class Document {
  #membership
  #emitter = new Emitter()
  /** Events before the first listener, or while a listener of `resync` reloads. @type {[string, unknown[]][] | null} */
  #held = []
  #listened = false
  #closed = false

  /**
   * @internal
   * @param {Shared} membership
   * @param {boolean} echo
   */
  constructor (membership, echo) {
    this.#membership = membership
    /** Whether it receives this client's own records. @readonly */
    this.echo = echo
  }

  get guid () { return this.#membership.guid }

  /**
   * Position of this client in the document's log. It is ahead of the listeners while records are held for them: their
   * own position is that of their last record (Meta) or `resync`.
   * @returns {import('./positions.js').Position | null}
   */
  get position () { return this.#membership.position && { ...this.#membership.position } }

  /**
   * Present members by user id, kept up to date; empty unless the document was opened with `state` or `presence`.
   * @returns {ReadonlyMap<string, import('./presence.js').Member> & { readonly count: number }}
   */
  get presence () { return this.#membership.presence.members }

  /** Whether it is currently joined. */
  get live () { return !this.#closed && this.#membership.joined }

  /**
   * Listens to records by event name (`message` if the publisher set none), or to an event of the document: `resync`
   * (Resync): missed records are no longer available; load the document again. If listeners return promises, further
   * records are held until all have settled; `joined` ({ position, recovered }): also after each reconnect; `presence`
   * (PresenceDiff): `doc.presence` has changed; `closed` (ClientError): the gateway has revoked this client's access.
   *
   * @overload
   * @param {'resync'} event
   * @param {(resync: Resync) => unknown} listener
   * @returns {() => void}
   */
  /**
   * @overload
   * @param {'joined'} event
   * @param {(joined: { position: import('./positions.js').Position, recovered: boolean }) => void} listener
   * @returns {() => void}
   */
  /**
   * @overload
   * @param {'presence'} event
   * @param {(diff: import('./presence.js').PresenceDiff) => void} listener
   * @returns {() => void}
   */
  /**
   * @overload
   * @param {'closed'} event
   * @param {(error: ClientError) => void} listener
   * @returns {() => void}
   */
  /**
   * @overload
   * @param {string} event
   * @param {Listener} listener
   * @returns {() => void}
   */
  /**
   * @param {string} event
   * @param {Function} listener
   * @returns {() => void} removes the listener
   */
  on (event, listener) {
    if (!this.#listened) {
      this.#listened = true
      // after the caller has added its other listeners
      setTimeout(() => this._release())
    }
    return this.#emitter.on(event, listener)
  }

  /** @param {string} event @param {Function} listener */
  off (event, listener) { this.#emitter.off(event, listener) }

  /**
   * Sends data to the business services; without Kafka, to everyone who has the document open. Without a connection it
   * waits for one.
   *
   * @param {any} data
   * @param {{ event?: string, timeout?: number }} [options] event: default `message`; timeout: ms, default 10,000
   * @returns {Promise<{ traceId: string }>} resolves when it is stored (in Kafka)
   * @throws {ClientError} with `disconnected` or `timeout` the outcome is unknown
   */
  async send (data, { event, timeout } = {}) {
    if (this.#closed) throw new ClientError({ code: 'closed', message: 'the document was closed' })
    const { traceId } = await this.#membership.request(
      'doc:send',
      event === undefined ? { data } : { event, data },
      timeout
    )
    return { traceId }
  }

  /**
   * Sends an ephemeral message to the other members at once: a cursor, a selection, a laser pointer. Without a
   * connection it is not sent.
   *
   * @param {string} event
   * @param {any} data
   * @returns {boolean} whether it was sent
   */
  signal (event, data) { return !this.#closed && this.#membership.signal(event, data) }

  /**
   * Replaces this member's state in `presence`. It is kept, and sent again after a reconnect.
   *
   * @param {Record<string, any>} state
   * @returns {Promise<void>} resolves when the gateway has it
   * @throws {ClientError}
   */
  async setState (state) {
    if (this.#closed) throw new ClientError({ code: 'closed', message: 'the document was closed' })
    await this.#membership.setState(state)
  }

  /** Closes the document and removes all listeners. */
  close () {
    if (this.#closed) return
    this.#closed = true
    this.#emitter.clear()
    this.#held = null
    this.#membership.close(this)
  }

  /**
   * @internal
   * @param {string} event
   * @param {unknown[]} args
   */
  _record (event, args) { this._emit(OWN.has(event) ? `record:${event}` : event, args) }

  /**
   * @internal
   * @param {string} event
   * @param {unknown[]} args
   */
  _emit (event, args) {
    if (this.#closed) return
    if (this.#held === null) return this.#dispatch(event, args)
    if (this.#held.length < MAX_HELD) return void this.#held.push([event, args])
    this.#held = [['resync', [{ position: this.position, reason: 'overflow' }]]]
  }

  /** @internal adds the epoch to held events that arrived before it was known @param {string} epoch */
  _complete (epoch) {
    for (const [event, [first, meta]] of /** @type {[string, any[]][]} */ (this.#held ?? [])) {
      const position = event === 'resync' ? first.position : meta
      if (position?.epoch === '') position.epoch = epoch
    }
  }

  /** @internal whether events are held for a listener */
  get _holds () { return this.#held !== null }

  /** @internal drops held events */
  _forget () { if (this.#held !== null) this.#held = [] }

  /** @internal emits held events in order, until a listener of `resync` reloads */
  _release () {
    const held = this.#held ?? []
    this.#held = null
    for (let i = 0; i < held.length; i++) {
      this.#dispatch(...held[i])
      if (this.#held !== null) {
        this.#held = [...held.slice(i + 1), ...this.#held]
        return
      }
    }
    this.#membership.dealtWith()
  }

  /** @param {string} event @param {unknown[]} args */
  #dispatch (event, args) {
    const results = this.#emitter.emit(event, ...args)
    if (event !== 'resync' || this.#closed) return
    const loading = results.filter((result) => typeof /** @type {any} */ (result)?.then === 'function')
    if (loading.length === 0) return
    this.#held = []
    let pending = loading.length
    // each separately: an unhandled rejection is reported, and the others continue
    for (const load of loading) Promise.resolve(load).finally(() => { if (--pending === 0) this._release() })
  }
}
