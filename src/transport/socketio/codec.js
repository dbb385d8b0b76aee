import { createRequire } from 'node:module'
import { encodeForClient } from '../../wire/msgpack.js'
import { decoderFor } from './decoder.js'

const require = createRequire(import.meta.url)
const { Encoder: SocketioMsgpackEncoder } = require('socket.io-msgpack-parser')
const { Encoder, PacketType } = require('socket.io-parser')

/**
 * One port for JSON and msgpack clients: Socket.IO's parser, and the encoder of each client.
 *
 * @typedef {import('../../wire/packet.js').Codec} Codec
 */

class MsgpackEncoder extends SocketioMsgpackEncoder {
  /** @override @param {any} packet @returns {any} */
  encode (packet) {
    // an answer with the values of records, as sent by other clients and services
    if (packet.type === PacketType.ACK && packet.data[0]?.records !== undefined) return [encodeForClient(packet)]
    const encoded = /** @type {any} */ (super.encode(packet))
    return mayBeCut(encoded[0]) && holdsMore(packet.data) ? [encodeForClient(packet)] : encoded
  }
}

/** First bytes of whole numbers of 64 bits, to which the stock encoder cuts larger ones. */
const [UINT_64, INT_64] = [0xcf, 0xd3]

/** @param {Buffer} bytes */
const mayBeCut = (bytes) => bytes.includes(UINT_64) || bytes.includes(INT_64)

/** @param {unknown} value @returns {boolean} whether a whole number in it needs more than 64 bits */
function holdsMore (value) {
  if (typeof value === 'number') return (value >= 2 ** 64 || value < -(2 ** 63)) && Number.isFinite(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return Array.isArray(value) ? value.some(holdsMore) : Object.values(value).some(holdsMore)
}

const encoders = { json: new Encoder(), msgpack: new MsgpackEncoder() }

const kPacket = Symbol('packet')
const kMsgpack = Symbol('msgpack')

/** A packet for a room is encoded once, before the recipients are known: keeps the packet for msgpack clients. */
class RoomEncoder extends Encoder {
  /** @override @param {import('socket.io-parser').Packet} packet @returns {any} */
  encode (packet) { return Object.assign(super.encode(packet), { [kPacket]: packet }) }
}

/**
 * Client#writeToEngine of a msgpack client.
 * @this {any} Socket.IO's Client
 * @param {any} encoded
 * @param {any} options
 */
function writeMsgpack (encoded, options) {
  const { writeToEngine } = Object.getPrototypeOf(this)
  const packet = encoded[kPacket]
  if (packet === undefined) return writeToEngine.call(this, encoded, options)
  writeToEngine.call(this, (encoded[kMsgpack] ??= encodePacket('msgpack', packet)), {
    ...options,
    wsPreEncodedFrame: undefined
  })
}

/**
 * The `parser` option of the Socket.IO server. Its Encoder is JSON's until `useCodec` is called.
 * @param {number} maxDocuments that a handshake may name
 * @param {Pick<import('../../base/common/clock.js').Clock, 'cpu'>} clock
 * @param {import('./undecoded.js').NoteUndecoded} note
 */
export const parserFor = (maxDocuments, clock, note) =>
  ({ Encoder: RoomEncoder, Decoder: decoderFor(maxDocuments, clock, note) })

/**
 * The Engine.IO messages of a packet.
 * @param {Codec} codec
 * @param {object} packet
 * @returns {(string | Buffer)[]} for JSON with binary data: the text, then the attachments
 */
export const encodePacket = (codec, packet) => /** @type {any} */ (encoders[codec]).encode(packet)

/**
 * Selects the encoder for the client's codec. Called before the response to CONNECT.
 * @param {any} client Socket.IO's Client
 * @returns {Codec}
 */
export function useCodec (client) {
  const codec = /** @type {Codec} */ (client.decoder.codec ?? 'json')
  client.encoder = encoders[codec]
  if (codec === 'msgpack') client.writeToEngine = writeMsgpack
  return codec
}
