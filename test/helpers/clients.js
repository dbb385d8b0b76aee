import { io } from 'socket.io-client'
import msgpackParser from 'socket.io-msgpack-parser'
import { once } from 'node:events'

/**
 * A stock socket.io-client, closed after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {string} url
 * @param {object} [options]
 * @param {'json' | 'msgpack'} [options.codec]
 * @param {string[]} [options.transports]
 * @param {object | Function} [options.auth]
 * @param {boolean} [options.reconnection]
 * @param {Record<string, string>} [options.extraHeaders]
 * @param {string | Buffer} [options.ca] certificate of the server, where it is nobody's
 */
export function createClient (t, url, { codec = 'json', transports = ['websocket'], auth = {}, reconnection = false, extraHeaders, ca } = {}) {
  const socket = io(url, {
    transports,
    auth: /** @type {any} */ (auth),
    reconnection,
    forceNew: true,
    extraHeaders,
    ...(ca === undefined ? {} : { ca: String(ca) }),
    ...(codec === 'msgpack' ? { parser: msgpackParser } : {})
  })
  t.after(() => { socket.disconnect() })
  /** @type {{ event: string, payload: any, meta: any }[]} every event with a meta, in the order of arrival */
  const received = []
  socket.onAny((event, payload, meta) => { received.push({ event, payload, meta }) })
  return Object.assign(socket, {
    received,
    /**
     * @param {string} event
     * @param {...unknown} args
     * @returns {Promise<any>} the acknowledgement
     */
    ask: (event, ...args) => socket.timeout(10_000).emitWithAck(event, ...args),
    /** @param {string} event @returns {Promise<any[]>} its arguments */
    next: (event) => /** @type {Promise<any[]>} */ (once(/** @type {any} */ (socket), event, { signal: AbortSignal.timeout(10_000) }))
  })
}

/**
 * @param {{ after: (stop: () => unknown) => void }} t a test's context, or node:test itself for a whole file
 * @param {string} url
 * @param {Parameters<typeof createClient>[2]} [options]
 */
export async function connectClient (t, url, options) {
  const client = createClient(t, url, options)
  await new Promise((resolve, reject) => {
    client.once('connect', () => resolve(undefined))
    client.once('connect_error', (error) => reject(error))
  })
  return client
}
