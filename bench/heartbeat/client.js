/**
 * A connection that joins one document and only answers pings, until a command makes it silent, like a dead peer.
 */
import { openWebSocket } from '../../packages/load/websocket.js'

/**
 * State shared by all clients of a process.
 * @typedef {object} Shared
 * @property {number} pings received
 * @property {(client: IdleClient) => void} onEnd the server closed an open connection
 */

export class IdleClient {
  /** Time of death, ms; 0: alive. */
  silentSince = 0
  #socket
  #open = false
  #guid
  #shared
  #settle

  /**
   * @param {import('../client/websocket-client.js').Target} target
   * @param {{ guid: string, source: string }} member
   * @param {Shared} shared
   * @param {(error: Error | null) => void} settle called once: the client has joined, or failed
   */
  constructor (target, { guid, source }, shared, settle) {
    this.#guid = guid
    this.#shared = shared
    this.#settle = settle
    this.#socket = openWebSocket({ ...target, secure: false, insecure: false }, source, {
      onMessage: (payload) => this.#text(payload.toString()),
      onEnd: (reason) => this.fail(reason)
    })
  }

  /** Stops answering. */
  die () { this.silentSince = performance.now() }

  close () { this.#socket.close() }

  /** @param {string} reason */
  fail (reason) {
    this.close()
    if (this.#open) this.#shared.onEnd(this)
    else this.#settle(new Error(reason))
    this.#open = false
  }

  /** @param {string} text */
  #text (text) {
    if (text === '2') {
      this.#shared.pings++
      if (this.silentSince === 0) this.#socket.send('3')
    } else if (text[0] === '0') {
      this.#socket.send('40')
    } else if (text.startsWith('40')) {
      this.#socket.send(`420${JSON.stringify(['doc:join', { guid: this.#guid }])}`)
    } else if (text.startsWith('430')) {
      if (!text.includes('"ok":true')) return this.fail(text)
      this.#open = true
      this.#settle(null)
    } else if (text.startsWith('44')) {
      this.fail(text)
    }
  }
}
