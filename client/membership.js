import { clock } from './clock.js'
import { delayBefore } from './delay.js'
import { Document } from './document.js'
import { ClientError, closedError } from './error.js'
import { OwnState } from './own-state.js'
import { Presence } from './presence.js'
import { Signals } from './signals.js'
import { Waiting } from './waiting.js'
import { within } from './within.js'

/**
 * One document of a client, shared by all its Documents and joined again with each connection.
 *
 * @typedef {import('./positions.js').Position} Position
 */

/**
 * The functions of the client that a membership uses.
 * @typedef {object} Link
 * @property {(event: string, argument: object, timeout: number) => Promise<any>} request rejects with a ClientError
 * @property {(event: string, argument: object) => void} tell
 * @property {(event: string, argument: object) => void} check throws value_too_large
 * @property {import('./log.js').Log} log
 * @property {(guid: string, events: Omit<QueueEvents, 'send'>) => Promise<Queue> | null} openQueue null: there
 *   is no outbox
 * @property {(connectionId: string) => boolean} isOwn whether it is, or was, a connection of this client
 * @property {(guid: string, position: Position | null) => void} save
 * @property {(membership: Membership, toLeave: boolean) => void} gone it was closed; toLeave: send `doc:leave` to the
 *   gateway
 */

/**
 * @typedef {import('./outbox/contract.js').Queue} Queue
 * @typedef {import('./outbox/contract.js').QueueEvents} QueueEvents
 */

/**
 * @template {object} [Presence=Record<string, any>]
 * @typedef {object} OpenOptions
 * @property {Position | null | undefined} [position] of the caller's copy of the document: later records are sent
 *   first. Default: the stored position, or now
 * @property {import('./types.js').Load | undefined} [load] loads the document from its service: now, if there is no
 *   `position`, and after each `resync`
 * @property {boolean | undefined} [presence] whether to be listed in `presence`, and to receive the other members;
 *   default: if there is a state
 * @property {Presence | undefined} [state] shown to others in `presence`
 * @property {boolean | undefined} [echo] whether to receive this client's own records; default false
 * @property {AbortSignal | undefined} [signal] ends the wait
 * @property {number | undefined} [timeout] of the wait, ms; default: none
 */

/** Timeout of requests, the wait for a connection included, ms. */
const TIMEOUT = 10_000
/** Timeout of a join, ms; long, because all missed records are sent first. */
const JOIN_TIMEOUT = 30_000
/** Members per request. */
const PAGE = 500
/** Errors of a join that the presence state may have caused. */
const OF_STATES = /_too_large|bad_request/

