import { Emitter } from './emitter.js'
import { ClientError } from './error.js'

/**
 * @typedef {object} Meta
 * @property {string} [guid] of the document
 * @property {number} [offset] place in the document's log; absent on what is not kept
 * @property {string} [epoch] of the log. `{ epoch, offset }` is the position of this record: what to go on from once it
 *   has been dealt with; absent as offset is
 * @property {string} traceId
 * @property {number} ts ms since 1970, at the publisher
 * @property {string} [from] connection id, on what a client sent
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
 * @property {import('./positions.js').Position | null} position from where it goes on
 * @property {string} reason `trimmed` (the log does not reach back that far), `epoch` (the log was lost), `overflow`
 *   (too much came before anybody listened), `opened` (it was open already, at a later position)
 */

/**
 * @callback Listener
 * @param {any} payload
 * @param {Meta} meta
 * @param {() => void} [acknowledge] to be called when it has been dealt with; only where the publisher asked for a
 *   receipt
 * @returns {void}
 */

/**
 * Events of the document itself. A record of such a name comes as `record:<name>`, so that nobody can play the gateway.
 */
const OWN = new Set(['joined', 'resync', 'presence', 'closed'])

/** What may wait for a listener; when there is more, all of it is dropped for one `resync`. */
const MAX_HELD = 10_000

/**
 * A document that was opened. As often as it was opened, it has to be closed. Each has its own listeners; connection,
 * position and presence are the same for all.
 */
export class Document {
  #membership
  #emitter = new Emitter()
  /** What came before anybody listens, or while a listener of `resync` reloads. @type {[string, unknown[]][] | null} */
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
    /** Whether it gets what this client itself has sent. @readonly */
    this.echo = echo
  }

  get guid () { return this.#membership.guid }

  /**
   * Where this client is in the document's log. Ahead of the listeners while something waits for them: what they have
   * dealt with is at the position that the record (Meta), or `resync`, came with.
   * @returns {import('./positions.js').Position | null}
   */
  get position () { return this.#membership.position && { ...this.#membership.position } }

  /**
   * Who is present, by user id, kept up to date; empty unless it was opened with `state` or `presence`.
   * @returns {ReadonlyMap<string, import('./presence.js').Member> & { readonly count: number }}
   */
  get presence () { return this.#membership.presence.members }

  /** Whether it is joined at the moment. */
  get live () { return !this.#closed && this.#membership.joined }

  /**
   * Listens to records of an event name (`message` where the publisher names none), or to one of: `resync` (Resync):
   * what was missed cannot be had any more; load the document again. What arrives while promises that listeners
   * returned are pending waits for all of them; `joined` ({ position, recovered }): also after each reconnect;
   * `presence` (PresenceDiff): `doc.presence` has changed; `closed` (ClientError): the gateway took this client off the
   * document.
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
   * @returns {() => void} takes the listener off again
   */
  on (event, listener) {
    if (!this.#listened) {
      this.#listened = true
      // after whatever else the caller listens to
      setTimeout(() => this._release())
    }
    return this.#emitter.on(event, listener)
  }

  /** @param {string} event @param {Function} listener */
  off (event, listener) { this.#emitter.off(event, listener) }

  /**
   * Sends to the business services; without Kafka, to everyone who has the document open. While there is no connection
   * it waits for one.
   *
   * @param {any} data
   * @param {{ event?: string, timeout?: number }} [options] event: default `message`; timeout: ms, default 10,000
   * @returns {Promise<{ traceId: string }>} when it is safe (Kafka has it)
   * @throws {ClientError} with `disconnected` or `timeout` nobody knows whether it was taken
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
   * Tells the other members at once, without keeping it: a cursor, a selection, a laser pointer. Not sent while there
   * is no connection.
   *
   * @param {string} event
   * @param {any} data
   * @returns {boolean} whether it was sent
   */
  signal (event, data) { return !this.#closed && this.#membership.signal(event, data) }

  /**
   * Replaces what the others see of this member in `presence`. Kept, and told again after a reconnect.
   *
   * @param {Record<string, any>} state
   * @returns {Promise<void>} when the gateway has it
   * @throws {ClientError}
   */
  async setState (state) {
    if (this.#closed) throw new ClientError({ code: 'closed', message: 'the document was closed' })
    await this.#membership.setState(state)
  }

  /** Closes it and takes all listeners off. */
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

  /** @internal tells what came before it was known, and so is held, of which log it is @param {string} epoch */
  _complete (epoch) {
    for (const [event, [first, meta]] of /** @type {[string, any[]][]} */ (this.#held ?? [])) {
      const position = event === 'resync' ? first.position : meta
      if (position?.epoch === '') position.epoch = epoch
    }
  }

  /** @internal whether something waits for a listener, or would */
  get _holds () { return this.#held !== null }

  /** @internal forgets what was held */
  _forget () { if (this.#held !== null) this.#held = [] }

  /** @internal lets go what was held, in order, until a listener of `resync` reloads */
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
    // each for itself: a rejection that nobody catches is shown outside, and the others still load
    for (const load of loading) Promise.resolve(load).finally(() => { if (--pending === 0) this._release() })
  }
}
