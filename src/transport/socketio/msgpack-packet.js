import { createRequire } from 'node:module'
import { checkMsgpack } from '../../wire/msgpack.js'
import { SOCKET_IO_EVENTS } from '../../wire/publication.js'

const require = createRequire(import.meta.url)
const { Decoder } = require('socket.io-msgpack-parser')
const { PacketType } = require('socket.io-parser')

/** @typedef {import('socket.io-parser').Packet} Packet */

const decoder = new Decoder()
/** @type {Packet} */
let decoded
decoder.on('decoded', (/** @type {Packet} */ packet) => { decoded = packet })

/**
 * Decodes a packet after a check: notepack trusts every length it reads, and 6 bytes would make it allocate and fill
 * 4 GB.
 *
 * @param {Buffer} data
 * @param {number} maxDepth
 * @param {number} maxValues
 * @returns {{ packet: Packet, extensions: boolean }} `extensions`: it contains extension types
 * @throws {Error} it is no packet, or exceeds a limit
 */
export function readMsgpackPacket (data, maxDepth, maxValues) {
  const extensions = checkMsgpack(data, maxDepth, maxValues)
  decoder.add(data)
  // The JSON decoder refuses events that only Socket.IO itself may emit. This one accepts them, and a client could fake
  // a disconnect.
  const { type, data: args } = decoded
  if (type === PacketType.EVENT && (typeof args[0] !== 'string' || SOCKET_IO_EVENTS.has(args[0])))
    throw new Error('invalid event name')
  return { packet: decoded, extensions }
}
