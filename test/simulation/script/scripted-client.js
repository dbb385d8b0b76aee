import { io } from 'socket.io-client'
import { tokenOf, URL } from '../parts/page.js'

/**
 * @typedef {object} ClientOptions
 * @property {string[]} [transports] default: WebSocket only
 * @property {Record<string, unknown> | ((tell: (auth: object) => void) => void)} [auth] beside the token; a function
 *   tells all of it
 * @property {string} [url] default: the balancer in front of all workers
 * @property {(payload: any) => boolean} [acknowledges] whether it acknowledges a record that asks; default: each one
 * @property {object} [socket] further options of socket.io-client
 *
 * @typedef {{ at: number, event: string, args: any[] }} Received at: virtual ms
 */

/** A page with a stock client of Socket.IO, in a process of its own. */
export class ScriptedClient {
  /** In order. @type {Received[]} */
  received = []
  /** Messages of failed handshakes. @type {string[]} */
  failures = []
  /** Reasons of ends. @type {string[]} */
  ends = []
  /** @type {import('socket.io-client').Socket | undefined} */
  socket

  /**
   * @param {import('./scripted-cluster.js').ScriptedCluster} cluster
   * @param {import('../world/sim-process.js').SimProcess} process
   * @param {string} uid
   * @param {ClientOptions} [options]
   */
  constructor (cluster, process, uid, { transports = ['websocket'], auth, url = URL, acknowledges = () => true, socket: more } = {}) {
    this.cluster = cluster
    this.process = process
    this.uid = uid
    process.enter('open page', () => {
      const socket = this.socket = io(url, {
        transports, forceNew: true, auth: typeof auth === 'function' ? auth : { token: tokenOf(uid), ...auth }, ...more
      })
      socket.onAny((event, ...args) => {
        const last = args.at(-1)
        // like a page that shows each record at once
        if (typeof last === 'function' && acknowledges(args[0])) last()
        this.received.push({ at: process.world.time, event, args: args.filter((arg) => typeof arg !== 'function') })
      })
      socket.on('connect_error', (error) => { this.failures.push(error.message) })
      socket.on('disconnect', (reason) => { this.ends.push(reason) })
    })
  }

  get connected () { return this.socket?.connected === true }
  get id () { return this.socket?.id }

  /** @param {string} event @returns {any[]} first arguments, in order */
  got (event) { return this.received.filter((one) => one.event === event).map(({ args }) => args[0]) }

  /**
   * @param {string} event
   * @param {...unknown} args
   * @returns {Promise<any>} the acknowledgement; rejects when the connection ends, or after 10 virtual seconds
   */
  ask (event, ...args) {
    return this.cluster.act(this.process, () => this.#socket.timeout(10_000).emitWithAck(event, ...args))
  }

  /** @param {string} event @param {...unknown} args */
  emit (event, ...args) { this.process.enter('emit', () => { this.#socket.emit(event, ...args) }) }

  get #socket () {
    if (this.socket === undefined) throw new Error(`${this.process.name} is not open yet`)
    return this.socket
  }

  /** In order, as when a tab is closed. @returns {Promise<void>} the gateway knows of it */
  async close () {
    await this.cluster.act(this.process, () => { this.socket?.disconnect() })
    await this.cluster.pass(100)
  }
}
