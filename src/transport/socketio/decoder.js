import { createRequire } from 'node:module'
import { TooManyValues } from '../../wire/msgpack.js'
import { rememberPacket } from '../../wire/raw-value.js'
import { MAX_VALUES as MAX_JSON_VALUES, hasMoreValues, isNestedDeeper } from '../../wire/value.js'
import { DEEP_FROM, LARGE, MAX_DEPTH, MAX_MSGPACK_VALUES, earlyValuesFor } from '../admission/message-bounds.js'
import { kRefused, RATE_LIMITED, TOO_MANY_VALUES, UNREADABLE } from '../admission/rate-limit.js'
import { readMsgpackPacket } from './msgpack-packet.js'
import { connectHead, jsonHead, msgpackHead } from './packet-head.js'
import { WrongPacket, answerTo } from './undecoded.js'

const require = createRequire(import.meta.url)
const { Decoder: JsonDecoder, PacketType } = require('socket.io-parser')

/**
 * The connection of an admitted client, which limits what the client may send.
 *
 * @typedef {object} Sender
 * @property {() => boolean} mayHandle counts an event; false: it is refused
 * @property {typeof RATE_LIMITED} [limited] why, if it has a reason of its own
 * @property {boolean} overworked its packets must not be decoded now
 * @property {(ms: number) => void} decoded counts CPU time
 * @property {(ackId: number) => void} acknowledged
 * @property {(code: 'rate_limited' | 'bad_value', retryInMs?: number, message?: string) => void} disconnect
 * @property {boolean} open
 * @property {string} [uid]
 *
 * @typedef {object} DecoderSettings the same for all connections of a worker
 * @property {number} earlyValues allowed in a packet before the client is admitted
 * @property {import('./undecoded.js').NoteUndecoded} note
 * @property {Pick<import('../../base/common/clock.js').Clock, 'cpu'>} clock
 */

/** CONNECT packets per connection: a refused client may retry, and each attempt verifies a token. */
const MAX_CONNECTS = 10
/** Attachments of an event. */
const MAX_ATTACHMENTS = 10
/** The defaults of socket.io-parser, in one object for all connections. */
const DECODER_OPTIONS = Object.freeze({ reviver: undefined, maxAttachments: MAX_ATTACHMENTS })

/** An acknowledgement in the main namespace, with or without attachments, whose id may be a receipt's. */
const JSON_ACK = /^(?:3|6\d{1,2}-)(\d{10})(?!\d)/

/**
 * socket.io-parser's Decoder, for both codecs: the first packet of a connection decides (text is JSON, binary is
 * msgpack; a JSON client never begins with an attachment). An event that cannot be decoded is answered with an error if
 * it has an id; for other packets the client gets the error, and its connection is closed. If the decoder throws,
 * Socket.IO closes the connection.
 */
class Decoder extends JsonDecoder {
  /** @type {import('../../wire/packet.js').Codec | undefined} */
  codec
  /** A handshake is in progress or done: refuse a second one (handshake.js). */
  taken = false
  /** Set when the client is admitted. @type {Sender | undefined} */
  connection
  #connects = 0
  /** Attachments of a refused packet that have not arrived yet. */
  #passingOver = 0
  #settings
  /**
   * The only listener of the only event, Socket.IO's Client, until the decoder is destroyed. It needs no table.
   * @type {((packet: import('socket.io-parser').Packet) => void) | undefined}
   */
  #listener

