/** A client that settles once: when it is open, or when it fails before. After that it tells a listener of its loss. */
export class OpeningClient {
  /** a word for errors @type {'opening' | 'joining' | 'open' | 'closed'} */
  state = 'opening'
  #listeners
  /** @type {((error: Error | null) => void) | null} */
  #settle

  /**
   * @param {Pick<import('./websocket-client.js').Listeners, 'onLost'>} listeners
   * @param {(error: Error | null) => void} settle called once: the client is open, or failed
   */
  constructor (listeners, settle) {
    this.#listeners = listeners
    this.#settle = settle
  }

  /** Closes the connection: its listeners hear nothing more. */
  close () { this.state = 'closed' }

  /** @param {string} reason */
  fail (reason) {
    const { state } = this
    if (state === 'closed') return
    this.close()
    if (state === 'open') this.#listeners.onLost?.(reason)
    else this.#done(new Error(`${reason} while ${state}`))
  }

  joins () { this.state = 'joining' }

  opened () {
    this.state = 'open'
    this.#done(null)
  }

  /** @param {Error | null} error */
  #done (error) {
    this.#settle?.(error)
    this.#settle = null
  }
}
