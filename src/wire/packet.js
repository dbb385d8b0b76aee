import { decodeMsgpack, encodeMsgpack } from './msgpack.js'

/**
 * Socket.IO packets and WebSocket frames made from untouched value bytes: an EVENT packet
 * `[event, payload, meta]` in which the payload's bytes are spliced in, neither decoded nor encoded again.
 *
 * Socket.IO protocol v5, https://socket.io/docs/v4/socket-io-protocol/; Engine.IO v4 puts `4` before a text message
 * and nothing before a binary one; WebSocket frames as in RFC 6455, section 5.2, unmasked and not fragmented.
 */

/** @typedef {'json' | 'msgpack'} Codec */

/**
 * One Engine.IO message and the WebSocket frame that carries it. `data` is for other transports.
 * @typedef {object} EncodedMessage
 * @property {string | Buffer | LazyText} data
 * @property {Buffer} frame
 * @property {Buffer} [compressed] the compressed frame, once it exists
 * @property {string} [guid] the document whose record or presence it is
 * @property {any} [trace] DeliveryTrace of a record that is observed (observe/metrics/points.js)
 */

const TEXT = 0x81
const BINARY = 0x82

/**
 * Text that is turned into bytes on demand: WebSocket members receive the frame, so mostly it is not needed.
 * Exported for tests: its type.
 */
export class LazyText {
  /** @type {string | undefined} */
  #text

  /** @param {Buffer} bytes */
  constructor (bytes) { this.bytes = bytes }

  toString () { return this.#text ??= this.bytes.toString('utf8') }
}

/**
 * Room for a frame with its header written; the payload starts at `at`.
 * @param {number} opcode first byte of the frame
 * @param {number} length of the payload
 */
export function frameFor (opcode, length) {
  const at = length < 126 ? 2 : length < 65536 ? 4 : 10
  const frame = Buffer.allocUnsafe(at + length)
  frame[0] = opcode
  if (at === 2) {
    frame[1] = length
  } else if (at === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeUInt32BE(0, 2)
    frame.writeUInt32BE(length, 6)
  }
  return { frame, at }
}

/**
 * @param {string} event
 * @param {Buffer} value JSON, checked
 * @param {object} meta
 * @param {number} [ackId] the client is asked to acknowledge with this id
 * @returns {EncodedMessage}
 */
export function jsonMessage (event, value, meta, ackId) {
  const head = `42${ackId ?? ''}[${JSON.stringify(event)},`
  const tail = `,${JSON.stringify(meta)}]`
  const headLength = Buffer.byteLength(head)
  const { frame, at } = frameFor(TEXT, headLength + value.length + Buffer.byteLength(tail))
  frame.write(head, at)
  value.copy(frame, at + headLength)
  frame.write(tail, at + headLength + value.length)
  // Engine.IO adds the leading `4` of its own on other transports
  return { data: new LazyText(frame.subarray(at + 1)), frame }
}

// { type: 2, nsp: '/', data: [ … three elements, and before them `id: …` where an acknowledgement is asked for
const MSGPACK_TYPE = Buffer.concat([encodeMsgpack('type'), Buffer.from([2]), encodeMsgpack('nsp'), encodeMsgpack('/')])
const MSGPACK_DATA = Buffer.concat([encodeMsgpack('data'), Buffer.from([0x93])])
const MSGPACK_HEAD = Buffer.concat([Buffer.from([0x83]), MSGPACK_TYPE, MSGPACK_DATA])
/** @param {number} ackId */
const msgpackAskingHead = (ackId) =>
  Buffer.concat([Buffer.from([0x84]), MSGPACK_TYPE, encodeMsgpack('id'), encodeMsgpack(ackId), MSGPACK_DATA])

/**
 * @param {string} event
 * @param {Buffer} value msgpack, checked
 * @param {object} meta
 * @param {number} [ackId] the client is asked to acknowledge with this id
 * @returns {EncodedMessage}
 */
export function msgpackMessage (event, value, meta, ackId) {
  const head = ackId === undefined ? MSGPACK_HEAD : msgpackAskingHead(ackId)
  const name = encodeMsgpack(event)
  const tail = encodeMsgpack(meta)
  const { frame, at } = frameFor(BINARY, head.length + name.length + value.length + tail.length)
  let end = at
  for (const part of [head, name, value, tail]) end += part.copy(frame, end)
  return { data: frame.subarray(at), frame }
}

/**
 * A message from the bytes of a stock encoder.
 * @param {string | Buffer} data an Engine.IO message
 * @returns {EncodedMessage}
 */
export function plainMessage (data) {
  const bytes = typeof data === 'string' ? Buffer.from(`4${data}`) : data
  const { frame, at } = frameFor(typeof data === 'string' ? TEXT : BINARY, bytes.length)
  bytes.copy(frame, at)
  return { data, frame }
}

/**
 * The payload as a client would see it.
 * @param {Buffer} value checked
 * @param {import('./publication.js').ContentType} contentType
 * @returns {unknown}
 */
export function decodeValue (value, contentType) {
  return contentType === 'application/json' ? JSON.parse(value.toString()) : decodeMsgpack(value)
}
