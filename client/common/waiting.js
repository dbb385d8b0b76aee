import { passing } from './error.js'
import { within } from './within.js'

/** Maximum callers that wait. */
const MAX_WAITING = 1000

/** Callers that wait for a connection, or for a document to be joined. */
export class Waiting {
  /** Number of callers that wait. */
  size = 0
  /**
   * What they all wait for.
   * @type {{ promise: Promise<void>, resolve: () => void, reject: (error: Error) => void } | null}
   */
  #turn = null

  /**
   * @param {number} [timeout] ms; default: none
   * @returns {Promise<void>} rejects with too_many_waiting, timeout, or the error of `reject`
   */
  async wait (timeout) {
    if (this.size >= MAX_WAITING)
      throw passing('too_many_waiting', 'too many requests are queued')
    this.size++
    const { promise } = this.#turn ??= deferred()
    try {
      await within(promise, { timeout }, 'no connection in time; it was not sent')
    } finally {
      this.size--
    }
  }

  resolve () { this.#end()?.resolve() }

  /** @param {Error} error */
  reject (error) { this.#end()?.reject(error) }

  #end () {
    const turn = this.#turn
    this.#turn = null
    return turn
  }
}

function deferred () {
  /** @type {any} */
  const turn = {}
  turn.promise = new Promise((resolve, reject) => Object.assign(turn, { resolve, reject }))
  // each caller has its own promise; without callers an error is nobody's
  turn.promise.catch(() => {})
  return turn
}
