/**
 * What connections get within one turn of the event loop leaves in one write each: a system call costs more than
 * everything else about a delivery.
 *
 * @typedef {import('../wire/packet.js').EncodedMessage} EncodedMessage
 * @typedef {{ flush: () => void }} Queue
 */
export class Outbox {
  /** Connections with something to write, at most one entry each. @type {Queue[]} */
  #waiting = []
  /** The last messages that were joined, and what came of it: members of the same documents get the same ones. @type {EncodedMessage[]} */
  #messages = []
  #joined = Buffer.alloc(0)

  /** @param {Queue} connection flushed at the end of this turn */
  add (connection) {
    if (this.#waiting.push(connection) === 1) setImmediate(() => this.#flush())
  }

  #flush () {
    const waiting = this.#waiting
    this.#waiting = []
    for (const connection of waiting) connection.flush()
    // not kept alive until the next turn that happens to join something
    this.#messages = []
  }

  /**
   * @param {EncodedMessage[]} messages
   * @returns {Buffer} their frames in one
   */
  join (messages) {
    if (messages.length === 1) return messages[0].frame
    const last = this.#messages
    if (messages.length !== last.length || messages.some((message, i) => message !== last[i])) {
      this.#messages = messages
      this.#joined = Buffer.concat(messages.map(({ frame }) => frame))
    }
    return this.#joined
  }
}
