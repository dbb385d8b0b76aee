import { Deadlines } from './deadlines.js'

/** Property of a session: the response to its last poll, until the kernel has taken all of it. */
const kAnswer = Symbol('answer')

/**
 * Limits the responses to polls. A response leaves the session's write buffer and is then queued in the connection,
 * where no backlog counts it, while its client does not read. Each session has at most one unread response, with a
 * deadline that outlives the session.
 */
export class PollAnswers {
  #deadlines

  /**
   * @param {number} patience time from the arrival of a poll until its response is read, ms
   * @param {ConstructorParameters<typeof Deadlines>[1]} clock
   */
  constructor (patience, clock) { this.#deadlines = new Deadlines(patience, clock) }

  /** Polls whose responses the kernel has not taken yet. */
  get size () { return this.#deadlines.size }

  /**
   * Notes a poll. Clients send the next poll after they have read the last response.
   * @param {any} session Engine.IO's socket, on polling
   * @param {import('node:http').ServerResponse} answer to the new poll
   * @returns {boolean} false: the previous response was not read; it is destroyed, and its content may be lost
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
