import * as json from 'socket.io-parser'
import msgpack from 'socket.io-msgpack-parser'
import { checkMsgpack, TooManyValues } from '../wire/msgpack.js'
import { SOCKET_IO_EVENTS } from '../wire/publication.js'
import { rememberPacket } from '../wire/raw-value.js'
import { hasMoreValues, isNestedDeeper } from '../wire/value.js'
import { kRefused, RATE_LIMITED, refusal, TOO_DEEP, TOO_MANY_VALUES } from '../admission/rate-limit.js'
import { jsonHead, msgpackHead } from './packet-head.js'

/**
 * One port for JSON and msgpack clients: a parser whose Decoder recognises the codec from a connection's first
 * packet (text is JSON, binary is msgpack; a JSON client never begins with an attachment).
 *
 * @typedef {import('../wire/packet.js').Codec} Codec
 *
 * @typedef {object} Sender the connection of an admitted client, which limits what it may send
 * @property {() => boolean} mayHandle counts an event; false: it is refused
 * @property {boolean} overworked nothing of it is to be decoded now
 * @property {(ms: number) => void} decoded counts CPU time
 * @property {(ackId: number) => void} acknowledged
 * @property {(code: 'rate_limited') => void} disconnect
 */

/** A client that is refused may try again on the same connection; each try costs a token's verification. */
const MAX_CONNECTS = 10
/** What a client sends is checked by its handler, which allows less; this only protects the decoder's stack. */
const MAX_DEPTH = 1000

/**
 * Values of a msgpack message of a client that is admitted, with keys: so many empty ArrayBuffers take 0.15 s until
 * clients of both codecs have them. A megabyte of JSON takes no longer.
 */
const MAX_VALUES = 50_000
/** Values of a packet before that, and as many more for each document of the handshake. */
const [EARLY_VALUES, EARLY_VALUES_PER_DOCUMENT] = [1000, 20]
/**
 * From here on decoding is measured, bytes: what is smaller costs no more than measuring, at the rate at which events
 * may come.
 */
const LARGE = 1024

/**
 * JSON from here on is refused before it is decoded where it is too deep, characters: a megabyte of brackets takes 100
 * MB. Shorter text is decoded first.
 */
const DEEP_FROM = 16_384

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
  /** Whose acknowledgements these are. @type {Sender | undefined} */
  connection
  #connects = 0
  /** Attachments still to come of a packet that was refused. */
  #passingOver = 0
  /**
   * There is one event and one listener, Socket.IO's Client, until it is destroyed: no table is needed.
   * @type {((packet: json.Packet) => void) | undefined}
   */
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

  /** Values that a packet may hold before the client is admitted. */
  get earlyValues () { return EARLY_VALUES }

  /** @override @param {string | Buffer} data @throws {Error} if it is no packet, or not one that may come now */
  add (data) {
    this.codec ??= typeof data === 'string' ? 'json' : 'msgpack'
    const { connection } = this
    if (connection === undefined || data.length <= LARGE) return this.#read(data)
    const before = process.cpuUsage()
    try {
      this.#read(data)
    } finally {
      const { user, system } = process.cpuUsage(before)
      connection.decoded((user + system) / 1000)
    }
  }

  /** @param {string | Buffer} data */
  #read (data) {
    if (this.codec === 'msgpack') this.#readMsgpack(data)
    else if (typeof data === 'string' && !this.#assembling && this.#passingOver === 0) this.#readText(data)
    else if (typeof data !== 'string' && this.#passingOver > 0) this.#passingOver--
    else if (this.#passingOver > 0) throw new Error('an attachment is missing')
    else super.add(data)
  }

  /** @param {string} text */
  #readText (text) {
    const head = PLAIN.exec(text)
    const { connection } = this
    this.#check(text[0] === '0')
    if (connection === undefined) {
      if (hasMoreValues(text, this.earlyValues)) return this.#refuseEarly(head !== null && head[1] === undefined)
    } else if (head === null) {
      if (this.#passOver(text)) return
    } else if (head[1] !== undefined) {
      const refused = this.#objection(connection, text)
      if (refused !== undefined) return this.#refuse(jsonHead(text), refused)
    }
    const packet = head === null ? undefined : readPlain(text, head)
    if (packet === undefined) {
      super.add(text)
      this.#acknowledge(Number(JSON_ACK.exec(text)?.[1]))
    } else {
      if (text.length > LARGE && packet.type === json.PacketType.EVENT) rememberPacket(packet.data, text)
      this.#listener?.(packet)
    }
  }

  /**
   * Counts an event.
   * @param {Sender} connection
   * @param {string} text
   * @returns {object | undefined} what it is refused with before it is decoded
   */
  #objection (connection, text) {
    if (!connection.mayHandle()) return RATE_LIMITED
    return text.length > DEEP_FROM && isNestedDeeper(text, MAX_DEPTH) ? TOO_DEEP : undefined
  }

  /**
   * Events with attachments, and what nobody has to answer.
   * @param {string} text
   * @returns {boolean} whether it was dealt with and is not to be decoded
   */
  #passOver (text) {
    const head = jsonHead(text)
    const { connection } = this
    if (head === undefined || connection === undefined) return false
    const isEvent = head.type === json.PacketType.EVENT || head.type === json.PacketType.BINARY_EVENT
    if (head.nsp === '/' && isEvent) {
      const refused = this.#objection(connection, text)
      if (refused === undefined) return false
      this.#refuse(head, refused)
    } else {
      if (!connection.overworked) return false
      this.#drop(head, JSON_ACK.exec(text)?.[1])
    }
    this.#passingOver = head.attachments
    return true
  }

  /** @param {string | Buffer} data */
  #readMsgpack (data) {
    if (typeof data === 'string') throw new Error('text from a client that speaks msgpack')
    const { connection } = this
    const head = connection !== undefined && data.length > LARGE ? msgpackHead(data) : undefined
    if (head?.nsp === '/' && head.type === json.PacketType.EVENT) {
      if (!connection?.mayHandle()) return this.#refuse(head, RATE_LIMITED)
    } else if (head !== undefined && connection?.overworked)
      return this.#drop(head, head.nsp === '/' ? head.id : undefined)
    let read
    try {
      read = readMsgpackPacket(data, connection === undefined ? this.earlyValues : MAX_VALUES)
    } catch (error) {
      if (!(error instanceof TooManyValues)) throw error
      const { type, nsp, id, event } = head ?? msgpackHead(data)
      this.#check(type === json.PacketType.CONNECT)
      if (connection === undefined) return this.#refuseEarly(type === json.PacketType.CONNECT && nsp === '/')
      if (type !== json.PacketType.EVENT || nsp !== '/') throw error
      return this.#refuse({ id, event }, refusal(error))
    }
    const { packet, extensions } = read
    const isEvent = packet.type === json.PacketType.EVENT && packet.nsp === '/'
    this.#check(packet.type === json.PacketType.CONNECT)
    if (head === undefined && isEvent && connection !== undefined && !connection.mayHandle())
      return this.#refuse({ id: packet.id, event: packet.data[0] }, RATE_LIMITED)
    if (packet.type === json.PacketType.ACK && packet.nsp === '/') this.#acknowledge(packet.id)
    if (isEvent && (extensions || data.length > LARGE)) rememberPacket(packet.data, data)
    this.#listener?.(packet)
  }

  /** @param {boolean} isConnect whether it can be answered @throws {TooManyValues} */
  #refuseEarly (isConnect) {
    if (!isConnect) throw new TooManyValues(this.earlyValues)
    this.#listener?.({ type: json.PacketType.CONNECT, nsp: '/', data: TOO_MANY_VALUES })
  }

  /**
   * The client is answered as by a handler; who asked for no answer gets none.
   * @param {Pick<import('./packet-head.js').Head, 'id' | 'event'> | undefined} head
   * @param {object} answer
   */
  #refuse (head, answer) {
    this.#listener?.({ type: json.PacketType.EVENT, nsp: '/', id: head?.id, data: [kRefused, answer, head?.event] })
  }

  /**
   * Acknowledgements need not be decoded to be counted; a client that does more in another namespace is cut off.
   * @param {import('./packet-head.js').Head} head
   * @param {string | number | undefined} receipt that may be acknowledged
   */
  #drop ({ type }, receipt) {
    if (type === json.PacketType.ACK || type === json.PacketType.BINARY_ACK) this.#acknowledge(Number(receipt))
    else this.connection?.disconnect('rate_limited')
  }

  /** Attachments of a packet are still to come. */
  get #assembling () { return Boolean(/** @type {any} */ (this).reconstructor) }

  /**
   * Records are sent past Socket.IO, which passes over the acknowledgements that it knows nothing of.
   * @param {number | undefined} id
   */
  #acknowledge (id) {
    if (typeof id === 'number') this.connection?.acknowledged(id)
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
 * Exported for tests: input of clients.
 * Reads what nearly all packets are: CONNECT with a payload, and EVENT, in the main namespace.
 * @param {string} text
 * @param {RegExpExecArray | null} [head]
 * @returns {json.Packet | undefined} undefined: it is something else, or not valid
 */
