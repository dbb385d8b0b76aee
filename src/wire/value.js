import { isUtf8 } from 'node:buffer'
import { InkcastError } from '../base/common/errors.js'
import { checkMsgpack, decodeMsgpack, TooManyValues } from './msgpack.js'

/** Deeper values would overflow the stack of a client's parser, or of the gateway when it transcodes. */
export const MAX_DEPTH = 256
/**
 * Values in one value, with the names of fields: this many empty lists take 0.4 s and 70 MB to decode, and 8 MB of them
 * would take 1 s and 190 MB. No value of up to 1 MB has more.
 */
export const MAX_VALUES = 2 ** 20

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Checks bytes that will be spliced into a Socket.IO packet: invalid UTF-8 or JSON would disconnect every JSON
 * client of the room, and `1,"x"` would inject an argument.
 *
 * @param {Buffer} value
 * @param {string} contentType
 * @throws {InkcastError} bad_content_type, bad_utf8, bad_value
 */
export function checkValue (value, contentType) {
  if (contentType === 'application/json') {
    if (!isUtf8(value)) throw new InkcastError('bad_utf8', framingOf(value))
    const text = value.toString()
    // before it is decoded, which would cost many times its bytes
    if (isNestedDeeper(text, MAX_DEPTH))
      throw new InkcastError('bad_value', `the value is nested deeper than ${MAX_DEPTH} levels`)
    if (hasMoreValues(text, MAX_VALUES)) throw new TooManyValues(MAX_VALUES)
    try {
      JSON.parse(text)
    } catch (error) {
      throw new InkcastError('bad_value', framingOf(value) ?? `the value is not valid JSON${placeOf(text, error)}`)
    }
  } else if (contentType === 'application/msgpack') {
    checkMsgpack(value, MAX_DEPTH, MAX_VALUES)
    // the value must also be decodable for JSON clients (a map whose keys are maps is not)
    decodeMsgpack(value)
  } else {
    throw new InkcastError('bad_content_type', 'content-type must be application/json or application/msgpack')
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/**
 * Names bytes before the JSON: the producer sees valid JSON behind them.
 * @param {Buffer} value that is not valid JSON
 * @returns {string | undefined}
 */
function framingOf (value) {
  if (value.length === 0) return 'the value is empty: JSON has null for nothing'
  if (value.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
    return 'the value begins with a byte order mark (ef bb bf): send UTF-8 without it'
  if (value.length > 5 && value[0] === 0)
    return `the value begins with ${value.subarray(0, 5).toString('hex')}, which looks like the framing of a schema registry: use a ` +
      'serializer without it, or KAFKA_VALUE_FRAMING=confluent-json for JSON'
  return undefined
}

/**
 * @param {string} text that JSON.parse has refused
 * @param {unknown} error its own, whose message has a part of the text
 * @returns {string}
 */
export function placeOf (text, error) {
  const { message } = /** @type {Error} */ (error)
  const at = /at position (\d+)/.exec(message)?.[1]
  if (at !== undefined) return ` at character ${at}`
  if (/end of JSON input/.test(message)) return `: it ends too early, after ${text.length} characters`
  return /[[:,\s](?:NaN|-?Infinity)[\],}\s]/.test(` ${text} `) ? ': JSON has neither NaN nor Infinity' : ''
}

/**
 * @param {string} json which need not be valid
 * @param {number} max
 * @returns {boolean} whether it would make more values than that, with keys
 */
export function hasMoreValues (json, max) {
  // each value takes at least two characters
  if (json.length <= 2 * max) return false
  let values = 0
  for (let i = 0; i < json.length; i++) {
    const char = json.charCodeAt(i)
    if (char === QUOTE) {
      do {
        i = json.indexOf('"', i + 1)
        if (i === -1) return false
      } while (isEscaped(json, i))
    } else if (char === 0x2c || char === 0x3a || char === 0x5b || char === 0x7b) {
      if (++values > max) return true
    }
  }
  return false
}

/**
 * @param {string} json which need not be valid
 * @param {number} limit levels
 * @returns {boolean} whether reading it would go deeper than that
 */
export function isNestedDeeper (json, limit) {
  if (json.length <= limit) return false
  let depth = 0
  for (let i = 0; i < json.length; i++) {
    const char = json.charCodeAt(i)
    if (char === QUOTE) {
      do {
        i = json.indexOf('"', i + 1)
        if (i === -1) return false
      } while (isEscaped(json, i))
    } else if (char === 0x5b || char === 0x7b) {
      if (++depth > limit) return true
    } else if (char === 0x5d || char === 0x7d) {
      depth--
    }
  }
  return false
}

/** @param {string} text @param {number} at */
function isEscaped (text, at) {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}
