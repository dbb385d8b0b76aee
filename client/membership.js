import { clock } from './clock.js'
import { delayBefore } from './delay.js'
import { Document } from './document.js'
import { ClientError } from './error.js'
import { Presence } from './presence.js'

/**
 * One document of a client, shared by all its Documents and joined again with each connection.
 *
 * @typedef {import('./positions.js').Position} Position
 */

/**
 * The functions of the client that a membership uses.
 * @typedef {object} Link
 * @property {(event: string, argument: object, timeout: number) => Promise<any>} request rejects with a ClientError
 * @property {(event: string, argument: object) => void} tell throws a ClientError
 * @property {(connectionId: string) => boolean} isOwn whether it is, or was, a connection of this client
 * @property {(guid: string, position: Position | null) => void} save
 * @property {(membership: Membership, toLeave: boolean) => void} gone it was closed; toLeave: send `doc:leave` to the
 *   gateway
 */

/**
 * @typedef {object} OpenOptions
 * @property {Position | null} [position] of the caller's copy of the document: later records are sent first. Default:
 *   the stored position, or now
 * @property {boolean} [presence] whether to be listed in `presence`, and to receive the other members; default: if
 *   there is a state
 * @property {Record<string, any>} [state] shown to others in `presence`
 * @property {boolean} [echo] whether to receive this client's own records; default false
 */

/** Timeout of requests, the wait for a connection included, ms. */
const TIMEOUT = 10_000
/** Timeout of a join, ms; long, because all missed records are sent first. */
const JOIN_TIMEOUT = 30_000
/** Members per request. */
const PAGE = 500
/** Maximum requests that wait for the join. */
const MAX_WAITING = 1000
/** Errors of a join that the presence state may have caused. */
const OF_STATES = /_too_large|bad_request/

export class Membership {
  /** @type {'idle' | 'joining' | 'joined'} */
  #status = 'idle'
  /** @type {Set<Document>} */
  #documents = new Set()
  /** Callers that wait for the join. @type {Set<{ resolve: () => void, reject: (error: Error) => void }>} */
  #waiting = new Set()
  /** Latest state of this client. @type {Record<string, any> | undefined} */
  #state
  /** State in the latest join. @type {Record<string, any> | undefined} */
  #offered
  /** State that the gateway accepted last. @type {Record<string, any> | undefined} */
  #accepted
  #wasJoined = false
  /** Whether this client takes part in the presence. */
  #listed
  #failures = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /**
   * @param {string} guid
   * @param {Link} link
   * @param {OpenOptions} options
   */
  constructor (guid, link, { position = null, state, presence = state !== undefined }) {
    this.guid = guid
    this.link = link
    /** The epoch is '' until the gateway has sent it. */
    this.position = position && { ...position }
    this.#state = state
    this.#listed = presence
    this.presence = new Presence(
      (cursor) =>
        this.link.request('doc:members', { guid, limit: PAGE, ...(cursor !== undefined && { cursor }) }, TIMEOUT),
      (diff) => this.#emit('presence', diff)
    )
  }

