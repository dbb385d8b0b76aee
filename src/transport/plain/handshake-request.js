import { asksForWebSocket, hasKey } from '../engine/request.js'

/**
 * The request that opens a plain WebSocket.
 *
 * @typedef {object} Offer
 * @property {import('../../wire/packet.js').Codec} codec
 * @property {string | undefined} protocol the subprotocol to answer with; undefined: the client offered none
 * @property {string | undefined} token offered as a subprotocol, because pages can set no header
 */

/** @type {Record<string, import('../../wire/packet.js').Codec>} */
const CODECS = { 'inkcast.json': 'json', 'inkcast.msgpack': 'msgpack' }
const TOKEN = 'inkcast.token.'

/**
 * @param {import('http').IncomingHttpHeaders} headers
 * @returns {Offer | null} null: none of the subprotocols that the client offers is spoken here
 */
export function readOffer (headers) {
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? []
  const token = offered.find((name) => name.startsWith(TOKEN))?.slice(TOKEN.length)
  const names = offered.filter((name) => !name.startsWith(TOKEN))
  if (names.length === 0 && token === undefined) return { codec: 'json', protocol: undefined, token }
  const protocol = names.find((name) => Object.hasOwn(CODECS, name))
  return protocol === undefined ? null : { codec: CODECS[protocol], protocol, token }
}

/**
 * @param {import('../engine/request.js').Upgrade} request
 * @returns {boolean} whether it is a valid request for a WebSocket (RFC 6455, 4.2.1)
 */
export const opensWebSocket = (request) => asksForWebSocket(request) && hasKey(request)
