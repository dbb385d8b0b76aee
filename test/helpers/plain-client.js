import { once } from 'node:events'
import WebSocket from 'ws'
import { decodeMsgpack, encodeMsgpack } from '../../src/wire/msgpack.js'
import { waitFor } from './wait.js'

/** A client of the plain WebSocket protocol (docs/websocket.md). */
class PlainClient {
  #binary
  #last = 0
  /** Requests without an answer, by id. @type {Map<number, (answer: any) => void>} */
  #asked = new Map()
  /** Messages, answers among them. @type {any[]} */
  received = []
  /** Called with each message that is no answer. May be replaced. @type {(message: any) => void} */
  onMessage = () => {}

  /** @param {string} address @param {string[]} protocols @param {import('ws').ClientOptions} options */
  constructor (address, protocols, options) {
    this.#binary = protocols.includes('inkcast.msgpack')
    const ws = this.ws = new WebSocket(address, protocols, options)
    ws.on('message', (/** @type {Buffer} */ data) => this.#receive(data))
    /** @type {Promise<{ code: number, reason: string }>} */
    this.closed = new Promise((resolve) =>
      ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() })))
  }

  /** @param {Buffer} data */
  #receive (data) {
    const message = this.#binary ? decodeMsgpack(data) : JSON.parse(data.toString())
    this.received.push(message)
    if (message.id === undefined) return this.onMessage(message)
    this.#asked.get(message.id)?.(message.payload)
    this.#asked.delete(message.id)
  }

  /** @param {object} message */
  send (message) { this.ws.send(this.#binary ? encodeMsgpack(message) : JSON.stringify(message)) }

  /** @param {string} event @returns {Promise<any>} the first message with this event, now or later */
  event (event) {
    return waitFor(() => this.received.find((message) => message.event === event), {
      message: () => `${event} among ${JSON.stringify(this.received).slice(0, 1000)}`
    })
  }

  /** @param {string} event @param {unknown} [payload] @returns {Promise<any>} the answer */
  ask (event, payload) {
    const id = ++this.#last
    this.send({ event, payload, id })
    return new Promise((resolve, reject) => {
      this.#asked.set(id, resolve)
      this.closed.then(({ code }) => reject(new Error(`closed with ${code} before the answer to ${event}`)))
    })
  }
}

/**
 * @param {{ after: (stop: () => unknown) => void }} t a test's context
 * @param {string} url of the gateway
 * @param {object} [options]
 * @param {string} [options.query] with its question mark
 * @param {string[]} [options.protocols]
 * @param {Record<string, string>} [options.headers]
 * @param {string} [options.path] default: /websocket/handshake
 * @param {import('ws').ClientOptions} [options.options] others
 * @returns {Promise<PlainClient>} open
 */
export async function plainClient (
  t, url, { path = '/websocket/handshake', query = '', protocols = ['inkcast.json'], headers, options } = {}
) {
  const client = new PlainClient(`${url.replace('http', 'ws')}${path}${query}`, protocols, { ...options, headers })
  t.after(() => client.ws.terminate())
  await once(client.ws, 'open', { signal: AbortSignal.timeout(15_000) })
  client.ws.on('error', () => {})
  return client
}
