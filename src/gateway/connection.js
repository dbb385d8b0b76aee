import { ERRORS } from '../errors.js'
import { writeFrames } from './hooks.js'
import { Allowance } from './limits.js'

/**
 * Where a Socket.IO socket and its Engine.IO socket have their Connection. Not in `socket.data`: that is for
 * extensions, and travels to other processes with `fetchSockets`.
 */
export const kConnection = Symbol('connection')

/**
 * One client connection: who it is, what it has open, and how records are written to it. There are very many of
 * them, so it has no closure, no timer and no map before it is needed.
 *
 * @typedef {import('../wire/packet.js').Codec} Codec
 * @typedef {import('../auth/authenticator.js').Identity} Identity
 */

/**
 * What is the same for all connections of a worker.
 * @typedef {object} ConnectionContext
 * @property {number} maxDocuments
 * @property {import('./limits.js').Rates} rates
 * @property {number} maxWaiting bytes that may wait for a client that does not take them
 * @property {{ json: number, msgpack: number, bytes: number }} tally deliveries and their bytes since the last look
 * @property {import('../clock.js').Clock} clock
 * @property {import('./outbox.js').Outbox} outbox
 * @property {() => void} onSlow called for each connection that is closed because too much waits for it
 * @property {boolean} spliced whether Engine.IO takes frames that are made already (hooks.js)
 */

/** What is queued for the end of the turn is written before it when there is this much, bytes: joining more saves nothing. */
const MAX_QUEUED = 2 ** 16
/** A client that comes back is sent more of what it missed when less than this waits for it, bytes. */
const FULL = 2 ** 20
/** What a packet that waits takes on top of its frame, which it shares with other connections, bytes. */
const PACKET_COST = 256
/** What waits is too much only if nothing could be written for so long, ms: a burst is no reason to give up on a client. */
const PATIENCE = 5000

/** A document that this connection has open, or is about to. */
class OpenDocument {
  /** False once it was left, or the connection has gone, while the join was still under way. */
  wanted = true
  joined = false
}

export class Connection {
  /** @type {Map<string, OpenDocument> | undefined} bounded by MAX_DOCUMENTS_PER_CONNECTION */
  #documents
  #allowance
  /** Written at the end of this turn. @type {import('../wire/packet.js').EncodedMessage[] | null} */
  #queued = null
  #queuedBytes = 0
  /** Bytes that wait for the transport, and since when they do, ms. */
  #waiting = 0
  #waitingSince = 0

  /**
   * @param {import('socket.io').Socket} socket
   * @param {Identity} identity
   * @param {Codec} codec
   * @param {string | undefined} client stable id across reconnects
   * @param {ConnectionContext} context
   */
  constructor (socket, identity, codec, client, context) {
    this.socket = socket
    this.id = socket.id
    this.conn = /** @type {any} */ (socket).conn
    this.identity = identity
    this.codec = codec
    this.client = client
    this.context = context
    this.#allowance = new Allowance(context.rates, context.clock.now())
  }

  get uid () { return this.identity.uid }
  get open () { return this.socket.connected }
  get transport () { return this.conn.transport.name }

  /** @param {string} guid */
  document (guid) { return this.#documents?.get(guid) }

  /** @returns {Iterable<string>} guids */
  documents () { return this.#documents?.keys() ?? [] }

  /** @param {string} guid @returns {OpenDocument | null} null: no more documents are allowed */
  addDocument (guid) {
    this.#documents ??= new Map()
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
    return /** @type {Map<string, OpenDocument>} */ (this.#documents).delete(guid)
  }

  /** Counts a packet that has arrived, and ends a connection that floods. @param {number} bytes */
  received (bytes) {
    if (!this.#allowance.packet(bytes, this.context.clock.now()) && this.open) this.disconnect('rate_limited')
  }

  /** @returns {boolean} whether one more event may be handled now */
  mayHandle () { return this.#allowance.event(this.context.clock.now()) }

  /**
   * Writes a record, at the end of this turn.
   * @param {import('./delivery.js').Delivery} delivery
   */
  deliver (delivery) {
    const { conn, codec, context } = this
    if (conn.readyState !== 'open') return
    for (const message of delivery.messages(codec)) {
      if (this.#queued !== null) {
        this.#queued.push(message)
      } else {
        this.#queued = [message]
        context.outbox.add(this)
      }
      context.tally.bytes += message.frame.length
      this.#queuedBytes += message.frame.length
    }
    context.tally[codec]++
    if (this.#queuedBytes >= MAX_QUEUED) this.flush()
  }

  /** Writes what is queued. Called at the end of a turn, and before anything else is written. */
  flush () {
    const messages = this.#queued
    if (messages === null) return
    this.#queued = null
    this.#queuedBytes = 0
    const { conn, context } = this
    if (conn.readyState !== 'open') return
    if (context.spliced && writeFrames(conn, context.outbox.join(messages))) {
      this.#waiting = 0
      return
    }
    for (const { data, frame } of messages) {
      if (context.spliced) conn.write(data, { wsPreEncodedFrame: [frame], compress: false })
      else conn.write(typeof data === 'string' || Buffer.isBuffer(data) ? data : data.toString())
      this.#wrote(frame.length)
    }
  }

  /** @param {number} bytes */
  #wrote (bytes) {
    if (this.conn.writeBuffer.length === 0) {
      this.#waiting = 0
      return
    }
    if (this.#waiting === 0) this.#waitingSince = this.context.clock.now()
    this.#waiting += bytes + PACKET_COST
    if (this.#waiting > this.context.maxWaiting && this.context.clock.now() - this.#waitingSince >= PATIENCE) {
      this.context.onSlow()
      // without a word, which would only wait as well; the client takes it for a lost connection and comes back
      this.conn.close(true)
    }
  }

  /** @returns {Promise<void> | undefined} resolves when it can take more, or has gone; undefined: it can now */
  drained () {
    const { conn } = this
    if (this.#waiting < FULL || conn.writeBuffer.length === 0 || conn.readyState !== 'open') return undefined
    return new Promise((resolve) => {
      const done = () => {
        conn.off('drain', done)
        conn.off('close', done)
        resolve()
      }
      conn.on('drain', done)
      conn.on('close', done)
    })
  }

  /**
   * @param {string} guid
   * @param {import('../wire/position.js').Position} position
   * @param {string} reason
   */
  resync (guid, position, reason) {
    this.socket.emit('doc:resync', { guid, position, reason })
  }

  /**
   * Ends the transport when what was written is on its way. Engine.IO would wait up to 30 s for a polling client to
   * ask once more.
   */
  goAway () {
    const { conn } = this
    if (this.transport === 'websocket') conn.close()
    else if (conn.writeBuffer.length === 0) conn.close(true)
    else conn.once('drain', () => conn.close(true))
  }

  /**
   * Ends the connection on purpose. The client learns why first, so that it can tell this from a network loss.
   * @param {import('../errors.js').ErrorCode} code
   */
  disconnect (code) {
    const { message, retryable } = ERRORS[code]
    this.socket.emit('gateway:disconnect', { code, message, retryable })
    this.socket.disconnect(true)
  }
}
