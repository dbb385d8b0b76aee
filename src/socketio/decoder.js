import * as json from 'socket.io-parser'
import { TooManyValues } from '../wire/msgpack.js'
import { rememberPacket } from '../wire/raw-value.js'
import { hasMoreValues, isNestedDeeper } from '../wire/value.js'
import { kRefused, RATE_LIMITED, refusal, TOO_DEEP, TOO_MANY_VALUES } from '../admission/rate-limit.js'
import { readMsgpackPacket } from './msgpack-packet.js'
import { jsonHead, msgpackHead } from './packet-head.js'

/**
 * The connection of an admitted client, which limits what the client may send.
 *
 * @typedef {object} Sender
 * @property {() => boolean} mayHandle counts an event; false: it is refused
 * @property {boolean} overworked its packets must not be decoded now
 * @property {(ms: number) => void} decoded counts CPU time
 * @property {(ackId: number) => void} acknowledged
 * @property {(code: 'rate_limited') => void} disconnect
 */

/** CONNECT packets per connection: a refused client may retry, and each attempt verifies a token. */
const MAX_CONNECTS = 10
/** Protects the decoder's stack; handlers allow less. */
const MAX_DEPTH = 1000

/**
 * Values in a msgpack packet of an admitted client, with keys: this many empty ArrayBuffers take 0.15 s until clients
 * of both codecs have received them, no longer than a megabyte of JSON.
 */
const MAX_VALUES = 50_000
/** Values in a packet before admission, and additional values per document of the handshake. */
const [EARLY_VALUES, EARLY_VALUES_PER_DOCUMENT] = [1000, 20]
/** Decoding is measured from this size on, bytes: smaller packets cost no more than the measurement. */
const LARGE = 1024

/**
 * The depth of JSON is checked before decoding from this length on, characters: a megabyte of brackets takes 100 MB.
 * The depth of shorter text is checked by handlers.
 */
const DEEP_FROM = 16_384

/** The defaults of socket.io-parser, in one object for all connections. */
const DECODER_OPTIONS = Object.freeze({ reviver: undefined, maxAttachments: 10 })

/** An acknowledgement in the main namespace, with or without attachments, whose id may be a receipt's. */
const JSON_ACK = /^(?:3|6\d{1,2}-)(\d{10})(?!\d)/

/**
 * socket.io-parser's Decoder, for both codecs: the first packet of a connection decides (text is JSON, binary is
 * msgpack; a JSON client never begins with an attachment). Socket.IO closes the connection if it throws.
 */
class Decoder extends json.Decoder {
  /** @type {import('../wire/packet.js').Codec | undefined} */
  codec
  /** A handshake is in progress or done: refuse a second one (handshake.js). */
  taken = false
  /** Set when the client is admitted. @type {Sender | undefined} */
  connection
  #connects = 0
  /** Attachments of a refused packet that have not arrived yet. */
  #passingOver = 0
  #earlyValues
  /**
   * The only listener of the only event, Socket.IO's Client, until the decoder is destroyed. It needs no table.
   * @type {((packet: json.Packet) => void) | undefined}
   */
  #listener