  /** @param {DecoderSettings} settings */
  constructor (settings) {
    super()
    Object.assign(this, { opts: DECODER_OPTIONS })
    this.#settings = settings
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

  /** @override @param {string | Buffer} data @throws {Error} if the client is not admitted, and its packet is wrong */
  add (data) {
    this.codec ??= typeof data === 'string' ? 'json' : 'msgpack'
    const { connection } = this
    if (connection === undefined || data.length <= LARGE) return this.#read(data)
    const { clock } = this.#settings
    const before = clock.cpu()
    try {
      this.#read(data)
    } finally {
      connection.decoded(clock.cpu() - before)
    }
  }

  /** @param {string | Buffer} data */
  #read (data) {
    try {
      if (this.codec === 'msgpack') this.#readMsgpack(data)
      else if (typeof data === 'string' && !this.#assembling && this.#passingOver === 0) this.#readText(data)
      else if (typeof data !== 'string' && this.#passingOver > 0) this.#passingOver--
      else if (this.#passingOver > 0) throw new WrongPacket('attachments', 'an attachment is missing')
      else super.add(data)
    } catch (error) {
      this.#refuseUndecoded(data, /** @type {Error} */ (error))
    }
  }

  /**
   * @param {string | Buffer} data
   * @param {Error} error
   * @throws {Error} if there is nothing to answer, and no client to notify
   */
  #refuseUndecoded (data, error) {
    const { connection } = this
    const kind = this.#kindOf(data, error)
    this.#settings.note(kind, error.message, connection)
    const head = this.#headOf(data)
    if (connection === undefined) {
      if (kind === 'connect' || head?.type !== PacketType.CONNECT || head.nsp !== '/') throw error
      return this.#listener?.({ type: PacketType.CONNECT, nsp: '/', data: UNREADABLE })
    }
    if (!connection.open) throw error
    Object.assign(this, { reconstructor: null })
    const answer = answerTo(kind, error)
    // an event with too many values is well formed: without an id it is dropped alone
    if (head === undefined || !isEvent(head) || (head.id === undefined && kind !== 'values'))
      return connection.disconnect('bad_value', undefined, answer.error.message)
    // a small packet of msgpack is counted after it was decoded
    const counted = this.codec === 'json' || data.length > LARGE || connection.mayHandle()
    this.#refuse(head, counted ? answer : connection.limited ?? RATE_LIMITED)
    this.#passingOver = head.attachments
  }

  /** @param {string | Buffer} data @param {Error} error @returns {import('./undecoded.js').Kind} */
  #kindOf (data, error) {
    if (error instanceof WrongPacket) return error.kind
    if (error instanceof TooManyValues) return 'values'
    if (this.codec === 'msgpack') return 'msgpack'
    // the last attachment puts the event together
    if (typeof data !== 'string') return this.#assembling ? 'placeholder' : 'attachments'
    return this.#assembling || (jsonHead(data)?.attachments ?? 0) > MAX_ATTACHMENTS ? 'attachments' : 'json'
  }

  /**
   * @param {string | Buffer} data that cannot be decoded
   * @returns {import('./packet-head.js').Head | undefined} of the packet that it completes, or begins
   */
  #headOf (data) {
    if (this.codec === 'msgpack') return typeof data === 'string' ? undefined : msgpackHead(data)
    /** @type {{ id?: number, nsp: string, data: any[], type: number } | undefined} */
    const pending = /** @type {any} */ (this).reconstructor?.reconPack
    // text, or an attachment of no event: the client and this decoder no longer agree about the packets
    if (typeof data === 'string') return pending === undefined ? jsonHead(data) ?? connectHead(data) : undefined
    if (pending === undefined) return undefined
    const { id, nsp, type, data: [event] } = pending
    return { id, nsp, type, event, attachments: 0 }
  }

