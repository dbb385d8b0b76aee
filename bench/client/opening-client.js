/** A client that settles once: when it is open, or when it fails before. After that it tells a listener of its loss. */
export class OpeningClient {
  /** a word for errors @type {'opening' | 'joining' | 'open' | 'closed'} */
  state = 'opening'
  /** number of the last record of each document (receiver.js) @type {Map<number, number> | undefined} */
  seen
  #listeners
  /** @type {((error: Error | null) => void) | null} */
  #settle

  /**
   * @param {import('./websocket-client.js').Listeners} listeners
   * @param {(error: Error | null) => void} settle called once: the client is open, or failed
   */
  constructor (listeners, settle) {
    this.#listeners = listeners
    this.#settle = settle
  }

  /** Closes the connection: its listeners hear nothing more. */
  close () { this.state = 'closed' }

  /** @param {Buffer} packet valid during the call only @param {number} at place of the value in it */
  received (packet, at) { this.#listeners.onEvent?.(packet, this, at) }

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