export class Membership {
  /** @type {'idle' | 'joining' | 'joined'} */
  #status = 'idle'
  /** @type {Set<Document>} */
  #documents = new Set()
  #waiting = new Waiting()
  #signals = new Signals({
    tell: (event, data) => this.link.tell('doc:signal', { guid: this.guid, event, data }),
    request: (event, data) => this.link.request('doc:signal', { guid: this.guid, event, data }, TIMEOUT)
  })

  /** @type {Promise<Queue> | null} */
  #queue = null
  /** @type {readonly import('./types.js').QueuedSend[]} */
  pending = []
  /** For tools. */
  seen = { records: 0, gaps: 0, resyncs: 0 }
  #own
  #wasJoined = false
  #fresh
  #failures = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /**
   * @param {string} guid
   * @param {Link} link
   * @param {OpenOptions} options
   */
  constructor (guid, link, { position = null, state, presence }) {
    this.guid = guid
    this.link = link
    /** The epoch is '' until the gateway has sent it. */
    this.position = position && { ...position }
    /** Whether the first caller had no copy of the document. */
    this.#fresh = position === null
    this.#own = new OwnState({ state, presence })
    this.presence = new Presence(
      (cursor) =>
        this.link.request('doc:members', { guid, limit: PAGE, ...(cursor !== undefined && { cursor }) }, TIMEOUT),
      (diff) => this.#emit('presence', diff)
    )
    this.#queue = link.openQueue(guid, {
      onPending: (pending) => {
        this.pending = pending
        for (const document of this.#documents) document._notify('doc:pending', [pending])
      },
      onDropped: (edit, error) => {
        for (const document of this.#documents) document._notify('doc:dropped', [edit, error])
      }
    })
    this.#queue?.catch((error) => this.log('outbox failed', String(error)))
  }

  /** @param {string} what @param {import('./log.js').LogEntry['detail']} [detail] */
  log = (what, detail) => this.link.log(what, this.guid, detail)

  get joined () { return this.#status === 'joined' }
  get idle () { return this.#status === 'idle' }

  /**
   * @param {OpenOptions} options
   * @param {typeof import('./loader.js').Loader} [Loader] if there is a `load`
   * @returns {Promise<Document>} resolves when it is joined and loaded
   */
  async open ({ echo, position, state, presence, load, signal, timeout }, Loader) {
    const first = this.#documents.size === 0
    const document = new Document(this, { echo, load }, Loader)
    this.#documents.add(document)
    try {
      const opened = async () => {
        if (!this.joined) await this.whenJoined()
        if (load !== undefined && (first ? this.#fresh : !position)) document._load('open')
        else if (!first && position && this.position && isBehind(position, this.position))
          document._emit('resync', [{ position: { ...this.position }, reason: 'opened' }])
        if (load !== undefined) await document.ready
      }
      await within(opened(), { signal, timeout }, 'the document is not open yet')
    } catch (error) {
      document.close()
      throw error
    }
    // repeated by the next join
    if (state !== undefined && state !== this.#own.current) this.setState(state).catch(() => {})
    else if (presence && !this.#own.listed) this.#takePart('doc:join', { members: true }).catch(() => {})
    return document
  }

  /** @param {Document} document */
  close (document) {
    if (!this.#documents.delete(document) || this.#documents.size > 0) return
    const toLeave = this.#status !== 'idle'
    this.#end(closedError())
    this.link.save(this.guid, null)
    this.link.gone(this, toLeave)
  }

  /** Closes all its Documents. @param {ClientError} error */
  fail (error) {
    const documents = [...this.#documents]
    this.#documents.clear()
    this.#end(error)
    for (const document of documents) document._fail(error)
    this.link.gone(this, false)
  }

  /** Rejects the waiting callers: no connection will come. @param {ClientError} error */
  reject (error) { this.#waiting.reject(error) }

  /** @param {ClientError} error */
  #end (error) {
    this.#status = 'idle'
    clearTimeout(this.#timer)
    this.#signals.clear()
    this.presence.lost()
    this.reject(error)
    this.#queue?.then((queue) => queue.close()).catch(() => {})
  }

  /** The document's entry in a handshake: position and presence. @returns {object | null} */
  get opening () {
    const opening = { ...this.position, ...this.#own.fields }
    return Object.keys(opening).length > 0 ? opening : null
  }

  /** Called when a handshake or a request with its join is about to be sent. */
  offer () {
    this.#status = 'joining'
    this.#own.offer()
  }

  /** Joins over the current connection. */
  async join () {
    this.offer()
    clearTimeout(this.#timer)
    try {
      this.onJoined(await this.link.request('doc:join', {
        guid: this.guid, ...this.position && { position: this.position }, ...this.#own.fields
      }, JOIN_TIMEOUT))
    } catch (error) {
      this.onRefused(/** @type {ClientError} */ (error))
    }
  }

  /**
   * @param {{ position: Position, recovered: boolean, access?: 'read' } & Partial<import('./presence.js').Page>} answer
   */
  onJoined ({ position, recovered, access, ...page }) {
    if (this.#status !== 'joining') return
    this.#status = 'joined'
    this.#wasJoined = true
    this.#own.accepted()
    this.#failures = 0
    this.#signals.joined(access === 'read')
    if (this.position?.epoch === '') for (const document of this.#documents) document._complete(position.epoch)
    // newer records may have arrived before the answer
    const newer =
      this.position !== null && (this.position.epoch === '' || this.position.epoch === position.epoch)
        ? this.position.offset
        : 0
    this.position = { epoch: position.epoch, offset: Math.max(position.offset, newer) }
    this.dealtWith()
    this.#onMembers(page)
    this.log('joined', { ...position, recovered })
    for (const document of this.#documents) document._checkStatus()
    this.#emit('joined', { position: { ...position }, recovered })
    this.#waiting.resolve()
    this.#queue?.then((queue) => { if (this.joined) queue.joined() }).catch(() => {})
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
    this.log('join refused', error.code)
    if (error.code === 'disconnected') {
      this.#status = 'idle' // the next connection joins it
      return
    }
    if (!error.retryable) {
      // the document was open before, so the gateway refuses a new presence state: go back to the accepted one
      if (!this.#wasJoined || !OF_STATES.test(error.code) || !this.#own.refused()) return this.fail(error)
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
    this.#signals.clear()
    this.presence.lost()
    for (const document of this.#documents) document._checkStatus()
    this.#queue?.then((queue) => { if (!this.joined) queue.lost() }).catch(() => {})
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
    this.seen.resyncs++
    this.log('resync', reason)
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
   * @param {import('./types.js').Meta} meta
   * @param {(() => void) | undefined} acknowledge
   */
  onRecord (event, payload, meta, acknowledge) {
    const { offset, from } = meta
    // idle: a record for a closed membership
    if (this.#status === 'idle' || (offset !== undefined && this.position !== null && offset <= this.position.offset))
      return
    this.seen.records++
    const own = from !== undefined && this.link.isOwn(from)
    if (own) acknowledge?.()
    if (offset !== undefined) {
      if (this.position !== null && offset > this.position.offset + 1) this.seen.gaps++
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
    if (!this.joined) await this.#waiting.wait(timeout)
    return this.link.request(event, { guid: this.guid, ...argument }, Math.max(1, deadline - clock.monotonic()))
  }

  /** @returns {Promise<Position>} the client's position, when it is joined */
  async whenJoined () {
    if (!this.joined) await this.#waiting.wait()
    return { .../** @type {Position} */ (this.position) }
  }

  /** @param {{ before?: number | undefined, limit?: number | undefined }} query */
  async history ({ before, limit }) {
    const { records, position, more } = await this.request('doc:history', {
      ...(before !== undefined && { before }), ...(limit !== undefined && { limit })
    })
    return { records, position, more }
  }

  /**
   * Sends an edit through the outbox.
   * @param {{ event?: string, data: unknown }} argument
   * @returns {Promise<{ traceId?: string }>}
   */
  async queue (argument) {
    if (this.#queue === null)
      throw new ClientError({ code: 'bad_request', message: '`queue` needs the option `outbox` of connect' })
    this.link.check('doc:send', { guid: this.guid, ...argument, queue: { id: '0'.repeat(64), seq: 1e9 } })
    return (await this.#queue).add(argument)
  }

  /** @param {string} event @param {unknown} data @param {boolean} combine @returns {boolean} */
  signal (event, data, combine) {
    this.link.check('doc:signal', { guid: this.guid, event, data })
    return this.joined && this.#signals.signal(event, data, combine)
  }

  /** @param {object} state */
  async setState (state) {
    const { accept, refuse } = this.#own.set(state)
    try {
      await this.#takePart('doc:state', { state })
      accept()
    } catch (error) {
      // if the gateway may have accepted the state, or may later, the next join sends it again
      const { retryable } = /** @type {ClientError} */ (error)
      if (!retryable) refuse()
      throw error
    }
  }

  /** @param {string} event @param {object} argument */
  async #takePart (event, argument) {
    this.#own.listed = true
    this.#onMembers(await this.request(event, argument))
  }

  /** @param {string} event @param {unknown[]} args */
  #emit (event, ...args) { for (const document of this.#documents) document._emit(event, args) }

  /** For tools. */
  get status () { return this.#status }
  get documents () { return this.#documents }
  get signals () { return this.#signals }
}

/** @param {Position} position @param {Position} other @returns {boolean} whether records are missing between them */
const isBehind = ({ epoch, offset }, other) => epoch !== other.epoch || offset < other.offset