  /** @param {number} earlyValues allowed in a packet before the client is admitted */
  constructor (earlyValues) {
    super()
    Object.assign(this, { opts: DECODER_OPTIONS })
    this.#earlyValues = earlyValues
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

  /** The emitter's table, made when socket.io-parser emits a packet. */
  get _callbacks () { return { $decoded: this.#listener === undefined ? [] : [this.#listener] } }
  set _callbacks (none) {}

  /** @override @param {string | Buffer} data @throws {Error} if it is no packet, or not allowed now */
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
    this.#check(text[0] === '0')
    if (this.connection === undefined) {
      if (hasMoreValues(text, this.#earlyValues)) return this.#refuseEarly(text.startsWith('0{'))
    } else if (this.#passOver(text)) return
    if (text.length > LARGE && text[0] === '2') this.#readLargeEvent(text)
    else super.add(text)
    this.#acknowledge(Number(JSON_ACK.exec(text)?.[1]))
  }

  /** Keeps the text for the handler of the event (raw-value.js). @param {string} text */
  #readLargeEvent (text) {
    const listener = this.#listener
    const remember = (/** @type {json.Packet} */ packet) => {
      this.#listener = listener
      if (packet.nsp === '/') rememberPacket(packet.data, text)
      listener?.(packet)
    }
    this.#listener = remember
    try {
      super.add(text)
    } finally {
      if (this.#listener === remember) this.#listener = listener
    }
  }

  /**
   * Counts an event.
   * @param {Sender} connection
   * @param {string} text
   * @returns {object | undefined} the refusal, if it must not be decoded
   */
  #objection (connection, text) {
    if (!connection.mayHandle()) return RATE_LIMITED
    return text.length > DEEP_FROM && isNestedDeeper(text, MAX_DEPTH) ? TOO_DEEP : undefined
  }

  /**
   * Refuses an event, or drops another packet, of a client that exceeds its limits.
   * @param {string} text
   * @returns {boolean} true: do not decode it
   */
  #passOver (text) {
    const head = jsonHead(text)
    const { connection } = this
    if (head === undefined || connection === undefined) return false
    const isEvent = head.type === json.PacketType.EVENT || head.type === json.PacketType.BINARY_EVENT
    if (isEvent) {
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
    if (typeof data === 'string') throw new Error('text from a client that uses msgpack')
    const { connection } = this
    const head = connection !== undefined && data.length > LARGE ? msgpackHead(data) : undefined
    if (head?.type === json.PacketType.EVENT) {
      if (!connection?.mayHandle()) return this.#refuse(head, RATE_LIMITED)
    } else if (head !== undefined && connection?.overworked)
      return this.#drop(head, head.nsp === '/' ? head.id : undefined)
    let read
    try {
      read = readMsgpackPacket(data, MAX_DEPTH, connection === undefined ? this.#earlyValues : MAX_VALUES)
    } catch (error) {
      if (!(error instanceof TooManyValues)) throw error
      const { type, nsp, id, event } = head ?? msgpackHead(data)
      this.#check(type === json.PacketType.CONNECT)
      if (connection === undefined) return this.#refuseEarly(type === json.PacketType.CONNECT && nsp === '/')
      if (type !== json.PacketType.EVENT) throw error
      return this.#refuse({ id, nsp, event }, refusal(error))
    }
    const { packet, extensions } = read
    const isEvent = packet.type === json.PacketType.EVENT
    this.#check(packet.type === json.PacketType.CONNECT)
    if (head === undefined && isEvent && connection !== undefined && !connection.mayHandle())
      return this.#refuse({ id: packet.id, nsp: packet.nsp, event: packet.data[0] }, RATE_LIMITED)
    if (packet.type === json.PacketType.ACK && packet.nsp === '/') this.#acknowledge(packet.id)
    if (isEvent && packet.nsp === '/' && (extensions || data.length > LARGE)) rememberPacket(packet.data, data)
    this.#listener?.(packet)
  }

  /** @param {boolean} isConnect a CONNECT gets a response @throws {TooManyValues} */
  #refuseEarly (isConnect) {
    if (!isConnect) throw new TooManyValues(this.#earlyValues)
    this.#listener?.({ type: json.PacketType.CONNECT, nsp: '/', data: TOO_MANY_VALUES })
  }

  /**
   * Responds as a handler would, if the client asked for a response.
   * @param {Pick<import('./packet-head.js').Head, 'id' | 'nsp' | 'event'>} head
   * @param {object} answer
   */
  #refuse (head, answer) {
    const { nsp = '/', id, event } = head
    this.#listener?.({ type: json.PacketType.EVENT, nsp, id, data: [kRefused, answer, event] })
  }

  /**
   * Acknowledgements are counted without decoding; a client that sends other packets is disconnected.
   * @param {import('./packet-head.js').Head} head
   * @param {string | number | undefined} receipt that may be acknowledged
   */
  #drop ({ type }, receipt) {
    if (type === json.PacketType.ACK || type === json.PacketType.BINARY_ACK) this.#acknowledge(Number(receipt))
    else this.connection?.disconnect('rate_limited')
  }

  /** Whether attachments of a packet have not arrived yet. */
  get #assembling () { return Boolean(/** @type {any} */ (this).reconstructor) }

  /**
   * Records are sent past Socket.IO, which ignores acknowledgements with unknown ids.
   * @param {number | undefined} id
   */
  #acknowledge (id) {
    if (typeof id === 'number' && id >= 0) this.connection?.acknowledged(id)
  }

  /** @param {boolean} isConnect */
  #check (isConnect) {
    if (this.connection !== undefined) return
    if (isConnect) this.#connects++
    if (this.#connects === 0) throw new Error('the first packet must be CONNECT')
    if (this.#connects > MAX_CONNECTS) throw new Error('too many CONNECT packets')
  }
}

/**
 * One class for all gateways of a process: with a class for each, V8 would discard the code compiled in the warm-up at
 * the first client.
 * @param {number} maxDocuments that a handshake may name
 */
export const decoderFor = (maxDocuments) => Decoder.bind(null, EARLY_VALUES + EARLY_VALUES_PER_DOCUMENT * maxDocuments)
