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

/** What the parser's own decoder allows, and would keep an object for in each connection. */
const DECODER_OPTIONS = Object.freeze({ reviver: undefined, maxAttachments: 10 })

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
  /** There is one event and one listener, Socket.IO's Client, until it is destroyed: no table is needed. @type {((packet: json.Packet) => void) | undefined} */
  #listener

  constructor () {
    super()
    Object.assign(this, { opts: DECODER_OPTIONS })
  }

  /** @override @param {'decoded'} event @param {any} listener @returns {this} */
  on (event, listener) {
    this.#listener = listener
    return this
  }

  /** @override @returns {this} */
  removeListener () {
    this.#listener = undefined
    return this
  }

  /** The emitter's table, made for those packets that Socket.IO's decoder reads. */
  get _callbacks () { return { $decoded: this.#listener === undefined ? [] : [this.#listener] } }
  set _callbacks (none) {}

  /** @override @param {string | Buffer} data @throws {Error} if it is no packet, or not one that may come now */
  add (data) {
    this.codec ??= typeof data === 'string' ? 'json' : 'msgpack'
    if (this.codec === 'json') {
      this.#check(data[0] === '0')
      const packet = typeof data === 'string' && !this.#assembling ? readPlain(data) : undefined
      if (packet !== undefined) return void this.#listener?.(packet)
      super.add(data)
      if (typeof data === 'string') this.#acknowledge(Number(JSON_ACK.exec(data)?.[1]))
    } else {
      const packet = decodeMsgpackPacket(/** @type {Buffer} */ (data))
      this.#check(packet.type === json.PacketType.CONNECT)
      if (packet.type === json.PacketType.ACK && packet.nsp === '/') this.#acknowledge(packet.id)
      this.#listener?.(packet)
    }
  }

  /** Attachments of a packet are still to come. */
  get #assembling () { return Boolean(/** @type {any} */ (this).reconstructor) }

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

/** The type and where there is one the id of a packet in the main namespace. */
const PLAIN = /^(?:0(?=\{)|2(\d{0,15})(?=\[))/

/**
 * Reads what nearly all packets are: CONNECT with a payload, and EVENT, in the main namespace.
 * @param {string} text
 * @returns {json.Packet | undefined} undefined: it is something else, or not valid
 */
export function readPlain (text) {
  const head = PLAIN.exec(text)
  if (head === null) return undefined
  let data
  try {
    data = JSON.parse(text.slice(head[0].length))
  } catch {
    return undefined
  }
  if (head[1] === undefined) return { type: json.PacketType.CONNECT, nsp: '/', data }
  if (typeof data[0] !== 'string' || SOCKET_IO_EVENTS.has(data[0])) return undefined
  if (head[1] === '') return { type: json.PacketType.EVENT, nsp: '/', data }
  return { type: json.PacketType.EVENT, nsp: '/', id: Number(head[1]), data }
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

/** JSON's, which makes less of what nearly all packets are: without binary data, in the main namespace. */
class Encoder extends json.Encoder {
  /** @override @param {json.Packet} packet @returns {any} */
  encode (packet) {
    const { type, nsp, id, data } = packet
    if (nsp !== '/' || (type !== json.PacketType.CONNECT && type !== json.PacketType.EVENT && type !== json.PacketType.ACK) || !isPlain(data)) return super.encode(packet)
    return [`${type}${id ?? ''}${data == null ? '' : JSON.stringify(data)}`]
  }
}

/**
 * Whether a value is made of JSON's kinds only, and so has no binary data, nor a way to become something else.
 * @param {any} value
 * @returns {boolean}
 */
function isPlain (value) {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function'
  if (Array.isArray(value)) return value.every(isPlain)
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const key in value) if (!isPlain(value[key])) return false
  return true
}

const encoders = { json: new Encoder(), msgpack: new msgpack.Encoder() }

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
