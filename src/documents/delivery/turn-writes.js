import { compressedFrame } from '../../transport/engine/bytes/compression.js'

/** @typedef {import('../../wire/packet.js').EncodedMessage} EncodedMessage */
/** @typedef {{ turnEnds: () => void }} Queue */

/** @type {{ messages: EncodedMessage[], joined: Buffer }} */
const NOTHING = { messages: [], joined: Buffer.alloc(0) }

/**
 * Joins all messages that a connection receives within one turn of the event loop into one write: a system call costs
 * more than everything else about a delivery. The busier a worker is, the longer its turns are, and the more it joins.
 */
export class TurnWrites {
  /** Whether a message that waits may have a trace. */
  traced = false
  /** Connections with something to write, at most one entry each. @type {Queue[]} */
  #waiting = []
  /** Called after the next flush. @type {(() => void)[]} */
  #after = []
  /**
   * The last joined messages, plain and compressed: members of the same documents receive the same ones.
   */
  #last = { plain: NOTHING, compressed: NOTHING }
  #compressFrom
  #clock

  /**
   * @param {{ compressFrom: number }} settings bytes, 0: no compression
   * @param {Pick<import('../../base/common/clock.js').Clock, 'soon'>} clock
   */
  constructor ({ compressFrom }, clock) {
    this.#compressFrom = compressFrom
    this.#clock = clock
  }

  get compresses () {
    return this.#compressFrom > 0
  }

  /** @param {Queue} connection flushed at the end of this turn */
  add (connection) {
    if (this.#waiting.push(connection) === 1) this.#clock.soon(this.#flush)
  }

  /**
   * A list of its own: the loop over connections must not call functions of two kinds.
   * @param {() => void} flushed called when all that is queued now is written; at once if nothing is
   */
  afterFlush (flushed) {
    if (this.#waiting.length === 0) flushed()
    else this.#after.push(flushed)
  }

  #flush = () => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const connection of waiting) connection.turnEnds()
    if (this.#after.length > 0) for (const flushed of this.#after.splice(0)) flushed()
    this.traced = false
    // free the memory now, not at the next join
    this.#last.plain = this.#last.compressed = NOTHING
  }

  /**
   * @param {EncodedMessage} message
   * @param {boolean} compressed whether the client takes compressed frames
   */
  frameOf (message, compressed) {
    return compressed ? (message.compressed ??= compressedFrame(message.frame, this.#compressFrom)) : message.frame
  }

  /**
   * @param {EncodedMessage[]} messages
   * @param {boolean} compressed whether the client takes compressed frames
   * @returns {Buffer} all frames joined
   */
  join (messages, compressed) {
    if (messages.length === 1) return this.frameOf(messages[0], compressed)
    const kind = compressed ? 'compressed' : 'plain'
    const last = this.#last[kind].messages
    if (messages.length !== last.length || messages.some((message, i) => message !== last[i])) {
      this.#last[kind] = {
        messages,
        joined: Buffer.concat(messages.map((message) => this.frameOf(message, compressed)))
      }
    }
    return this.#last[kind].joined
  }
}
