import { clock } from '../common/clock.js'
import { delayAfter } from '../connection/delay.js'
import { Document } from './document.js'
import { ClientError, badRequest, closedError } from '../common/error.js'
import { Inbox } from './inbox.js'
import { Signals } from './signals.js'
import { Waiting } from '../common/waiting.js'
import { within } from '../common/within.js'

/**
 * One document of a client, shared by all its Documents and joined again with each connection.
 *
 * @typedef {import('./positions.js').Position} Position
 * @typedef {import('./options.js').OpenOptions} OpenOptions
 * @typedef {import('../outbox/contract.js').Queue} Queue
 */

/**
 * The functions of the client that a membership uses.
 * @typedef {object} Link
 * @property {Pick<import('../connection/connection.js').Connection, 'request' | 'tell' | 'check'>} connection
 * @property {import('../common/log.js').Log} log
 * @property {(membership: Membership) => Promise<Queue> | null} openQueue null: there is no outbox
 * @property {(connectionId: string) => boolean} isOwn whether it is, or was, a connection of this client
 * @property {(guid: string, position: Position | null) => void} save
 * @property {(membership: Membership, toLeave: boolean) => void} gone it was closed; toLeave:
 *   send `doc:leave` to the gateway
 */

/** Timeout of requests, the wait for a connection included, ms. */
const TIMEOUT = 10_000
/** Timeout of a join, ms; long, because all missed records are sent first. */
const JOIN_TIMEOUT = 30_000
/** @type {readonly never[]} */
const NONE = []

export class Membership {
  /** @type {'idle' | 'joining' | 'joined'} */
  status = 'idle'
  /** One for each Document. @type {Set<Inbox>} */
  inboxes = new Set()
  #waiting = new Waiting()
  signals = new Signals(this)

  /** Opens `outbox`. @type {Promise<Queue> | null | undefined} */
  #opening
  /** Set by the outbox when it is open. @type {Queue | undefined} */
  outbox
  /** Lists the queued edits; replaced by the outbox. @type {() => readonly import('../types.js').QueuedSend[]} */
  pending = () => NONE
  /** At the last join. */
  readOnly = false
  /** For tools. */
  seen = { records: 0, gaps: 0, resyncs: 0 }
  /** Present members. @type {import('../presence/presence.js').Members} */
  members = Object.assign(new Map(), { count: 0 })
  /** @type {import('../presence/participation.js').Participation | undefined} */
  #part
  #last
  #failures = 0
  /** @type {import('../common/clock.js').Timer | undefined} */
  #timer

  /**
   * @param {string} guid
   * @param {Link} link
   * @param {Position | null} position
   * @param {import('./begin.js').Begin} [begin] of the first caller
   */
  constructor (guid, link, position, begin) {
    this.guid = guid
    this.link = link
    this.#last = begin?.last
    /** The epoch is '' until the gateway has sent it. */
    this.position = position
    this.#openQueue()?.catch(() => {})
  }

  /** @param {string} what @param {import('../common/log.js').LogEntry['detail']} [detail] */
  log = (what, detail) => this.link.log(what, this.guid, detail)

  get joined () { return this.status === 'joined' }

  /**
   * @param {OpenOptions} options
   * @param {import('./begin.js').Begin} [begin] what follows from `load` or `last`
   * @returns {Promise<Document>} resolves when it is joined and loaded
   */
  async open (options, begin) {
    const { position, offline } = options
    const first = this.inboxes.size === 0
    const inbox = new Inbox(this, options, begin?.Loader)
    this.inboxes.add(inbox)
    // without a `load`, `inbox.load` does nothing
    if (first) {
      if (!this.position) inbox.load('open')
    } else if (position) {
      inbox.copy = position
      if (this.position?.epoch) inbox.compare()
    } else {
      inbox.load('open')
      begin?.fill?.(this, inbox)
    }
    try {
      await within(offline ? Promise.resolve() : inbox.ready(), options, 'the document is not open yet')
    } catch (error) {
      inbox.close()
      throw error
    }
    this.#part?.open(options)
    return new Document(this, inbox)
  }

