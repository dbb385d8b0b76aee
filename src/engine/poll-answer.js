import { Deadlines } from './deadlines.js'

/** Of Engine.IO's socket: the answer to its last poll, until the kernel has all of it. */
const kAnswer = Symbol('answer')

/**
 * What a polling session is told leaves its buffer with the answer to a poll, and then waits in the connection, where
 * nobody counts it, for a client that does not read. One answer at a time does, and not for ever, whatever becomes of
 * its session.
 */
export class PollAnswers {
  #deadlines

  /** @param {number} patience how long a poll may take from its arrival until its answer is read, ms */
  constructor (patience) { this.#deadlines = new Deadlines(patience) }

  /** Polls that have arrived, and whose answers the kernel has not taken. */
  get size () { return this.#deadlines.size }

  /**
   * Clients ask again when they have read what they were told.
   * @param {any} session Engine.IO's socket, on polling
   * @param {import('node:http').ServerResponse} answer to a poll that has arrived
   * @returns {boolean} false: the one before it was not read; it is cut off, and what is in it may be lost
   */
  take (session, answer) {
    /** @type {import('node:http').ServerResponse | null | undefined} */
    const last = session[kAnswer]
    if (last?.writableEnded && !last.writableFinished) {
      last.destroy()
      return false
    }
    session[kAnswer] = answer
    this.#deadlines.add(answer)
    answer.once('close', () => {
      this.#deadlines.delete(answer)
      if (session[kAnswer] === answer) session[kAnswer] = null
    })
    return true
  }
}
