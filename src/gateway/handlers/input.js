import * as v from 'valibot'
import { InkcastError } from '../../base/common/errors.js'
import { boolean, custom, isRecord, parse, strictObject, string, wholeNumber } from '../../base/common/schema.js'
import { encodeMsgpack } from '../../wire/msgpack.js'
import { withoutArrayBuffers } from '../../wire/msgpack-extensions.js'
import { isId, isReservedEvent, reservedEvent } from '../../wire/publication.js'
import { RawValue, rawValue } from '../../wire/raw-value.js'
import { checkValue } from '../../wire/value.js'

/** Parts of the schemas of client events. */
const id = custom(
  /** @type {(value: unknown) => value is string} */ (isId),
  'must be a string of 1 to 256 bytes without control characters'
)
export const guid = id
export const event = id
const epoch = v.pipe(string(), v.maxCodePoints(64))
const offset = wholeNumber(0)
export const position = strictObject({ epoch, offset })
/** Maximum of the newest records that a join asks for: the default of HISTORY_SIZE. */
export const MAX_LAST = 1000
export const last = wholeNumber(1, MAX_LAST)
/** Fields of an object, in place of a position. */
export const positionFields = { epoch: v.optional(epoch), offset: v.optional(offset) }
/** Client id of one of several tabs that share the connection. */
export const tab = id
export const data = custom(
  /** @type {(value: unknown) => value is unknown} */ ((value) => value !== undefined),
  'is missing'
)
/** `watch`: gets the list of members without being in it. */
export const members = custom(
  /** @type {(value: unknown) => value is boolean | 'watch'} */
  ((value) => typeof value === 'boolean' || value === 'watch'),
  'must be true, false or "watch"'
)
export const idle = boolean()
/** presence.checkState checks the fields; it knows the limits. */
export const state = custom(isRecord, 'must be an object')

/**
 * Whether the input is an object with only a guid, which the schemas return unchanged. Why: decision 0005.
 * @param {any} input
 * @returns {input is { guid: string }}
 */
export function isGuidOnly (input) {
  if (!isRecord(input) || !isId(input.guid)) return false
  for (const field in input) if (field !== 'guid') return false
  return true
}

/** Maximum length of an error message, characters. */
const MAX_MESSAGE = 300

/**
 * @template T
 * @param {import('valibot').GenericSchema<unknown, T>} schema
 * @param {unknown} input
 * @param {PropertyKey[]} [at] path to the input, for error messages; default: none
 * @returns {T}
 * @throws {InkcastError} bad_request, naming the first invalid field
 */
export function parseInput (schema, input, at = []) {
  const { value, problem } = parse(schema, input)
  if (problem === undefined) return value
  const { message } = problem
  const path = [...at, ...problem.path]
  // cut, because field names come from the client
  throw new InkcastError(
    'bad_request',
    (path.length === 0 ? `the request ${message}` : `${path.join('.')}: ${message}`).slice(0, MAX_MESSAGE)
  )
}

/** @param {string} name @throws {InkcastError} reserved_event */
export function checkEventName (name) {
  if (isReservedEvent(name)) throw reservedEvent(name)
}

/**
 * @typedef {object} EncodedData
 * @property {Buffer} value
 * @property {import('../../wire/publication.js').ContentType} contentType
 * @property {boolean} checked whether checkValue is unnecessary
 */

/**
 * Encodes data of a client as a value: JSON, or msgpack if the client uses msgpack or sends binary, which JSON cannot
 * hold. The received bytes are used unchanged where they are available.
 * @param {import('../connection.js').Connection} connection
 * @param {unknown} data
 * @returns {EncodedData}
 * @throws {InkcastError} bad_request
 */
export function encodeData (connection, data) {
  if (data instanceof RawValue) return { value: data.value, contentType: data.contentType, checked: true }
  const raw = rawValue(data)
  if (typeof raw === 'string') return { value: Buffer.from(raw), contentType: 'application/json', checked: true }
  if (raw !== undefined) {
    const value = withoutArrayBuffers(raw)
    if (isValue(value)) return { value, contentType: 'application/msgpack', checked: true }
  }
  try {
    if (connection.codec === 'msgpack' || containsBinary(data))
      return { value: encodeMsgpack(withViews(data)), contentType: 'application/msgpack', checked: false }
    return { value: Buffer.from(JSON.stringify(data)), contentType: 'application/json', checked: false }
  } catch (error) {
    // nested deeper than the stack or the encoder allows
    throw new InkcastError('bad_request', 'data cannot be encoded', { cause: error })
  }
}

/**
 * @param {Buffer} value msgpack
 * @returns {boolean} whether its nesting is within the limit and it can be decoded for JSON clients (fields `__proto__`
 *   cannot)
 */
function isValue (value) {
  try {
    checkValue(value, 'application/msgpack')
    return true
  } catch {
    return false
  }
}

/** @param {unknown} data @returns {boolean} @throws {RangeError} if nested deeper than the stack allows */
function containsBinary (data) {
  if (typeof data !== 'object' || data === null) return false
  return ArrayBuffer.isView(data) || data instanceof ArrayBuffer || Object.values(data).some(containsBinary)
}

/**
 * Replaces ArrayBuffers, which msgpack clients on Node send as an extension type, by views: the encoder treats an
 * ArrayBuffer as an object without fields.
 * @param {any} data modified in place
 */
function withViews (data) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  if (typeof data !== 'object' || data === null || ArrayBuffer.isView(data)) return data
  for (const key of Object.keys(data)) {
    const value = data[key]
    const viewed = withViews(value)
    if (viewed !== value) data[key] = viewed
  }
  return data
}
