import { isUtf8 } from 'node:buffer'
import { createRequire } from 'node:module'
import { InkcastError } from '../base/common/errors.js'
import { extensionCodec, stockExtensions } from './msgpack-extensions.js'

const require = createRequire(import.meta.url)
const { decode, Encoder } = require('@msgpack/msgpack')

/**
 * @param {unknown} value plain data; Buffers become msgpack binary, and half a surrogate pair U+FFFD, because it has no
 *   UTF-8 and strict decoders throw
 * @returns {Buffer}
 */
export const encodeMsgpack = (value) => encodeWith(forServices, value)

/**
 * A message for a client with socket.io-msgpack-parser. The parser's own encoder is faster, but changes half a
 * surrogate pair and whole numbers from 2^64 on.
 * @param {object} packet
 * @returns {Buffer}
 */
export const encodeForClient = (packet) => encodeWith(forClients, packet)

/** Bytes that an encoder may keep for the next value; it has the double of what it needed. */
const KEPT = 32 * 1024

/** An encoder of the library for many values: a new one for each costs more than a small value. */
class ReusedEncoder {
  #options
  /** @type {Encoder | undefined} */
  #encoder

  /** @param {import('@msgpack/msgpack').EncoderOptions<undefined>} [options] */
  constructor (options) { this.#options = { ...options, maxDepth: 512 } }

  /** @param {unknown} value @returns {Buffer} its own bytes */
  encode (value) {
    const encoder = this.#encoder ?? new Encoder(this.#options)
    // after an error or a large value there is another one
    this.#encoder = undefined
    const { buffer, byteLength } = encoder.encode(value)
    if (byteLength <= KEPT) this.#encoder = encoder
    return Buffer.from(buffer, 0, byteLength)
  }
}

const forServices = new ReusedEncoder()
const forClients = new ReusedEncoder({ extensionCodec: stockExtensions, ignoreUndefined: true })

/** @param {ReusedEncoder} encoder @param {unknown} value @returns {Buffer} */
function encodeWith (encoder, value) {
  const encoded = encoder.encode(value)
  return mayHoldSurrogates(encoded) ? encoder.encode(wellFormed(value)) : encoded
}

/**
 * The encoder writes half a surrogate pair as if it were a character: ED A0 80 to ED BF BF, which is no UTF-8, and rare
 * in what is.
 * @param {Buffer} bytes
 */
function mayHoldSurrogates (bytes) {
  for (let at = bytes.indexOf(0xed); at !== -1; at = bytes.indexOf(0xed, at + 1)) if (bytes[at + 1] >= 0xa0) return true
  return false
}

/**
 * @param {unknown} value plain data
 * @returns {unknown} a copy in which every string and key is well formed
 */
export function wellFormed (value) {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]))
}

/**
 * @param {Buffer} bytes exactly one value
 * @returns {unknown}
 * @throws {InkcastError} bad_value
 */
export function decodeMsgpack (bytes) {
  try {
    return decode(bytes, { extensionCodec })
  } catch (error) {
    throw new InkcastError('bad_value', 'the value is not valid msgpack', { cause: error })
  }
}

/** The extension type of a timestamp, as a byte. */
const TIMESTAMP = 0xff

/** First bytes of values that may be a map's key: whole numbers and strings. @type {readonly boolean[]} */
const MAY_BE_KEY = Array.from(
  { length: 256 },
  (_, type) =>
    type <= 0x7f ||
    (type >= 0xa0 && type <= 0xbf) ||
    (type >= 0xcc && type <= 0xd3) ||
    (type >= 0xd9 && type <= 0xdb) ||
    type >= 0xe0
)

/**
 * Checks that bytes are exactly one msgpack value, without decoding it: every length within the bytes, every string
 * UTF-8 (strict decoders throw otherwise), no nesting deeper than `maxDepth`, no more than `maxValues` values, and no
 * map with keys other than strings and whole numbers: decoders join an array to a string, once more for each level of
 * nesting. Formats: https://github.com/msgpack/msgpack/blob/master/spec.md
 *
 * @param {Buffer} bytes
 * @param {number} maxDepth
 * @param {number} [maxValues] keys and the items of lists and maps count; default: any number
 * @returns {boolean} whether there are extensions in it
 * @throws {InkcastError} bad_utf8, bad_value; TooManyValues
 */
