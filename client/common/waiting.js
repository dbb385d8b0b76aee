import { passing } from './error.js'
import { within } from './within.js'

/** Maximum callers that wait. */
const MAX_WAITING = 1000

/** Callers that wait for a connection, or for a document to be joined. */
export class Waiting {
  /** @type {Set<{ resolve: (nothing?: any) => void, reject: (error: Error) => void }>} */
  #callers = new Set()

  /**
   * @param {number} [timeout] ms; default: none
   * @returns {Promise<void>} rejects with too_many_waiting, timeout, or the error of `reject`
   */
  async wait (timeout) {
    if (this.#callers.size >= MAX_WAITING) throw passing('too_many_waiting', 'too many requests wait')
    /** @type {any} */
    let caller
    const turn = new Promise((resolve, reject) => this.#callers.add(caller = { resolve, reject }))
    try {
      await within(turn, { timeout }, 'no connection: it was not sent')
    } finally {
      this.#callers.delete(caller)
    }
  }

  resolve () { for (const { resolve } of this.#callers) resolve() }

  /** @param {Error} error */
  reject (error) { for (const { reject } of this.#callers) reject(error) }
}
