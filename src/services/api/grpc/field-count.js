import { InkcastError } from '../../../base/common/errors.js'

/**
 * Counts the fields of a message before it is decoded: an empty publication has 2 bytes, and costs a thousand times as
 * much as an object. Two levels are walked, those of the messages of inkcast.proto.
 */

/** Exported for tests: the bound of the fields of both levels. 1,000 full publications have less than half. */
export const MAX_FIELDS = 50_000

/**
 * @param {Buffer} bytes of protobuf
 * @param {{ field: number, max: number }} [list] repeated field with messages, and how many of them are allowed
 * @throws {InkcastError} bad_request
 */
export function checkFields (bytes, list) {
  let fields = 0
  let items = 0

  /** @param {number} from @param {number} to @param {boolean} isItem */
  function walk (from, to, isItem) {
    for (let at = from; at < to;) {
      if (++fields > MAX_FIELDS) throw new InkcastError('bad_request', `a message has at most ${MAX_FIELDS} fields`)
      const [tag, afterTag] = varint(bytes, at, to)
      if ((tag & 7) !== 2) {
        at = afterTag + fixedLength(tag & 7, afterTag, to)
        continue
      }
      const [length, begin] = varint(bytes, afterTag, to)
      at = begin + length
      if (at > to) throw malformed()
      if (isItem || list === undefined || tag >>> 3 !== list.field) continue
      if (++items > list.max) throw new InkcastError('bad_request', `a message has at most ${list.max} publications`)
      walk(begin, at, true)
    }
  }

  /** @param {number} type @param {number} at @param {number} to @returns {number} */
  function fixedLength (type, at, to) {
    if (type === 0) return varint(bytes, at, to)[1] - at
    if (type === 1 || type === 5) {
      const length = type === 1 ? 8 : 4
      if (at + length <= to) return length
    }
    throw malformed()
  }

  walk(0, bytes.length, false)
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} to
 * @returns {[value: number, end: number]} the value without its upper bits, which only numbers above 2^32 have
 */
function varint (bytes, at, to) {
  let value = 0
  for (let shift = 0; at < to && shift < 70; shift += 7) {
    const byte = bytes[at++]
    if (shift < 32) value |= (byte & 0x7f) << shift
    if (byte < 0x80) return [value >>> 0, at]
  }
  throw malformed()
}

const malformed = () => new InkcastError('bad_request', 'the message is not well formed')
