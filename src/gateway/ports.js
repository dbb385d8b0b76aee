import { systemHost } from '../base/process/host.js'
import { createPublicPort } from './public-port.js'

/**
 * All ports at which a worker accepts clients: PORT, and those of listeners with ports of their own. They open, pause
 * and close together.
 *
 * @typedef {import('./public-port.js').Server} Server
 * @typedef {import('./public-port.js').Address} Address
 */
export class Ports {
  #launcher
  #createPort
  /** @type {{ server: Server, port: import('./public-port.js').PublicPort, name: string | undefined }[]} */
  #all = []
  /** Whether the launcher wants new connections here; it may change while the ports follow. */
  #wanted = true
  #accepting = true
  #changes = false

  /**
   * @param {object} [parts]
   * @param {import('./public-port.js').Launcher} [parts.launcher] says when this worker stops accepting for a time,
   *   during a reload, and when it accepts again
   * @param {(address: Address) => import('./public-port.js').PublicPort} [parts.createPort]
   */
  constructor ({ launcher = systemHost, createPort = createPublicPort } = {}) {
    this.#launcher = launcher
    this.#createPort = createPort
  }

  /** @param {Address} address @param {Server} server not listening yet */
  add (address, server) { this.#all.push({ server, port: this.#createPort(address), name: address.name }) }

  async open () {
    for (const { server, port } of this.#all) await port.open(server)
    const launcher = this.#launcher
    launcher.onMessage((message) => {
      if (message?.type !== 'pause' && message?.type !== 'resume') return
      this.#wanted = message.type === 'resume'
      // a worker that cannot listen again ends, and the launcher starts another one
      this.#follow().catch(() => launcher.exit(1))
    })
  }

  /** One change after the other: two resumes at a time would listen twice at the same server. */
  async #follow () {
    if (this.#changes) return
    this.#changes = true
    while (this.#accepting !== this.#wanted) {
      this.#accepting = this.#wanted
      if (this.#accepting) await Promise.all(this.#all.map(({ server, port }) => port.resume(server)))
      else for (const { server, port } of this.#all) port.pause(server)
    }
    this.#changes = false
    if (this.#accepting) this.#launcher.send({ type: 'resumed' })
  }

  /**
   * Stops accepting at all ports, and keeps the open connections.
   * @param {() => void} onEnd called when the last connection has ended
   * @returns {Promise<void>} resolves when no further connection can arrive
   */
  async leave (onEnd) {
    let left = this.#all.length
    const ended = () => { if (--left === 0) onEnd() }
    await Promise.all(this.#all.map(({ server, port }) => port.leave(server, ended)))
  }

  /** Open connections, over all of their sockets. */
  get connections () { return this.#all.reduce((sum, { server, port }) => sum + port.connections(server), 0) }

  /** @param {string} [name] of a listener; default: PORT @returns {number} as it was bound */
  portOf (name) {
    const found = this.#all.find((one) => one.name === name)
    if (found === undefined) throw new Error(`there is no listener ${name}`)
    return /** @type {import('net').AddressInfo} */ (found.server.address()).port
  }

  /** Those of HTTP. */
  closeIdleConnections () {
    for (const { server } of this.#all) if (isHttp(server)) server.closeIdleConnections()
  }

  /** Those of HTTP: a door closes its own. */
  closeAllConnections () {
    for (const { server } of this.#all) if (isHttp(server)) server.closeAllConnections()
  }
}

/** @param {Server} server @returns {server is import('http').Server} */
const isHttp = (server) => 'closeAllConnections' in server