export function checkMsgpack (bytes, maxDepth, maxValues = Infinity) {
  /** Number of values left in each open array; negative for maps. @type {number[]} */
  const open = []
  let pending = 1
  let inMap = false
  let values = 0
  let extensions = false
  let at = 0

  /** @param {number} length */
  const skip = (length) => {
    at += length
    if (at > bytes.length) throw new InkcastError('bad_value', 'the value is not valid msgpack: it ends too early')
  }
  /** @param {number} size bytes of the big-endian length that stands here */
  const length = (size) => {
    skip(size)
    return bytes.readUIntBE(at - size, size)
  }
  /** @param {number} count */
  const string = (count) => {
    skip(count)
    if (!isUtf8(bytes.subarray(at - count, at)))
      throw new InkcastError('bad_utf8', 'a string of the msgpack value is not valid UTF-8')
  }
  /** @param {number} length of it with its type */
  const extension = (length) => {
    skip(length)
    extensions = true
    const size = length - 1
    // decoders assume the specified length of a timestamp, and would read beyond it
    if (bytes[at - length] === TIMESTAMP && size !== 4 && size !== 8 && size !== 12)
      throw new InkcastError('bad_value', 'a timestamp of the msgpack value has a wrong length')
  }
  /** @param {number} count @param {boolean} isMap */
  const enter = (count, isMap) => {
    if (count === 0) return
    // the remaining bytes cannot hold this many values
    if (count > bytes.length - at)
      throw new InkcastError('bad_value', 'the value is not valid msgpack: it ends too early')
    if (count > maxValues - values) throw new TooManyValues(maxValues)
    if (open.length >= maxDepth)
      throw new InkcastError('bad_value', `the value is nested deeper than ${maxDepth} levels`)
    values += count
    open.push(inMap ? -pending : pending)
    pending = count
    inMap = isMap
  }

  while (pending > 0) {
    // keys and values alternate, and a map ends with a value
    const isKey = inMap && pending % 2 === 0
    pending--
    skip(1)
    const type = bytes[at - 1]
    if (isKey && !MAY_BE_KEY[type])
      throw new InkcastError(
        'bad_value',
        'a map of the msgpack value has a key that is neither a string nor a whole number'
      )
    if (type <= 0x7f || type >= 0xe0) skip(0) // fixint
    else if (type <= 0x8f) enter((type & 0x0f) * 2, true)
    else if (type <= 0x9f) enter(type & 0x0f, false)
    else if (type <= 0xbf) string(type & 0x1f)
    else if (type === 0xc1) throw new InkcastError('bad_value', 'the value is not valid msgpack: 0xc1 is no format')
    else if (type <= 0xc3) skip(0) // nil, false, true
    else if (type <= 0xc6) skip(length(1 << (type - 0xc4))) // bin
    else if (type <= 0xc9) extension(length(1 << (type - 0xc7)) + 1) // ext: its type comes after the length
    else if (type <= 0xcb) skip(4 << (type - 0xca)) // float
    else if (type <= 0xcf) skip(1 << (type - 0xcc)) // uint
    else if (type <= 0xd3) skip(1 << (type - 0xd0)) // int
    else if (type <= 0xd8) extension((1 << (type - 0xd4)) + 1) // fixext
    else if (type <= 0xdb) string(length(1 << (type - 0xd9)))
    else if (type <= 0xdd) enter(length(2 << (type - 0xdc)), false)
    else enter(length(2 << (type - 0xde)) * 2, true)
    while (pending === 0 && open.length > 0) {
      const outer = /** @type {number} */ (open.pop())
      inMap = outer < 0
      pending = Math.abs(outer)
    }
  }
  if (at !== bytes.length) throw new InkcastError('bad_value', 'the value is not valid msgpack: bytes follow it')
  return extensions
}

/** The cost of decoding depends on the number of values, not of bytes. */
export class TooManyValues extends InkcastError {
  /** @param {number} max */
  constructor (max) { super('bad_value', `there are more than ${max} values in one message`) }
}
