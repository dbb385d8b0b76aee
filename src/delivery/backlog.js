import { PresenceDelivery } from './presence-delivery.js'

/**
 * What waits for one connection whose client does not take everything at once. It is there only while something does.
 * When there is too much, ephemeral records go first, of signals all but the newest of each kind and sender; then
 * records of documents, which their feeds send again from the log (documents/catch-up.js). What is for the connection
 * itself, answers to it above all, has no log: it waits, up to twice the bounds.
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
 * @property {number} maxRecords
 * @property {number} low bytes
 * @property {number} closeFromBytes
 * @property {number} closeFromRecords
 * @property {boolean} overfull all backlogs together have reached their limit
 * @property {(bytes: number) => void} added called for each packet that is queued
 * @property {() => void} dropped called for each ephemeral record that is dropped
 */

/** What a packet that waits takes on top of its frame, which it shares with other connections, bytes. */
const PACKET_COST = 256
/** Signals kept for a client at a time. */
const MAX_SIGNALS = 100

export class Backlog {
  #connection
  #backlogs
  /** Engine.IO begins a new one whenever it hands one over to the transport. @type {unknown[] | undefined} */
  #buffer
  #bufferBytes = 0
  /** Of the buffer before it: with polling, an answer that the client may still be reading. */
  #handedOver = 0
  /** What the kernel had not taken at the last look. */
  #unsent = 0
  /** The client took something since the last look. */
  #takes = true
  /** When it was seen last to have taken something, ms. */
  #tookAt = 0
  /** @type {Map<string, Delivery> | undefined} the newest ones, the oldest of them first */
  #signals
  /** Documents whose presence it was not told, to be told the list of members. @type {Set<string> | undefined} */
  #unlisted
  /** @type {Promise<void> | undefined} */
  #taken
  /** Documents that are behind. */
  behind = 0
  /** Since when some are, ms. */
  behindSince = 0

  /**
   * @param {SlowConnection} connection
   * @param {Bounds} backlogs
   */
  constructor (connection, backlogs) {
    this.#connection = connection
    this.#backlogs = backlogs
  }

  get #conn () { return this.#connection.conn }

  /** Packets that wait, whoever wrote them. */
  get records () { return this.#conn.writeBuffer.length }

  /** Bytes that wait, in this process. */
  get bytes () {
    const { writeBuffer, transport } = this.#conn
    const same = writeBuffer === this.#buffer
    const waiting = same ? this.#bufferBytes : 0
    if (transport.name === 'websocket') return waiting + transport.socket.bufferedAmount
    // until it asks again nobody knows how much of the last answer it has
    return waiting + (transport.writable ? 0 : same ? this.#handedOver : this.#bufferBytes)
  }

  /** Nothing waits any more, for whatever reason. */
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

  /** So much waits that what has no log may not wait as well: the connection is to be closed. */
  get overrun () { return this.#isFull(this.#backlogs.closeFromBytes, this.#backlogs.closeFromRecords) }

  /** @param {number} bytes of a packet that Engine.IO is about to put into its buffer */
  wrote (bytes) {
    this.#noteHandover()
    if (this.#conn.transport.writable) {
      // handed over at once, so the client has all that was before it
      this.#buffer = undefined
      this.#bufferBytes = bytes + PACKET_COST
      return
    }
    this.#bufferBytes += bytes + PACKET_COST
    this.#backlogs.added(bytes + PACKET_COST)
  }

  /** Engine.IO has handed a buffer over since: the client had taken the one before it. */
  #noteHandover () {
    if (this.#conn.writeBuffer === this.#buffer) return
    this.#buffer = this.#conn.writeBuffer
    this.#handedOver = this.#bufferBytes
    this.#bufferBytes = 0
    this.#takes = true
  }

  /**
   * Whatever it asks meanwhile is no sign that it takes anything.
   * @param {number} now ms
   * @returns {number} how long the client has taken nothing, ms
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
   * @returns {boolean} false: it must not be written now; a signal, or a list of members, may be written later
   */
  admits (delivery) {
    if (this.#conn.transport.writable) return true
    const { maxBytes, maxRecords, low, overfull } = this.#backlogs
    if (delivery instanceof PresenceDelivery) {
      if (!this.#isFull(low, maxRecords)) return true
      this.#listLater(delivery.guid)
      return false
    }
    const { publication, meta } = delivery
    if (publication.ephemeral) {
      if (!this.#isFull(low, maxRecords)) return true
      this.#keepNewest(delivery)
      return false
    }
    if (meta.offset !== undefined) return !this.#isFull(overfull ? low : maxBytes, maxRecords)
    // or is closed
    return true
  }

  /**
   * @returns {Promise<void> | undefined} resolves when the client has taken something, or has gone; undefined: it can
   *   take more now
   */
  drained () {
    const { transport, readyState } = this.#conn
    const { low, maxRecords } = this.#backlogs
    if (transport.writable || readyState !== 'open' || !this.#isFull(low, maxRecords)) return undefined
    return this.#whenTaken()
  }

  /** @param {number} bytes @param {number} records */
  #isFull (bytes, records) { return this.records >= records || this.bytes >= bytes }

  /** @returns {Promise<void>} of all that wait for the same */
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
      // after Engine.IO's own listener, which writes what has waited
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
      // however little was taken: it is not much, and the next ones are newer
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
    const { maxBytes, maxRecords } = this.#backlogs
    for (const delivery of signals.values()) {
      // it may have left the document since
      if (this.#connection.document(/** @type {string} */ (delivery.publication.guid)))
        this.#connection.deliver(delivery, !this.#isFull(maxBytes, maxRecords))
    }
  }
}
