import { encodeMsgpack } from './msgpack.js'
import { frameFor } from './packet.js'

/**
 * Messages of the plain WebSocket protocol (docs/websocket.md), as whole frames: an object with `event`, `payload`,
 * and, of records, `meta` and `ack`. The bytes of a record's value are spliced in, neither decoded nor encoded again.
 *
 * @typedef {import('./packet.js').EncodedMessage} EncodedMessage
 */

const TEXT = 0x81
const BINARY = 0x82

/**
 * @param {string} event
 * @param {Buffer} value JSON, checked
 * @param {object} meta
 * @param {number} [ackId] the client is asked to acknowledge with this id
 * @returns {EncodedMessage}
 */
export function plainJson (event, value, meta, ackId) {
  const head = `{"event":${JSON.stringify(event)},"payload":`
  const tail = `,"meta":${JSON.stringify(meta)}${ackId === undefined ? '' : `,"ack":${ackId}`}}`
  const headLength = Buffer.byteLength(head)
  const { frame, at } = frameFor(TEXT, headLength + value.length + Buffer.byteLength(tail))
  frame.write(head, at)
  value.copy(frame, at + headLength)
  frame.write(tail, at + headLength + value.length)
  return { data: frame.subarray(at), frame }
}

const EVENT = encodeMsgpack('event')
const PAYLOAD = encodeMsgpack('payload')
const META = encodeMsgpack('meta')
const ACK = encodeMsgpack('ack')
/** Maps with 3 and with 4 fields. */
const [THREE, FOUR] = [Buffer.from([0x83]), Buffer.from([0x84])]

/**
 * @param {string} event
 * @param {Buffer} value msgpack, checked
 * @param {object} meta
 * @param {number} [ackId] the client is asked to acknowledge with this id
 * @returns {EncodedMessage}
 */
export function plainMsgpack (event, value, meta, ackId) {
  const bytes = Buffer.concat([
    ackId === undefined ? THREE : FOUR, EVENT, encodeMsgpack(event), PAYLOAD, value, META, encodeMsgpack(meta),
    ...(ackId === undefined ? [] : [ACK, encodeMsgpack(ackId)])
  ])
  return { data: bytes, frame: framed(BINARY, bytes) }
}

/**
 * @param {import('./packet.js').Codec} codec
 * @param {object} message
 * @returns {EncodedMessage}
 */
export function plainMessageOf (codec, message) {
  const data = codec === 'json' ? Buffer.from(plainText(message)) : encodeMsgpack(message)
  return { data, frame: framed(codec === 'json' ? TEXT : BINARY, data) }
}

/** @param {unknown} value @returns {string} JSON, with bytes as base64 */
export const plainText = (value) => JSON.stringify(value, bytesAsText)

/**
 * Replacer for JSON.stringify.
 * @this {any} @param {string} key @param {unknown} value
 */
export function bytesAsText (key, value) {
  // `value` of a Buffer is the result of its toJSON, so read the original
  const bytes = this[key]
  return ArrayBuffer.isView(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    : value
}

/** @param {number} opcode first byte of the frame @param {Buffer} payload */
function framed (opcode, payload) {
  const { frame, at } = frameFor(opcode, payload.length)
  payload.copy(frame, at)
  return frame
}
