import { createClient } from '../clients.js'
import { DoorClient } from './door-client.js'

/** A stock client of Socket.IO, on WebSocket. */
class SocketIoClient extends DoorClient {
  #socket

  /** @param {ReturnType<typeof createClient>} socket that is connecting */
  constructor (socket) {
    super()
    this.#socket = socket
    socket.onAny((event, payload, ...more) => {
      const acknowledge = more.find((argument) => typeof argument === 'function')
      const meta = more.find((argument) => typeof argument === 'object')
      this.received.push({ event, payload, meta, acknowledge })
    })
  }

  /** Of the `ws` library. @returns {import('ws').WebSocket} */
  get #ws () { return /** @type {any} */ (this.#socket.io.engine).transport.ws }

  async connected () {
    await new Promise((resolve, reject) => {
      this.#socket.once('connect', () => resolve(undefined))
      this.#socket.once('connect_error', (/** @type {any} */ error) =>
        reject(Object.assign(error, { code: error.data?.code })))
    })
    this.id = String(this.#socket.id)
    const ws = this.#ws
    this.ended = new Promise((resolve) => ws.once('close', resolve))
    return this
  }

  /** @override @param {string} event @param {unknown} payload */
  ask (event, payload) { return this.#socket.ask(event, payload) }

  /** @override */
  close () { this.#socket.disconnect() }

  /** @override */
  cut () { this.#ws.terminate() }

  /** @override @param {boolean} wanted */
  reads (wanted) { if (wanted) this.#ws.resume(); else this.#ws.pause() }

  /** @override @param {number} [length] */
  sendGarbage (length) { this.#ws.send(length === undefined ? '42no packet' : 'x'.repeat(length)) }
}

/** @param {'json' | 'msgpack'} codec @returns {import('./door-client.js').Door} */
export const socketIoDoor = (codec) => ({
  cannot: {},
  told: (code) => new RegExp(`^${code}$`),
  name: `Socket.IO, ${codec}`,
  connect: (t, { url }, login) => new SocketIoClient(createClient(t, url, { codec, auth: login })).connected(),
  shown: (bytes) => bytes
})