  /** @param {Inbox} inbox that is closed */
  close (inbox) {
    if (!this.inboxes.delete(inbox) || this.inboxes.size > 0) return
    const toLeave = this.status !== 'idle'
    this.#end(closedError())
    this.link.save(this.guid, null)
    this.link.gone(this, toLeave)
  }

  /** Closes all its Documents. @param {ClientError} error */
  fail (error) {
    const inboxes = [...this.inboxes]
    this.inboxes.clear()
    this.#end(error)
    // a listener may open the document again
    this.link.gone(this, false)
    for (const inbox of inboxes) inbox.fail(error)
  }

  /** Rejects the waiting callers: no connection will come. @param {ClientError} error */
  reject (error) {
    this.#waiting.reject(error)
    for (const { waiting } of this.inboxes) waiting.reject(error)
  }

  /** @param {ClientError} error */
  #end (error) {
    this.#rest()
    this.reject(error)
    this.outbox?.close()
  }

  /** Opens the outbox, also after a failure. @returns {Promise<Queue> | null | undefined} null: there is none */
  #openQueue () {
    return this.#opening ??= this.link.openQueue(this)?.catch((cause) => {
      this.#opening = null
      this.log('outbox failed', String(cause))
      throw new ClientError({ code: 'storage_failed', message: 'the outbox failed' }, { cause })
    })
  }

  #rest () {
    this.status = 'idle'
    this.#timer?.stop()
    this.signals.clear()
    this.#part?.lost()
  }

  /** The document's entry in a handshake: position, or what to begin with, and presence. */
  get opening () { return { ...this.position ?? this.#last, ...this.#part?.fields } }

  /** Called when a handshake or a request with its join is about to be sent. */
  offer () {
    this.status = 'joining'
    this.#part?.offer()
  }

  /** Joins over the current connection. */
  async join () {
    this.offer()
    this.#timer?.stop()
    try {
      this.onJoined(await this.ask('doc:join', {
        ...this.position ? { position: this.position } : this.#last, ...this.#part?.fields
      }, JOIN_TIMEOUT))
    } catch (error) {
      this.onRefused(/** @type {ClientError} */ (error))
    }
  }

  /**
   * @param {{ position: Position, recovered: boolean, access?: 'read', signals?: boolean } &
   *   Partial<import('../presence/presence.js').Page>} answer
   */
  onJoined ({ position, recovered, access, signals, ...page }) {
    if (this.status !== 'joining') return
    this.status = 'joined'
    this.#failures = 0
    this.readOnly = access === 'read'
    this.signals.joined(this.readOnly && !signals)
    // newer records may have arrived before the answer
    const { epoch, offset } = this.position ?? position
    const newer = epoch === '' || epoch === position.epoch ? offset : 0
    this.position = { ...position, offset: Math.max(position.offset, newer) }
    this.#part?.joined(page)
    this.log('joined', { ...position, recovered })
    for (const inbox of this.inboxes) inbox.joined(position.epoch)
    this.emit('joined', { position: { ...position }, recovered })
    this.#waiting.resolve()
    if (this.outbox) this.outbox.joined()
    else this.#openQueue()?.catch(() => {})
  }

  /** @param {ClientError} error */
  onRefused (error) {
    if (this.status !== 'joining') return
    this.log('join refused', error.code)
    if (error.code === 'disconnected') {
      this.status = 'idle' // the next connection joins it
      return
    }
    if (!error.retryable) {
      // if the cause is a new presence state, go back to the one before
      if (!this.#part?.refused(error.code)) return this.fail(error)
      return void this.join()
    }
    // remain `joining`: after a timeout the gateway may still be at it, and records that it sends now are not sent
    // again
    const delay = delayAfter(error, this.#failures++)
    this.#timer = clock.timer(delay, () => this.join())
  }

  /** Called when the connection is lost. */
  lost () {
    this.#rest()
    // during the first join, records so far are useless, because others may precede those of the next join
    if (!this.position?.epoch) this.position = null
    for (const inbox of this.inboxes) {
      if (!this.position) inbox.held.replace()
      inbox.checkStatus()
    }
    this.outbox?.lost()
  }

  /** @param {{ position: Position, reason: string }} resync */
  onResync ({ position, reason }) {
    if (this.status === 'idle') return
    this.position = { ...position }
    this.seen.resyncs++
    this.log('resync', reason)
    this.emit('resync', { position: { ...position }, reason })
    this.dealtWith()
  }

  /**
   * Records up to this position were not for this client, or the newest records follow it.
   * @param {{ position: Position }} passed
   */
  onPosition ({ position }) {
    const at = this.position
    if (this.status === 'idle' || (at && (at.epoch !== position.epoch || position.offset <= at.offset))) return
    this.position = { ...position }
    this.dealtWith()
  }

  /** @param {import('../presence/presence.js').Update} update */
  onPresence (update) { if (this.status !== 'idle') this.#part?.apply(update) }

  /**
   * @param {string} event
   * @param {unknown} payload
   * @param {import('../types.js').Meta} meta
   * @param {(() => void) | undefined | void} acknowledge
   */
  onRecord (event, payload, meta, acknowledge) {
    const { offset, after, from } = meta
    const before = /** @type {number} */ (this.position?.offset)
    // idle: a record for a closed membership. A comparison without one of the offsets is false
    if (this.status === 'idle' || /** @type {number} */ (offset) <= before) return
    this.seen.records++
    const own = from !== undefined && this.link.isOwn(from)
    if (own) acknowledge = acknowledge?.()
    if (offset !== undefined) {
      // records between `after` and `offset` were replaced by newer ones of their key
      if ((after ?? offset - 1) > before) this.seen.gaps++
      meta.epoch = this.position?.epoch ?? ''
      this.position = { epoch: meta.epoch, offset }
    }
    for (const inbox of this.inboxes)
      if (!own || inbox.echo) inbox.record(event, [payload, meta, acknowledge])
    if (offset !== undefined) this.dealtWith()
  }

  /** Stores the position unless records are held for listeners: a reload would skip those. */
  dealtWith () {
    if (this.inboxes.size === 0 || !this.position?.epoch) return
    for (const { holds } of this.inboxes) if (holds) return
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
    if (!this.joined) {
      this.link.connection.check(event, { guid: this.guid, ...argument })
      await this.#waiting.wait(timeout)
    }
    return this.ask(event, argument, Math.max(1, deadline - clock.monotonic()))
  }

  /** An event that has no answer. @param {string} event @param {object} argument */
  tell (event, argument) { this.link.connection.tell(event, { guid: this.guid, ...argument }) }

  /** Over the current connection. @param {string} event @param {object} argument @param {number} [timeout] ms */
  ask (event, argument, timeout = TIMEOUT) {
    return this.link.connection.request(event, { guid: this.guid, ...argument }, timeout)
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
    if (this.outbox) return this.outbox.add(argument)
    const opening = this.#openQueue()
    if (!opening) throw badRequest('`queue` needs the option `outbox` of connect')
    try {
      argument = structuredClone(argument) // the caller may change it meanwhile
    } catch {} // the outbox reports it
    return (await opening).add(argument)
  }

  /** @param {string} event @param {unknown} data @param {boolean} combine @returns {boolean} */
  signal (event, data, combine) {
    this.link.connection.check('doc:signal', { guid: this.guid, event, data })
    return this.joined && this.signals.signal(event, data, combine)
  }

  /**
   * Takes part in the presence, from now on.
   * @param {typeof import('../presence/participation.js').Participation} Participation
   * @param {OpenOptions} [options] of the first Document
   */
  takePart (Participation, options) {
    return this.#part ??= new Participation(this, options)
  }

  /**
   * @param {(part: import('../presence/participation.js').Participation) => Promise<any>} use this client's part in the
   *   presence
   */
  async withPart (use) {
    return use(this.#part ?? this.takePart((await import('../presence/participation.js')).Participation))
  }

  /** @param {string} event @param {unknown[]} args */
  emit (event, ...args) { for (const inbox of this.inboxes) inbox.emit(event, args) }
}
