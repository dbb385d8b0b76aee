import { PresenceDelivery } from './presence-delivery.js'

/**
 * The queue of one slow connection; it exists only while something is queued. When it is full, ephemeral records are
 * dropped first (of signals the newest of each kind and sender is kept), then records of documents, which their feeds
 * send again from the log (documents/catch-up.js). Packets for the connection itself, mainly acknowledgements, have no
 * log: they are queued up to twice the limits.
 *
 * @typedef {import('./delivery.js').Delivery} Delivery
 *
 * @typedef {object} SlowConnection a Connection, as its backlog uses it
 * @property {any} conn Engine.IO's socket
 * @property {(guid: string) => object | undefined} document
 * @property {(delivery: Delivery, anyway: boolean) => unknown} deliver
 * @property {(guid: string) => void} listMembers
 *
 * @typedef {object} Bounds the limits of all backlogs of a worker (backlogs.js)
 * @property {number} maxBytes
 * @property {number} low bytes
 * @property {number} closeFromBytes
 * @property {boolean} overfull all backlogs together have reached their limit
 * @property {(bytes: number) => void} added called for each packet that is queued
 * @property {() => void} dropped called for each ephemeral record that is dropped
 */

/** Memory of a queued packet besides its frame, which connections share, bytes. */
const PACKET_COST = 256
/** Maximum signals kept per connection. */
const MAX_SIGNALS = 100

export class Backlog {
  #connection
  #backlogs
  /** Engine.IO starts a new buffer when it passes one to the transport. @type {unknown[] | undefined} */
  #buffer
  #bufferBytes = 0
  /** Bytes of the previous buffer. With polling: a response that the client may still be reading. */
  #handedOver = 0
  /** Bytes that the kernel had not accepted at the last check. */
  #unsent = 0
  /** Whether the client has read something since the last check. */
  #takes = true
  /** When it was last seen reading, ms. */
  #tookAt = 0
  /** @type {Map<string, Delivery> | undefined} the newest signals, oldest first */
  #signals
  /** Documents with dropped presence events; their member lists are sent later. @type {Set<string> | undefined} */
  #unlisted
  /** @type {Promise<void> | undefined} */
  #taken
  /** Number of documents that are behind. */
  behind = 0
  /** Since when at least one is behind, ms. */
  behindSince = 0

  /**
   * @param {SlowConnection} connection
   * @param {Bounds} backlogs
   */
  constructor (connection, backlogs) {
    this.#connection = connection
    this.#backlogs = backlogs
  }

  /** @param {SlowConnection} connection of the same session, without documents that are behind */
  moveTo (connection) {
    this.#connection = connection
    this.behind = 0
  }

  get #conn () { return this.#connection.conn }

