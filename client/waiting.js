import { ClientError } from './error.js'

/** Maximum callers that wait. */
const MAX_WAITING = 1000

/** Callers that wait for a document to be joined. */
export class Waiting {
  /** @type {Set<{ resolve: () => void, reject: (error: Error) => void }>} */
  #callers = new Set()

  get size () { return this.#callers.size }

  /**
   * @param {number} [timeout] ms; default: none
   * @returns {Promise<void>} rejects with too_many_waiting, timeout, or the error of `reject`
   */
  wait (timeout) {
    if (this.#callers.size >= MAX_WAITING)
      return Promise.reject(
        new ClientError({ code: 'too_many_waiting', message: 'too many requests are queued', retryable: true })
      )
    return new Promise((resolve, reject) => {
      const timer = timeout === undefined ? undefined : setTimeout(() => {
        this.#callers.delete(caller)
        reject(new ClientError({ code: 'timeout', message: 'no connection in time; it was not sent', retryable: true }))
      }, timeout)
      const caller = {
        resolve: () => { clearTimeout(timer); resolve() },
        reject: (/** @type {Error} */ error) => { clearTimeout(timer); reject(error) }
      }
      this.#callers.add(caller)
    })
  }

  resolve () { for (const { resolve } of this.#take()) resolve() }

  /** @param {Error} error */
  reject (error) { for (const { reject } of this.#take()) reject(error) }

  #take () {
    const callers = [...this.#callers]
    this.#callers.clear()
    return callers
  }
}