  /** @param {string} text */
  #readText (text) {
    this.#check(text[0] === '0')
    if (this.connection === undefined) {
      if (hasMoreValues(text, this.#settings.earlyValues)) return this.#refuseEarly(text.startsWith('0{'))
    } else if (this.#passOver(text)) return
    if (text.length > LARGE && text[0] === '2') this.#readLargeEvent(text)
    else super.add(text)
    this.#acknowledge(Number(JSON_ACK.exec(text)?.[1]))
  }

  /** Keeps the text for the handler of the event (raw-value.js). @param {string} text */
  #readLargeEvent (text) {
    const listener = this.#listener
    const remember = (/** @type {import('socket.io-parser').Packet} */ packet) => {
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
    if (!connection.mayHandle()) return connection.limited ?? RATE_LIMITED
    if (text.length <= DEEP_FROM) return undefined
    const kind = isNestedDeeper(text, MAX_DEPTH) ? 'depth' : hasMoreValues(text, MAX_JSON_VALUES) ? 'values' : undefined
    if (kind === undefined) return undefined
    this.#settings.note(kind, kind === 'depth' ? `more than ${MAX_DEPTH} levels` : `more than ${MAX_JSON_VALUES} values`, connection)
    return answerTo(kind)
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
    if (isEvent(head)) {
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
    if (typeof data === 'string') throw new WrongPacket('msgpack', 'text from a client that uses msgpack')
    const { connection } = this
    const head = connection !== undefined && data.length > LARGE ? msgpackHead(data) : undefined
    if (head?.type === PacketType.EVENT) {
      if (!connection?.mayHandle()) return this.#refuse(head, connection?.limited ?? RATE_LIMITED)
    } else if (head !== undefined && connection?.overworked)
      return this.#drop(head, head.nsp === '/' ? head.id : undefined)
    let read
    try {
      const maxValues = connection === undefined ? this.#settings.earlyValues : MAX_MSGPACK_VALUES
      read = readMsgpackPacket(data, MAX_DEPTH, maxValues)
    } catch (error) {
      const { type, nsp } = head ?? msgpackHead(data)
      this.#check(type === PacketType.CONNECT)
      if (connection !== undefined || !(error instanceof TooManyValues)) throw error
      return this.#refuseEarly(type === PacketType.CONNECT && nsp === '/')
    }
    const { packet, extensions } = read
    const event = packet.type === PacketType.EVENT
    this.#check(packet.type === PacketType.CONNECT)
    if (head === undefined && event && connection !== undefined && !connection.mayHandle())
      return this.#refuse({ id: packet.id, nsp: packet.nsp, event: packet.data[0] }, connection.limited ?? RATE_LIMITED)
    if (packet.type === PacketType.ACK && packet.nsp === '/') this.#acknowledge(packet.id)
    if (event && packet.nsp === '/' && (extensions || data.length > LARGE)) rememberPacket(packet.data, data)
    this.#listener?.(packet)
  }

  /** @param {boolean} isConnect a CONNECT gets a response @throws {TooManyValues} */
  #refuseEarly (isConnect) {
    const error = new TooManyValues(this.#settings.earlyValues)
    if (!isConnect) throw error
    this.#settings.note('values', error.message)
    this.#listener?.({ type: PacketType.CONNECT, nsp: '/', data: TOO_MANY_VALUES })
  }

  /**
   * Responds as a handler would, if the client asked for a response.
   * @param {Pick<import('./packet-head.js').Head, 'id' | 'nsp' | 'event'>} head
   * @param {object} answer
   */
  #refuse (head, answer) {
    const { nsp = '/', id, event } = head
    this.#listener?.({ type: PacketType.EVENT, nsp, id, data: [kRefused, answer, event] })
  }

  /**
   * Acknowledgements are counted without decoding; a client that sends other packets is disconnected.
   * @param {import('./packet-head.js').Head} head
   * @param {string | number | undefined} receipt that may be acknowledged
   */
  #drop ({ type }, receipt) {
    if (type === PacketType.ACK || type === PacketType.BINARY_ACK) this.#acknowledge(Number(receipt))
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
    if (this.#connects === 0) throw new WrongPacket('connect', 'the first packet must be CONNECT')
    if (this.#connects > MAX_CONNECTS) throw new WrongPacket('connect', 'too many CONNECT packets')
  }
}

/** @param {{ type: number }} head */
const isEvent = ({ type }) => type === PacketType.EVENT || type === PacketType.BINARY_EVENT

/**
 * One class for all gateways of a process: with a class for each, V8 would discard the code compiled in the warm-up at
 * the first client.
 * @param {number} maxDocuments that a handshake may name
 * @param {Pick<import('../../base/common/clock.js').Clock, 'cpu'>} clock
 * @param {import('./undecoded.js').NoteUndecoded} [note]
 */
export const decoderFor = (maxDocuments, clock, note = () => {}) =>
  Decoder.bind(null, { earlyValues: earlyValuesFor(maxDocuments), note, clock })
