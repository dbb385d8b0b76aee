import * as json from 'socket.io-parser'
import msgpack from 'socket.io-msgpack-parser'
import { checkMsgpack } from '../wire/msgpack.js'
import { SOCKET_IO_EVENTS } from '../wire/publication.js'
import { isReceiptAck } from './receipt.js'

/**
 * One port for JSON and msgpack clients: a parser whose Decoder recognises the codec from a connection's first
 * packet (text is JSON, binary is msgpack; a JSON client never begins with an attachment).
 *
 * @typedef {import('../wire/packet.js').Codec} Codec
 */

/** A client that is refused may try again on the same connection; each try costs a token's verification. */
const MAX_CONNECTS = 10
/** What a client sends is checked by its handler, which allows less; this only protects the decoder's stack. */
const MAX_DEPTH = 1000

/** An acknowledgement in the main namespace, also one with attachments, whose id may be a receipt's. */
const JSON_ACK = /^(?:3|6\d{1,2}-)(\d{10})(?!\d)/

/**
 * JSON's, which takes msgpack as well. Whatever it throws makes Socket.IO close the connection.
 */
class Decoder extends json.Decoder {
  /** @type {Codec | undefined} */
  codec
  /** The gateway has a connection on it, or is about to: there must not be a second one (handshake.js). */
  taken = false
  /** Whose acknowledgements these are. @type {import('./connection.js').Connection | undefined} */
  connection
  #connects = 0

  /**
   * There is one event and one listener, Socket.IO's Client: a table of the emitter's kind, but no larger.
   * @override @param {'decoded'} event @param {any} listener @returns {this}
   */
  on (event, listener) {
    Object.assign(this, { _callbacks: { [`$${event}`]: [listener] } })
    return this
  }

  /** @override @param {string | Buffer} data @throws {Error} if it is no packet, or not one that may come now */
  add (data) {
    this.codec ??= typeof data === 'string' ? 'json' : 'msgpack'
    if (this.codec === 'json') {
      this.#check(data[0] === '0')
      super.add(data)
      if (typeof data === 'string') this.#acknowledge(Number(JSON_ACK.exec(data)?.[1]))
    } else {
      const packet = decodeMsgpackPacket(/** @type {Buffer} */ (data))
      this.#check(packet.type === json.PacketType.CONNECT)
      if (packet.type === json.PacketType.ACK && packet.nsp === '/') this.#acknowledge(packet.id)
      this.emitReserved('decoded', packet)
    }
  }

  /**
   * Records are sent past Socket.IO, which passes over the acknowledgements that it knows nothing of.
   * @param {number | undefined} id
   */
  #acknowledge (id) {
    if (isReceiptAck(id)) this.connection?.acknowledged(id)
  }

  /** @param {boolean} isConnect */
  #check (isConnect) {
    if (isConnect) this.#connects++
    if (this.#connects === 0) throw new Error('the first packet must be CONNECT')
    if (this.#connects > MAX_CONNECTS) throw new Error('too many CONNECT packets')
  }
}

const msgpackDecoder = new msgpack.Decoder()
/** @type {json.Packet} */
let decoded
msgpackDecoder.on('decoded', (/** @type {json.Packet} */ packet) => { decoded = packet })

/**
 * Checked before it is decoded: notepack believes every length it reads, and 6 bytes would make it allocate and fill 4 GB.
 * @param {Buffer} data
 * @returns {json.Packet}
 * @throws {Error}
 */
function decodeMsgpackPacket (data) {
  checkMsgpack(data, MAX_DEPTH)
  msgpackDecoder.add(data)
  // The JSON decoder refuses events that only Socket.IO itself may emit; this one lets them pass, and a client could
  // have the server believe in a disconnect.
  const { type, data: args } = decoded
  if (type === json.PacketType.EVENT && (typeof args[0] !== 'string' || SOCKET_IO_EVENTS.has(args[0]))) throw new Error('invalid event name')
  return decoded
}

const encoders = { json: new json.Encoder(), msgpack: new msgpack.Encoder() }

const kPacket = Symbol('packet')
const kMsgpack = Symbol('msgpack')

/** What is emitted to a room is encoded once, before Socket.IO knows for whom: keeps the packet for those that speak msgpack. */
class RoomEncoder extends json.Encoder {
  /** @override @param {json.Packet} packet @returns {any} */
  encode (packet) { return Object.assign(super.encode(packet), { [kPacket]: packet }) }
}

/**
 * In the place of Client#writeToEngine where the client speaks msgpack.
 * @this {any} Socket.IO's Client
 * @param {any} encoded
 * @param {any} options
 */
function writeMsgpack (encoded, options) {
  const { writeToEngine } = Object.getPrototypeOf(this)
  const packet = encoded[kPacket]
  if (packet === undefined) return writeToEngine.call(this, encoded, options)
  writeToEngine.call(this, encoded[kMsgpack] ??= encodePacket('msgpack', packet), { ...options, wsPreEncodedFrame: undefined })
}

/** The `parser` option of the Socket.IO server. Its Encoder is JSON's until `useCodec` says otherwise. */
export const parser = { Encoder: RoomEncoder, Decoder }

/**
 * Engine.IO messages of a packet as a stock encoder makes them.
 * @param {Codec} codec
 * @param {object} packet
 * @returns {(string | Buffer)[]} for JSON with binary data: the text, then the attachments
 */
export const encodePacket = (codec, packet) => /** @type {any} */ (encoders[codec]).encode(packet)

/**
 * Answers a client in the codec it speaks. Called before the CONNECT reply.
 * @param {any} client Socket.IO's Client
 * @returns {Codec}
 */
export function useCodec (client) {
  const codec = /** @type {Codec} */ (client.decoder.codec ?? 'json')
  client.encoder = encoders[codec]
  if (codec === 'msgpack') client.writeToEngine = writeMsgpack
  return codec
}