export function readPlain (text, head = PLAIN.exec(text)) {
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
 * Checked before it is decoded: notepack believes every length it reads, and 6 bytes would make it allocate and fill 4
 * GB.
 * @param {Buffer} data
 * @param {number} maxValues
 * @returns {{ packet: json.Packet, extensions: boolean }}
 * @throws {Error}
 */
function readMsgpackPacket (data, maxValues) {
  const extensions = checkMsgpack(data, MAX_DEPTH, maxValues)
  msgpackDecoder.add(data)
  // The JSON decoder refuses events that only Socket.IO itself may emit; this one lets them pass, and a client could
  // have the server believe in a disconnect.
  const { type, data: args } = decoded
  if (type === json.PacketType.EVENT && (typeof args[0] !== 'string' || SOCKET_IO_EVENTS.has(args[0])))
    throw new Error('invalid event name')
  return { packet: decoded, extensions }
}

/** JSON's, which makes less of what nearly all packets are: without binary data, in the main namespace. */
class Encoder extends json.Encoder {
  /** @override @param {json.Packet} packet @returns {any} */
  encode (packet) {
    const { type, nsp, id, data } = packet
    if (
      nsp !== '/' ||
      (type !== json.PacketType.CONNECT && type !== json.PacketType.EVENT && type !== json.PacketType.ACK) ||
      !isPlain(data)
    )
      return super.encode(packet)
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

/**
 * What is emitted to a room is encoded once, before Socket.IO knows for whom: keeps the packet for those that speak
 * msgpack.
 */
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
  writeToEngine.call(this, (encoded[kMsgpack] ??= encodePacket('msgpack', packet)), {
    ...options,
    wsPreEncodedFrame: undefined
  })
}

/** The `parser` option of the Socket.IO server. Its Encoder is JSON's until `useCodec` says otherwise. */
export const parser = { Encoder: RoomEncoder, Decoder }

/** @param {number} maxDocuments that a handshake may name @returns {typeof parser} */
export function parserFor (maxDocuments) {
  const earlyValues = EARLY_VALUES + EARLY_VALUES_PER_DOCUMENT * maxDocuments
  return { Encoder: RoomEncoder, Decoder: class extends Decoder { get earlyValues () { return earlyValues } } }
}

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
