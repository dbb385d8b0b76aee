import { isRecord } from '../../base/common/schema.js'
import { TooManyValues, checkMsgpack, decodeMsgpack } from '../../wire/msgpack.js'
import { MAX_VALUES as MAX_JSON_VALUES, hasMoreValues, isNestedDeeper } from '../../wire/value.js'
import { DEEP_FROM, MAX_DEPTH, MAX_MSGPACK_VALUES } from '../../transport/admission/message-bounds.js'
import { WrongPacket } from '../../transport/socketio/undecoded.js'

/**
 * Reads a message of a plain client: an event `{ event, payload, id? }`, or an acknowledgement `{ ack }`.
 *
 * @typedef {import('../../wire/packet.js').Codec} Codec
 * @typedef {{ event: string, payload: unknown, id: number | undefined }} PlainEvent
 */

/**
 * @param {string | Buffer} message
 * @param {Codec} codec
 * @param {number} [earlyValues] that it may have, if its client is not admitted yet
 * @returns {PlainEvent | { ack: number }}
 * @throws {WrongPacket | TooManyValues} it is none, or exceeds a limit
 */
export function readPlain (message, codec, earlyValues) {
  const read = codec === 'json' ? readText(message, earlyValues) : readBytes(message, earlyValues)
  if (!isRecord(read)) throw new WrongPacket(codec, 'a message is an object')
  const { event, payload, id, ack } = read
  if (ack !== undefined) {
    if (!isNumber(ack)) throw new WrongPacket(codec, 'ack is not a number of a record')
    return { ack }
  }
  if (typeof event !== 'string') throw new WrongPacket(codec, 'a message has no event')
  if (id !== undefined && !isNumber(id)) throw new WrongPacket(codec, 'id is not a whole number')
  return { event, payload, id }
}

/** @param {unknown} value @returns {value is number} */
const isNumber = (value) => Number.isSafeInteger(value) && Number(value) >= 0

/** @param {string | Buffer} message @param {number} [earlyValues] */
function readText (message, earlyValues) {
  if (typeof message !== 'string') throw new WrongPacket('json', 'bytes from a client that uses JSON')
  const max = earlyValues ?? MAX_JSON_VALUES
  if (earlyValues !== undefined || message.length > DEEP_FROM) {
    if (isNestedDeeper(message, MAX_DEPTH)) throw new WrongPacket('depth', `more than ${MAX_DEPTH} levels`)
    if (hasMoreValues(message, max)) throw new TooManyValues(max)
  }
  try {
    return JSON.parse(message)
  } catch {
    throw new WrongPacket('json', 'a message is not JSON')
  }
}

/** @param {string | Buffer} message @param {number} [earlyValues] */
function readBytes (message, earlyValues) {
  if (typeof message === 'string') throw new WrongPacket('msgpack', 'text from a client that uses msgpack')
  try {
    checkMsgpack(message, MAX_DEPTH, earlyValues ?? MAX_MSGPACK_VALUES)
    return decodeMsgpack(message)
  } catch (error) {
    if (error instanceof TooManyValues) throw error
    throw new WrongPacket('msgpack', 'a message is not msgpack')
  }
}

/** An id at the beginning or the end of a JSON message, which is not decoded. */
const FIRST_ID = /^\s*\{\s*"id"\s*:\s*(\d{1,15})\s*,/
const LAST_ID = /,\s*"id"\s*:\s*(\d{1,15})\s*\}\s*$/

/**
 * @param {string | Buffer} message that is refused before it is decoded
 * @returns {number | undefined} id of the request: of JSON only, where it is the first or the last field
 */
export function idOf (message) {
  if (typeof message !== 'string') return undefined
  const found = FIRST_ID.exec(message.slice(0, 100)) ?? LAST_ID.exec(message.slice(-100))
  return found === null ? undefined : Number(found[1])
}
