/**
 * A stock socket.io-client that starts with long polling and upgrades, as browsers do by default.
 */
import { io } from 'socket.io-client'

/**
 * @typedef {import('./websocket-client.js').Target} Target
 * @typedef {import('./websocket-client.js').Member} Member
 * @typedef {import('./websocket-client.js').Listeners} Listeners
 */

export class PollingClient {
  #socket
  #listeners
  /** @type {((error: Error | null) => void) | null} */
  #settle
  #joined = false
  #upgraded = false
  #step = 'connecting'

  /**
   * @param {Target} target
   * @param {Member} member
   * @param {Listeners} listeners
   * @param {(error: Error | null) => void} settle called once: the client has joined over WebSocket, or has failed
   */
  constructor ({ host, port }, { token, guid }, listeners, settle) {
    this.#listeners = listeners
    this.#settle = settle
    this.#socket = io(`http://${host}:${port}`, {
      auth: { token },
      transports: ['polling', 'websocket'],
      forceNew: true,
      reconnection: false
    })
    // the upgrade may be complete before the connection
    const { engine } = this.#socket.io
    engine.on('upgradeError', (error) => this.fail(`upgrade: ${error.message}`))
    engine.once('upgrade', () => {
      this.#upgraded = true
      this.#check()
    })
    this.#socket.on('connect_error', (error) => this.fail(`connect_error: ${error.message}`))
    this.#socket.on('disconnect', (reason) => this.fail(`disconnected: ${reason}`))
    this.#socket.on('connect', () => {
      this.#step = 'joining and upgrading'
      this.#socket.emit('doc:join', { guid }, (/** @type {any} */ answer) => {
        if (answer?.ok !== true) return this.fail(`join refused: ${answer?.error?.code}`)
        this.#joined = true
        this.#check()
      })
    })
  }

  close () {
    this.#settle = null
    this.#listeners = {}
    this.#socket.disconnect()
  }

  /** @param {string} reason */
  fail (reason) {
    const settle = this.#settle
    const { onLost } = this.#listeners
    this.close()
    if (settle) settle(new Error(`${reason} while ${this.#step}`))
    else onLost?.(reason)
  }

  #check () {
    if (!this.#joined || !this.#upgraded) return
    this.#step = 'open'
    this.#settle?.(null)
    this.#settle = null
  }
}
