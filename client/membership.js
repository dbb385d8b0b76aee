import { clock } from './clock.js'
import { delayBefore } from './delay.js'
import { Document } from './document.js'
import { ClientError } from './error.js'
import { Presence } from './presence.js'

/**
 * One document of a client: what it shares among all who opened it, joined anew with each connection.
 *
 * @typedef {import('./positions.js').Position} Position
 */

/**
 * What a membership needs of its client.
 * @typedef {object} Link
 * @property {(event: string, argument: object, timeout: number) => Promise<any>} request rejects with a ClientError
 * @property {(event: string, argument: object) => void} tell throws a ClientError
 * @property {(connectionId: string) => boolean} isOwn whether it is, or was, a connection of this client
 * @property {(guid: string, position: Position | null) => void} save
 * @property {(membership: Membership, toLeave: boolean) => void} gone it was closed; toLeave: the gateway has to be
 *   told
 */

/**
 * @typedef {object} OpenOptions
 * @property {Position | null} [position] where the caller's copy of the document is: what came after it is sent first.
 *   Default: what was kept, or now
 * @property {boolean} [presence] whether to be listed in `presence`, and to be told who else is; default: if there is a
 *   state
 * @property {Record<string, any>} [state] what others see of this member in `presence`
 * @property {boolean} [echo] whether to get what this client itself has sent; default false
 */

/** How long requests wait, for a connection as well, ms. */
const TIMEOUT = 10_000
/** A join may take long, as all that was missed comes first, ms. */
const JOIN_TIMEOUT = 30_000
/** Members that are asked for at a time. */
const PAGE = 500
/** Requests that may wait until the document is joined. */
const MAX_WAITING = 1000
/** Errors of a join that a state may be the cause of. */
const OF_STATES = /_too_large|bad_request/

export class Membership {
  /** @type {'idle' | 'joining' | 'joined'} */
  #status = 'idle'
  /** @type {Set<Document>} */
  #documents = new Set()
  /** Who waits for the join. @type {Set<{ resolve: () => void, reject: (error: Error) => void }>} */
  #waiting = new Set()
  /** Latest state of this client. @type {Record<string, any> | undefined} */
  #state
  /** State that the latest join carried. @type {Record<string, any> | undefined} */
  #offered
  /** State that the gateway accepted last. @type {Record<string, any> | undefined} */
  #accepted
  #wasJoined = false
  /** Whether it takes part in the presence. */
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
    /** Without an epoch until the gateway has told it. */
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
   * @returns {Promise<Document>} when it is joined
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
    if (state !== undefined && state !== this.#state) this.setState(state).catch(() => {}) // told with the next join
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

  /** Ends it for all. @param {ClientError} error */
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

  /** There is no connection to wait for. @param {ClientError} error */
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

  /** Its entry in a handshake: position and presence. @returns {object | null} */
  get opening () {
    const opening = { ...this.position, ...this.#presenceFields() }
    return Object.keys(opening).length > 0 ? opening : null
  }

  /** It is about to be joined: the handshake, or a request, says so. */
  offer () {
    this.#status = 'joining'
    this.#offered = this.#state
  }

  #presenceFields () {
    if (this.#state !== undefined) return { state: this.#state }
    return this.#listed ? { members: true } : {}
  }

  /** Joins it over a connection that is there. */
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
    // what is newer may have come before the answer
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
   * What an answer has of the presence; without members they are told later.
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
      // of a document that was open, what is refused is a state that nobody had taken yet
      if (!this.#wasJoined || this.#offered === this.#accepted || !OF_STATES.test(error.code)) return this.fail(error)
      if (this.#state === this.#offered) this.#state = this.#accepted
      return void this.join()
    }
    // still joining: where no answer came in time the gateway may be at it, and what it sends now it does not send
    // again
    this.#timer = setTimeout(() => this.join(), delayBefore(this.#failures++))
  }

  /** The connection has gone. */
  lost () {
    clearTimeout(this.#timer)
    this.#status = 'idle'
    this.presence.lost()
    if (this.position?.epoch === '') {
      // it was about to be joined for the first time: what came is of no use without what may come before the next join
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

  /** Records up to there were not for this client. @param {{ position: Position }} passed */
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
    // idle: it is still of a membership that was closed
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

  /** Keeps where the page is: after a reload it would miss what still waits for its listeners. */
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
      // one that the gateway may have taken, or may take later, is told again with the next join
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
   * @param {number} [timeout] ms; absent: as long as it takes
   * @returns {Promise<void>}
   */
  #untilJoined (timeout) {
    if (this.#waiting.size >= MAX_WAITING)
      return Promise.reject(
        new ClientError({ code: 'too_many_waiting', message: 'too much waits for the connection', retryable: true })
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