  /** Packets queued in Engine.IO, including those of Engine.IO and Socket.IO themselves. */
  get records () { return this.#conn.writeBuffer.length }

  /** Bytes queued in this process. */
  get bytes () {
    const { writeBuffer, transport, bufferedAmount } = this.#conn
    const same = writeBuffer === this.#buffer
    const waiting = same ? this.#bufferBytes : 0
    if (transport.name !== 'polling') return waiting + bufferedAmount
    // the client's next poll is the only sign that it has read the last response, so count all of it until then
    return waiting + (transport.writable ? 0 : same ? this.#handedOver : this.#bufferBytes)
  }

  /** Whether nothing is queued any more, or the connection is no longer open. */
  get done () {
    return (
      this.#conn.readyState !== 'open' ||
      (this.records === 0 &&
        this.behind === 0 &&
        this.#signals === undefined &&
        this.#unlisted === undefined &&
        this.bytes === 0)
    )
  }

  /** Whether even packets without a log exceed the limit: the connection is to be closed. */
  get overrun () { return this.bytes >= this.#backlogs.closeFromBytes }

  /** @param {number} bytes of a packet that Engine.IO is about to put into its buffer */
  wrote (bytes) {
    this.#noteHandover()
    if (this.#conn.transport.writable) {
      // written immediately, so the client has everything that was queued before
      this.#buffer = undefined
      this.#bufferBytes = bytes + PACKET_COST
      return
    }
    this.#bufferBytes += bytes + PACKET_COST
    this.#backlogs.added(bytes + PACKET_COST)
  }

  /** @param {number} bytes of a packet that was taken out of Engine.IO's buffer again */
  withdrew (bytes) {
    if (this.#conn.writeBuffer === this.#buffer) this.#bufferBytes -= Math.min(this.#bufferBytes, bytes + PACKET_COST)
  }

  /** Notes that Engine.IO has passed a buffer to the transport: the client has read the previous one. */
  #noteHandover () {
    if (this.#conn.writeBuffer === this.#buffer) return
    this.#buffer = this.#conn.writeBuffer
    this.#handedOver = this.#bufferBytes
    this.#bufferBytes = 0
    this.#takes = true
  }

  /**
   * Requests of the client don't count as reading.
   * @param {number} now ms
   * @returns {number} time since the client last read something, ms
   */
  stalledFor (now) {
    this.#noteHandover()
    const unsent = this.#conn.unsentBytes()
    if (this.#takes || unsent < this.#unsent || this.#conn.transport.writable) this.#tookAt = now
    this.#takes = false
    this.#unsent = unsent
    return now - this.#tookAt
  }

  /**
   * @param {Delivery | PresenceDelivery} delivery
   * @returns {boolean} false: do not write it now; a signal or a list of members may be written later
   */
  admits (delivery) {
    if (this.#conn.transport.writable) return true
    const { maxBytes, low, overfull } = this.#backlogs
    if (delivery instanceof PresenceDelivery) {
      if (this.bytes < low) return true
      this.#listLater(delivery.guid)
      return false
    }
    const { publication, meta } = delivery
    if (publication.ephemeral) {
      if (this.bytes < low) return true
      this.#keepNewest(delivery)
      return false
    }
    if (meta.offset !== undefined || meta.user !== undefined)
      return this.bytes < (overfull ? low : maxBytes)
    // packets without a log: the connection is closed when they exceed the limit
    return true
  }

  /**
   * @returns {Promise<void> | undefined} resolves when the client has read something or the connection has closed;
   *   undefined: it can take more now
   */
  drained () {
    const { transport, readyState } = this.#conn
    if (transport.writable || readyState !== 'open' || this.bytes < this.#backlogs.low) return undefined
    return this.#whenTaken()
  }

  /** @returns {Promise<void>} shared by all callers until it resolves */
  #whenTaken () {
    return this.#taken ??= new Promise((resolve) => {
      const conn = this.#conn
      const { transport } = conn
      const done = () => {
        transport.off('ready', done)
        conn.off('upgrade', done)
        conn.off('close', done)
        this.#taken = undefined
        resolve()
      }
      // runs after Engine.IO's own listener, which writes the queue
      transport.on('ready', done)
      conn.on('upgrade', done)
      conn.on('close', done)
    })
  }

  /** @param {string} guid */
  #listLater (guid) {
    if (this.#unlisted === undefined) {
      this.#unlisted = new Set()
      this.#whenTaken().then(() => {
        const guids = this.#unlisted ?? []
        this.#unlisted = undefined
        for (const guid of guids) this.#connection.listMembers(guid)
      })
    }
    this.#unlisted.add(guid)
    this.#backlogs.dropped()
  }

  /** @param {Delivery} delivery ephemeral */
  #keepNewest (delivery) {
    const { guid, event, from } = delivery.publication
    if (from === undefined) return this.#backlogs.dropped()
    if (this.#signals === undefined) {
      this.#signals = new Map()
      // however little the client has read: there are few signals, and they soon go stale
      this.#whenTaken().then(() => this.#writeSignals())
    }
    const key = `${guid}\0${event}\0${from}`
    if (this.#signals.delete(key)) this.#backlogs.dropped()
    this.#signals.set(key, delivery)
    if (this.#signals.size <= MAX_SIGNALS) return
    this.#signals.delete(/** @type {string} */ (this.#signals.keys().next().value))
    this.#backlogs.dropped()
  }

  #writeSignals () {
    const signals = this.#signals ?? new Map()
    this.#signals = undefined
    const { maxBytes } = this.#backlogs
    for (const delivery of signals.values()) {
      // skip documents that the connection has left meanwhile
      if (this.#connection.document(/** @type {string} */ (delivery.publication.guid)))
        this.#connection.deliver(delivery, this.bytes < maxBytes)
    }
  }
}
