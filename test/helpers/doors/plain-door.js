import { plainClient } from '../plain-client.js'
import { DoorClient } from './door-client.js'

/** A client of the plain WebSocket protocol (docs/websocket.md). */
class PlainDoorClient extends DoorClient {
  #client

  /** @param {Awaited<ReturnType<typeof plainClient>>} client */
  constructor (client) {
    super()
    this.#client = client
    this.ended = client.closed.then(({ code }) => code)
    client.onMessage = ({ ack, ...message }) => {
      this.received.push({ ...message, ...ack !== undefined && { acknowledge: () => client.send({ ack }) } })
    }
  }

  /** @param {import('./door-client.js').Login} login */
  async login (login) {
    this.#client.send({ event: 'gateway:connect', payload: login })
    const { event, payload } = await this.event(/^gateway:(?:connected|disconnect)$/)
    if (event === 'gateway:disconnect') throw Object.assign(new Error(payload.message), payload)
    this.id = payload.id
    return this
  }

  /** @override @param {string} event @param {unknown} payload */
  ask (event, payload) { return this.#client.ask(event, payload) }

  /** @override */
  close () { this.#client.ws.close(1000) }

  /** @override */
  cut () { this.#client.ws.terminate() }

  /** @override @param {boolean} wanted */
  reads (wanted) { if (wanted) this.#client.ws.resume(); else this.#client.ws.pause() }

  /** @override @param {number} [length] */
  sendGarbage (length) { this.#client.ws.send('x'.repeat(length ?? 10)) }
}

/** @param {'json' | 'msgpack'} codec @returns {import('./door-client.js').Door} */
export const plainDoor = (codec) => ({
  cannot: {},
  told: (code) => new RegExp(`^${code}$`),
  name: `plain WebSocket, ${codec}`,
  async connect (t, { url }, login) {
    const client = await plainClient(t, url, { query: '?auth=message', protocols: [`inkcast.${codec}`] })
    return new PlainDoorClient(client).login(login)
  },
  shown: (bytes) => codec === 'json' ? bytes.toString('base64') : bytes
})
