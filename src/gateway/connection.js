import { ERRORS, InkcastError, publicError } from '../base/common/errors.js'
import { SmallMap } from '../base/common/small-map.js'
import { retryHint } from '../transport/admission/handshake-limit.js'
import { RateLimit, refusal } from '../transport/admission/rate-limit.js'
import { CloseCode } from '../transport/engine/frame-reader.js'
import { listenerOf } from '../transport/engine/link.js'
import { happened } from '../observe/metrics/points.js'
import { OpenDocument } from './open-document.js'
import { sizeOf, takeBack } from './queued-packets.js'
import { senderId } from './sender.js'
import { Tabs } from './tabs.js'
import { TurnQueue } from './turn-queue.js'

/**
 * One client connection: its user, its open documents, and the writing of records. A worker has very many of them, so a
 * Connection has no closure and no timer, and creates maps only when they are needed. Each protocol extends it:
 * socketio-connection.js, plain/plain-connection.js.
 *
 * @typedef {import('../wire/packet.js').Codec} Codec
 * @typedef {import('../people/auth/authenticator.js').Identity} Identity
 * @typedef {import('./queued-packets.js').Packet} Packet
 * @typedef {import('../documents/delivery/delivery.js').Delivery |
 *   import('../documents/delivery/presence-delivery.js').PresenceDelivery} Delivered
 */

/**
 * Dependencies and settings that all connections of a worker share.
 * @typedef {object} ConnectionContext
 * @property {number} maxDocuments
 * @property {import('../transport/admission/rate-limit.js').Rates} rates
 * @property {(uid: string) => import('../transport/admission/user-budget.js').UserBudget} budgetOf a registered user
 * @property {Pick<import('../people/tenants/budgets.js').TenantBudgets, 'event' | 'refusalOf'>} [tenants]
 * @property {{ json: number, msgpack: number, bytes: number }} tally deliveries and their bytes since the last scrape
 * @property {import('../base/common/clock.js').Clock} clock
 * @property {Pick<import('../base/common/random.js').Random, 'number'>} random
 * @property {import('../documents/delivery/turn-writes.js').TurnWrites} turnWrites
 * @property {Pick<import('../documents/receipts/receipts.js').Receipts, 'acknowledge'>} receipts
 * @property {import('../documents/delivery/backlogs.js').Backlogs} backlogs
 * @property {object} metrics of the worker
 * @property {(connection: Connection, guid: string) => void} listMembers sends it the members of a document
 * @property {(conn: any) => number} lastSeenOf when an Engine.IO socket last received something, ms since 1970
 */

/**
 * Time that a polling client of a draining worker has for its next poll, ms. When all workers stop, that poll never
 * arrives.
 */
const NEXT_POLL = 1000

/** @abstract @extends {TurnQueue<ConnectionContext>} */
export class Connection extends TurnQueue {
  /** @type {SmallMap<string, OpenDocument> | undefined} bounded by MAX_DOCUMENTS_PER_CONNECTION */
  #documents
  #rateLimit
  /** Null while nothing is queued. @type {import('../documents/delivery/backlog.js').Backlog | null} */
  backlog = null
  /**
   * Its identity in open receipts; null until an acknowledgement is first requested from it.
   * @type {import('../documents/receipts/receipt.js').Receiver | null}
   */
  receiver = null
  /** Whether its client acknowledges records with `meta.sampled` by itself. */
  acknowledges = false
  /** The second in which expiry.js handles it next; 0: not scheduled. */
  expiresIn = 0
  /** @type {string | undefined} */
  #sender
  /** Usually undefined: a connection of one client. @type {Tabs | undefined} */
  tabs
  /** Why the gateway closes the connection. @type {import('../base/common/errors.js').ErrorCode | null} */
  endCode = null

