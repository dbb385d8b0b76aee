import { noteDocument, noteWrites } from './queued-packets.js'

/** The queue was written before the end of the turn. @type {import('../wire/packet.js').EncodedMessage[]} */
const NOTHING = []
/**
 * The queue for the end of the turn is written early when it reaches this size, bytes: joining more frames saves
 * nothing.
 */
const MAX_QUEUED = 2 ** 16

/**
 * The part of a connection that writes records: those of one turn wait here, and are written together at its end. It is
 * its base class, because a worker has very many connections: an object of its own would cost memory in each.
 *
 * @template {{ turnWrites: import('../documents/delivery/turn-writes.js').TurnWrites, tally: { bytes: number } }} C
 */
export class TurnQueue {
  /**
   * Written at the end of the turn; null: this connection is not in the list of the turn.
   * @type {import('../wire/packet.js').EncodedMessage[] | null}
   */
  #queued = null
  #queuedBytes = 0

  /**
   * @param {any} conn the session (transport/engine/link.js)
   * @param {C} context that all connections of a worker share
   */
  constructor (conn, context) {
    this.conn = conn
    this.context = context
  }

  /** Writes a message at the end of this turn. @param {import('../wire/packet.js').EncodedMessage} message */
  queue (message) {
    const { turnWrites, tally } = this.context
    if (this.#queued === null) turnWrites.add(this)
    if (this.#queued === null || this.#queued === NOTHING) this.#queued = [message]
    else this.#queued.push(message)
    tally.bytes += message.frame.length
    this.#queuedBytes += message.frame.length
  }

  /** Called at the end of the turn. */
  turnEnds () {
    this.flush()
    this.#queued = null
  }

  /** Writes a large queue before the end of the turn. */
  flushLarge () { if (this.#queuedBytes >= MAX_QUEUED) this.flush() }

  /** Writes what is queued. Called at the end of a turn, and before anything else is written. */
  flush () {
    const messages = this.#queued
    if (messages === null || messages === NOTHING) return
    this.#queued = NOTHING
    this.#queuedBytes = 0
    const { conn, context } = this
    if (conn.readyState !== 'open') return
    const { turnWrites } = context
    const compressed = turnWrites.compresses && conn.takesCompressed
    if (conn.writeFrames(turnWrites.join(messages, compressed))) {
      if (turnWrites.traced) this.#tellFlushed(messages, 'written')
      return
    }
    const before = conn.writeBuffer.length
    for (const message of messages) {
      const { data } = message
      const frame = turnWrites.frameOf(message, compressed)
      const queued = conn.writeBuffer.length
      conn.write(data, { wsPreEncodedFrame: [frame], compress: false })
      if (message.guid !== undefined && conn.writeBuffer.length > queued)
        noteDocument(conn.writeBuffer.at(-1), message.guid)
    }
    if (turnWrites.traced) this.#tellFlushed(messages, conn.writeBuffer.length > before ? 'queued' : 'written')
  }

  /** @param {import('../wire/packet.js').EncodedMessage[]} messages @param {'written' | 'queued'} hop */
  #tellFlushed (messages, hop) {
    for (const { trace } of messages) trace?.tell(this, hop)
  }

  /**
   * Writes packets about a document, so that `withdraw` knows them.
   * @param {string} guid
   * @param {() => void} write
   */
  about (guid, write) {
    this.flush()
    noteWrites(this.conn, guid, write)
  }

  /**
   * Drops what is queued in this turn about a document.
   * @param {string} guid
   * @returns {import('../wire/packet.js').EncodedMessage[]} what was dropped
   */
  withdrawQueued (guid) {
    const queued = this.#queued
    if (queued === null || queued === NOTHING) return NOTHING
    const kept = queued.filter((message) => message.guid !== guid)
    this.#queued = kept.length === 0 ? NOTHING : kept
    this.#queuedBytes = kept.reduce((sum, { frame }) => sum + frame.length, 0)
    return queued.filter((message) => message.guid === guid)
  }
}