  get joined () { return this.#status === 'joined' }
  get idle () { return this.#status === 'idle' }

  /**
   * @param {OpenOptions} options
   * @returns {Promise<Document>} resolves when it is joined
   */
  async open ({ echo = false, position, state, presence }) {
    const first = this.#documents.size === 0
    const document = new Document(this, echo)
    this.#documents.add(document)
    try {
      if (!this.joined) await this.#untilJoined()
    } catch (error) {
      document.close()
      throw error
    }
    if (state !== undefined && state !== this.#state) this.setState(state).catch(() => {}) // repeated by the next join
    else if (presence && !this.#listed) this.#takePart('doc:join', { members: true }).catch(() => {})
    if (
      !first &&
      position &&
      this.position &&
      (position.epoch !== this.position.epoch || position.offset < this.position.offset)
    ) {
      document._emit('resync', [{ position: { ...this.position }, reason: 'opened' }])
    }
    return document
  }

  /** @param {Document} document */
  close (document) {
    if (!this.#documents.delete(document) || this.#documents.size > 0) return
    const toLeave = this.#status !== 'idle'
    this.#end(new ClientError({ code: 'closed', message: 'the document was closed' }))
    this.link.save(this.guid, null)
    this.link.gone(this, toLeave)
  }

  /** Closes all its Documents. @param {ClientError} error */
  fail (error) {
    const documents = [...this.#documents]
    this.#documents.clear()
    this.#end(error)
    for (const document of documents) {
      document._emit('closed', [error])
      document._release()
      document.close()
    }
    this.link.gone(this, false)
  }

  /** Rejects the waiting callers: no connection will come. @param {ClientError} error */
  reject (error) {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(error)
  }

  /** @param {ClientError} error */
  #end (error) {
    this.#status = 'idle'
    clearTimeout(this.#timer)
    this.presence.lost()
    this.reject(error)
  }

  /** The document's entry in a handshake: position and presence. @returns {object | null} */
  get opening () {
    const opening = { ...this.position, ...this.#presenceFields() }
    return Object.keys(opening).length > 0 ? opening : null
  }

  /** Called when a handshake or a request with its join is about to be sent. */
  offer () {
    this.#status = 'joining'
    this.#offered = this.#state
  }

  #presenceFields () {
    if (this.#state !== undefined) return { state: this.#state }
    return this.#listed ? { members: true } : {}
  }

  /** Joins over the current connection. */
  async join () {
    this.offer()
    clearTimeout(this.#timer)
    try {
      this.onJoined(await this.link.request('doc:join', {
        guid: this.guid, ...this.position && { position: this.position }, ...this.#presenceFields()
      }, JOIN_TIMEOUT))
    } catch (error) {
      this.onRefused(/** @type {ClientError} */ (error))
    }
  }

  /** @param {{ position: Position, recovered: boolean } & Partial<import('./presence.js').Page>} answer */
  onJoined ({ position, recovered, ...page }) {
    if (this.#status !== 'joining') return
    this.#status = 'joined'
    this.#wasJoined = true
    this.#accepted = this.#offered
    this.#failures = 0
    if (this.position?.epoch === '') for (const document of this.#documents) document._complete(position.epoch)
    // newer records may have arrived before the answer
    const newer =
      this.position !== null && (this.position.epoch === '' || this.position.epoch === position.epoch)
        ? this.position.offset
        : 0
    this.position = { epoch: position.epoch, offset: Math.max(position.offset, newer) }
    this.dealtWith()
    this.#onMembers(page)
    this.#emit('joined', { position: { ...position }, recovered })
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const { resolve } of waiting) resolve()
  }

  /**
   * Applies the members in an answer; without members they are sent later.
   * @param {Partial<import('./presence.js').Page>} page
   */
  #onMembers (page) {
    if (page.members !== undefined) this.presence.joined(/** @type {import('./presence.js').Page} */ (page))
  }

  /** @param {ClientError} error */
  onRefused (error) {
    if (this.#status !== 'joining') return
    if (error.code === 'disconnected') {
      this.#status = 'idle' // the next connection joins it
      return
    }
    if (!error.retryable) {
      // the document was open before, so the gateway refuses a new presence state: go back to the accepted one
      if (!this.#wasJoined || this.#offered === this.#accepted || !OF_STATES.test(error.code)) return this.fail(error)
      if (this.#state === this.#offered) this.#state = this.#accepted
      return void this.join()
    }
    // remain `joining`: after a timeout the gateway may still be at it, and records that it sends now are not sent
    // again
    this.#timer = setTimeout(() => this.join(), delayBefore(this.#failures++))
  }

  /** Called when the connection is lost. */
  lost () {
    clearTimeout(this.#timer)
    this.#status = 'idle'
    this.presence.lost()
    if (this.position?.epoch === '') {
      // the first join was in progress: records so far are useless, because others may precede those of the next join
      this.position = null
      for (const document of this.#documents) document._forget()
    }
  }

  /** @param {{ position: Position, reason: string }} resync */
  onResync ({ position, reason }) {
    if (this.#status === 'idle') return
    this.position = { ...position }
    this.#emit('resync', { position: { ...position }, reason })
    this.dealtWith()
  }

  /** Records up to this position were not for this client. @param {{ position: Position }} passed */
  onPosition ({ position }) {
    if (this.#status === 'idle' || this.position?.epoch !== position.epoch || position.offset <= this.position.offset)
      return
    this.position = { ...position }
    this.dealtWith()
  }

  /** @param {import('./presence.js').Update} update */
  onPresence (update) { if (this.#status !== 'idle') this.presence.apply(update) }

  /**
   * @param {string} event
   * @param {unknown} payload
   * @param {import('./document.js').Meta} meta
   * @param {(() => void) | undefined} acknowledge
   */
  onRecord (event, payload, meta, acknowledge) {
    const { offset, from } = meta
    // idle: a record for a closed membership
    if (this.#status === 'idle' || (offset !== undefined && this.position !== null && offset <= this.position.offset))
      return
    const own = from !== undefined && this.link.isOwn(from)
    if (own) acknowledge?.()
    if (offset !== undefined) {
      meta.epoch = this.position?.epoch ?? ''
      this.position = { epoch: meta.epoch, offset }
    }
    for (const document of this.#documents)
      if (!own || document.echo) document._record(event, own ? [payload, meta] : [payload, meta, acknowledge])
    if (offset !== undefined) this.dealtWith()
  }

  /** Stores the position unless records are held for listeners: a reload would skip those. */
  dealtWith () {
    if (this.#documents.size === 0 || !this.position || this.position.epoch === '') return
    for (const { _holds } of this.#documents) if (_holds) return
    this.link.save(this.guid, this.position)
  }

  /**
   * @param {string} event
   * @param {object} argument
   * @param {number} [timeout] ms, for the connection and the answer together
   * @returns {Promise<any>}
   */
  async request (event, argument, timeout = TIMEOUT) {
    const deadline = clock.monotonic() + timeout
    if (!this.joined) await this.#untilJoined(timeout)
    return this.link.request(event, { guid: this.guid, ...argument }, Math.max(1, deadline - clock.monotonic()))
  }

  /** @param {string} event @param {unknown} data @returns {boolean} */
  signal (event, data) {
    if (this.joined) this.link.tell('doc:signal', { guid: this.guid, event, data })
    return this.joined
  }

  /** @param {Record<string, any>} state */
  async setState (state) {
    const listed = this.#listed
    this.#state = state
    try {
      await this.#takePart('doc:state', { state })
      this.#accepted = state
    } catch (error) {
      // if the gateway may have accepted the state, or may later, the next join sends it again
      const { retryable } = /** @type {ClientError} */ (error)
      if (!retryable && this.#state === state) {
        this.#state = this.#accepted
        this.#listed = listed
      }
      throw error
    }
  }

  /** @param {string} event @param {object} argument */
  async #takePart (event, argument) {
    this.#listed = true
    this.#onMembers(await this.request(event, argument))
  }

  /** @param {string} event @param {unknown[]} args */
  #emit (event, ...args) { for (const document of this.#documents) document._emit(event, args) }

  /**
   * @param {number} [timeout] ms; default: none
   * @returns {Promise<void>}
   */
  #untilJoined (timeout) {
    if (this.#waiting.size >= MAX_WAITING)
      return Promise.reject(
        new ClientError({ code: 'too_many_waiting', message: 'too many requests are queued', retryable: true })
      )
    return new Promise((resolve, reject) => {
      const timer = timeout === undefined ? undefined : setTimeout(() => {
        this.#waiting.delete(waiter)
        reject(new ClientError({ code: 'timeout', message: 'no connection in time; it was not sent', retryable: true }))
      }, timeout)
      const waiter = {
        resolve: () => { clearTimeout(timer); resolve() },
        reject: (/** @type {Error} */ error) => { clearTimeout(timer); reject(error) }
      }
      this.#waiting.add(waiter)
    })
  }
}