  /**
   * @param {{ id: string, conn: any }} socket the client's, with the session (transport/engine/link.js) as `conn`
   * @param {Identity} identity
   * @param {Codec} codec
   * @param {string | undefined} client stable id across reconnects
   * @param {ConnectionContext} context
   */
  constructor (socket, identity, codec, client, context) {
    super(socket.conn, context)
    this.id = socket.id
    this.identity = identity
    this.codec = codec
    this.client = client
    this.#rateLimit = new RateLimit(context.rates, context.budgetOf(identity.uid), context.clock.monotonic())
  }

  /**
   * Takes the place of another connection of the same session: it keeps the rate limit and the backlog, so that a
   * client cannot reset them.
   * @param {Connection} other
   */
  continue (other) {
    other.flush()
    this.#rateLimit = other.#rateLimit
    this.context.backlogs.move(other, this)
  }

  get uid () { return this.identity.uid }
  /** The id that excludes this client from its own changes; see sender.js. Most connections never need it. */
  get sender () {
    return this.#sender ??= this.client === undefined ? this.id : senderId(this.identity, this.client)
  }

  /**
   * The id that excludes one of the tabs that share this connection, or without a tab this client.
   * @param {string} [tab] its client id
   */
  senderOf (tab) { return tab === undefined ? this.sender : senderId(this.identity, tab) }

  /** @param {string} tab client id of one of the tabs that share this connection */
  isSharedBy (tab) { (this.tabs ??= new Tabs(this.identity)).add(tab) }

  get transport () { return this.conn.transport.name }
  /** The name of its listener. */
  get listener () { return listenerOf(this.conn) }
  get lastSeen () { return this.context.lastSeenOf(this.conn) }

  // The part that depends on the protocol

  /** Whether the client's id is its own: a new connection with the same id replaces this one (takeovers.js). */
  get exclusive () { return false }

  /** Whether the client is connected. @abstract @returns {boolean} */
  get open () { throw new Error('not implemented') }

  /** Sends an event of the gateway. @abstract @param {string} _event @param {object} _payload */
  send (_event, _payload) { throw new Error('not implemented') }

  /** Closes the connection after what was written. @abstract */
  endSession () { throw new Error('not implemented') }

  /** Enters a room of extensions. @param {string} _room @returns {Promise<void> | void} */
  enterRoom (_room) {}

  /** @param {string} _room @returns {Promise<void> | void} */
  leaveRoom (_room) {}

  /** Its identity is another one: tells extensions. */
  describe () {}

  /**
   * @abstract
   * @param {Delivered} _delivery
   * @param {any} _found as in `deliver`
   * @returns {import('../wire/packet.js').EncodedMessage[]}
   */
  messagesOf (_delivery, _found) { throw new Error('not implemented') }

  /** @abstract @param {Packet} _queued @returns {number | undefined} id of the request that it answers */
  requestOf (_queued) { throw new Error('not implemented') }

  /** @abstract @param {number} _id of a request @param {object} _answer */
  answer (_id, _answer) { throw new Error('not implemented') }

