import { once } from 'node:events'
import WebSocket from 'ws'
import { decodeMsgpack, encodeMsgpack } from '../../src/wire/msgpack.js'
import { waitFor } from './wait.js'

/**
 * A client of the plain WebSocket protocol (docs/websocket.md).
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context
 * @param {string} url of the gateway
 * @param {object} [options]
 * @param {string} [options.query] with its question mark
 * @param {string[]} [options.protocols]
 * @param {Record<string, string>} [options.headers]
 */
export async function plainClient (t, url, { query = '', protocols = ['inkcast.json'], headers } = {}) {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/websocket/handshake${query}`, protocols, { headers })
  const binary = protocols.includes('inkcast.msgpack')
  /** @type {any[]} messages received */
  const received = []
  ws.on('message', (/** @type {Buffer} */ data) =>
    received.push(binary ? decodeMsgpack(data) : JSON.parse(data.toString())))
  t.after(() => ws.terminate())
  /** @type {Promise<{ code: number, reason: string }>} */
  const closed = new Promise((resolve) => ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() })))
  await once(ws, 'open', { signal: AbortSignal.timeout(15_000) })
  ws.on('error', () => {})
  let last = 0
  const send = (/** @type {object} */ message) => ws.send(binary ? encodeMsgpack(message) : JSON.stringify(message))
  /** @param {(message: any) => boolean} wanted @param {string} name @returns {Promise<any>} */
  const next = (wanted, name) => waitFor(() => received.find(wanted), {
    message: () => `${name} among ${JSON.stringify(received).slice(0, 1000)}`
  })
  return {
    ws, received, closed, send,
    /** @param {string} event @returns {Promise<any>} the first message with this event, now or later */
    event: (event) => next((message) => message.event === event, event),
    /** @param {string} event @param {object} payload @returns {Promise<any>} the answer */
    async ask (event, payload) {
      const id = ++last
      send({ event, payload, id })
      return (await next((message) => message.id === id, `the answer to ${event}`)).payload
    }
  }
}