  /** @param {string} guid */
  document (guid) { return this.#documents?.get(guid) }

  /** @returns {Iterable<string>} guids */
  documents () { return this.#documents?.keys() ?? [] }

  /**
   * State of a document that clients of this protocol may send to without opening it.
   * @param {string} _guid
   * @returns {{ hasMessage: boolean } | undefined} undefined: they have to open it first
   */
  unopened (_guid) { return undefined }

  get documentCount () { return this.#documents?.size ?? 0 }

  /** @returns {string[]} guids of documents whose join is complete */
  openDocuments () {
    const guids = []
    for (const [guid, { joined }] of this.#documents ?? []) if (joined) guids.push(guid)
    return guids
  }

  /** @param {string} guid @returns {OpenDocument | null} null: no more documents are allowed */
  addDocument (guid) {
    this.#documents ??= new SmallMap()
    if (this.#documents.size >= this.context.maxDocuments) return null
    const document = new OpenDocument()
    this.#documents.set(guid, document)
    return document
  }

  /** @param {string} guid @returns {boolean} whether it was open */
  removeDocument (guid) {
    const document = this.#documents?.get(guid)
    if (document === undefined) return false
    document.wanted = false
    return /** @type {SmallMap<string, OpenDocument>} */ (this.#documents).delete(guid)
  }

  /**
   * Counts received packets and closes a connection that exceeds its rate limit.
   * @param {number} bytes
   * @param {number} [frames]
   */
  received (bytes, frames = 1) {
    if (this.#rateLimit.packet(bytes, this.context.clock.monotonic(), frames)) return
    if (this.open) this.disconnect('rate_limited')
    else this.conn.terminate()
  }

  /** Handles an acknowledgement. @param {number} ackId */
  acknowledged (ackId) {
    // the gateway requested it, so it does not count against the client's rate limit
    if (this.open && this.context.receipts.acknowledge(this, ackId)) this.#rateLimit.refundPacket()
  }

  /** @returns {boolean} whether one more event may be decoded and handled now */
  mayHandle () {
    const { clock, tenants } = this.context
    return this.#rateLimit.event(clock.monotonic()) && (tenants === undefined || tenants.event(this.uid))
  }

  /** Why the last event was not handled, if it was because of its tenant. */
  get limited () {
    const error = this.context.tenants?.refusalOf(this.uid)
    return error && refusal(error)
  }

  /** @returns {boolean} whether its cost is so high that no packet of it may be decoded now */
  get overworked () { return this.#rateLimit.overworked(this.context.clock.monotonic()) }

  /** @param {number} ms CPU time of decoding a large packet */
  decoded (ms) { this.#rateLimit.decoded(ms) }

  /**
   * Counts the first message to a document.
   * @throws {import('../base/common/errors.js').InkcastError} rate_limited
   */
  beginsSending () { this.#rateLimit.beginsSending(this.context.clock.monotonic()) }

  /** @param {number} bytes of an answer */
  answered (bytes) { this.#rateLimit.answered(bytes) }

  /**
   * Writes a record at the end of this turn.
   * @param {Delivered} given
   * @param {boolean} [anyway] write regardless of the backlog
   * @param {any} [found] for `messagesOf`: what the protocol has looked up before
   * @returns {false | void} false: the backlog is full
   */
  deliver (given, anyway = false, found = undefined) {
    const { conn, codec, context } = this
    if (conn.readyState !== 'open') return
    const asked = given.receipt?.sampled && !this.acknowledges ? given.plain : given
    const delivery = this.tabs === undefined ? asked : asked.forTabs(this.tabs)
    if (this.backlog !== null && !anyway && !this.backlog.admits(delivery)) {
      delivery.trace?.tell(this, 'withheld')
      return false
    }
    delivery.receipt?.ask(this)
    delivery.trace?.delivering(this, delivery)
    for (const message of this.messagesOf(delivery, found)) this.queue(message)
    context.tally[codec]++
    this.flushLarge()
  }

  /**
   * Tells observers about this connection. To be called while `happened` has subscribers.
   * @param {string} hop
   * @param {object} event
   * @param {Iterable<string>} [guids] documents that it concerns as well
   */
  tell (hop, event, guids) {
    happened.publish({ by: this.context.metrics, connection: this, hop, event, guids })
  }

  /**
   * Drops what was written about a document and is still queued in this process: the user may not have it any more.
   * Requests whose answers are dropped are answered `not_joined`.
   * @param {string} guid
   * @returns {Buffer[]} frames of what was dropped
   */
  withdraw (guid) {
    const queued = this.withdrawQueued(guid)
    const taken = takeBack(this.conn, guid)
    for (const packet of taken) this.backlog?.withdrew(sizeOf(packet))
    const error = publicError(new InkcastError('not_joined'))
    for (const packet of taken) {
      const id = this.requestOf(packet)
      if (id !== undefined) this.answer(id, { ok: false, error })
    }
    return [...queued.map(({ frame }) => frame), ...taken.flatMap(({ options }) => options?.wsPreEncodedFrame ?? [])]
  }

  /**
   * Called before a packet of the session is written or queued: records that were delivered earlier go first.
   * @param {{ data?: any, options?: any }} packet Engine.IO's
   */
  writes (packet) {
    this.flush()
    if (this.backlog !== null || !this.conn.transport.writable) this.waits(packet)
  }

  /**
   * Counts a packet that is about to be queued, and closes the connection if its backlog is overrun. Called only while
   * the transport cannot write or a backlog exists.
   * @param {{ data?: any, options?: any }} packet Engine.IO's
   */
  waits (packet) {
    // the flush may have closed the connection
    if (this.conn.readyState !== 'open') return
    const { backlogs } = this.context
    const backlog = this.backlog ??= backlogs.open(this)
    if (backlog.overrun) this.tooSlow()
    else backlog.wrote(sizeOf(packet))
  }

  /** @returns {Promise<void> | undefined} resolves when it can take more or has closed; undefined: it can now */
  drained () { return this.backlog?.drained() }

  /** Sends the list of members after presence events were dropped. @param {string} guid */
  listMembers (guid) { this.context.listMembers(this, guid) }

  fellBehind () {
    const { backlog } = this
    if (backlog !== null && backlog.behind++ === 0) backlog.behindSince = this.context.clock.monotonic()
  }

  caughtUp () {
    if (this.backlog !== null) this.backlog.behind--
    if (happened.hasSubscribers) this.tell('caught_up', {}, this.documents())
  }

  /** Closes the connection of a slow client and counts it. */
  tooSlow () { this.context.backlogs.giveUp(this) }

  /**
   * Closes the connection, for instance of a slow client, without an event, which would only be queued as well. Stock
   * clients reconnect automatically.
   * @param {string} [reason] for the client, less than 124 bytes
   */
  giveUp (reason = 'too slow, resume') {
    const { conn } = this
    if (happened.hasSubscribers) this.tell('closing', { reason }, this.documents())
    if (this.transport === 'websocket') conn.closeWith(CloseCode.TRY_AGAIN_LATER, reason)
    else conn.close(true)
  }

  /**
   * @param {string} guid
   * @param {import('../wire/position.js').Position} position
   * @param {string} reason
   */
  resync (guid, position, reason) {
    if (happened.hasSubscribers) this.tell('resync', { guid, reason, ...position })
    this.about(guid, () => this.send('doc:resync', { guid, position, reason }))
  }

  /** @param {string} guid @param {import('../wire/position.js').Position} position */
  passedOver (guid, position) {
    this.about(guid, () => this.send('doc:position', { guid, position }))
  }

  /** Announces to the client that its worker drains, and when to reconnect. */
  tellDraining () {
    this.send('gateway:draining', { reconnectInMs: Math.round(this.context.random.number() * 1000) })
  }

  /**
   * Closes the transport once its data is on the way. With polling this waits for the next poll: a request that found
   * no session could be answered before the client has read the data.
   * @returns {void}
   */
  goAway () {
    const { conn } = this
    this.flush()
    if (this.transport === 'websocket') return void conn.close()
    const end = () => conn.close(true)
    const onceMore = () => {
      conn.transport.once('ready', end)
      this.context.clock.timer(NEXT_POLL, end).unref()
    }
    if (conn.writeBuffer.length === 0) onceMore()
    else conn.once('drain', onceMore)
    conn.once('upgrade', () => conn.close())
  }

  /**
   * Closes the connection on purpose. The client first receives the reason, to distinguish this from a network loss.
   * @param {import('../base/common/errors.js').ErrorCode} code
   * @param {number} [retryInMs] default: some seconds if the error is retryable
   * @param {string} [message]
   */
  disconnect (code, retryInMs, message = ERRORS[code].message) {
    const { retryable } = ERRORS[code]
    this.endCode ??= code
    if (happened.hasSubscribers) this.tell('closing', { reason: code }, this.documents())
    const hint = retryInMs === undefined ? retryHint({ retryable }, this.context.random) : { retryInMs }
    this.send('gateway:disconnect', { code, message, retryable, ...hint })
    this.endSession()
  }
}
