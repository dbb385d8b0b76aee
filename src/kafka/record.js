import { isUtf8 } from 'node:buffer'
import { InkcastError } from '../common/errors.js'
import { observed, publicationFromHeaders } from '../wire/headers.js'

/** @typedef {import('./contract.js').KafkaRecord} KafkaRecord */

const NO_VALUE = Buffer.alloc(0)

/**
 * Reads a publication from a record. It is not checked yet: pass it to `checkPublication`.
 *
 * The value is a copy, because a slice would keep the whole response in memory. Of a header that occurs more than once
 * the last value counts, as in Kafka's own clients (`Headers.lastHeader`); a header without a value counts as absent. A
 * record without a value (a tombstone) has an empty one. A wrong header that only observers read counts as absent: its
 * record is right.
 *
 * @param {KafkaRecord} message
 * @returns {import('../wire/publication.js').Publication}
 * @throws {InkcastError} unknown_operator, bad_header, bad_content_type
 */
export function publicationFromMessage ({ headers = {}, value, timestamp }) {
  const get = (/** @type {string} */ name) => {
    const isRight = observed(name)
    return isRight === undefined ? headerText(headers, name) : observedText(headers[name], isRight)
  }
  return publicationFromHeaders(get, value ? copy(value) : NO_VALUE, Number(timestamp))
}

/**
 * The epoch of the leader that wrote a record. A partition that lost its end gives the same offsets to new records,
 * with a later epoch.
 *
 * @param {KafkaRecord} message
 * @returns {number | undefined} undefined where driver or broker do not know
 */
export function leaderEpochOf ({ batchContext }) {
  const epoch = batchContext?.leaderEpoch
  return epoch === undefined || epoch < 0 ? undefined : epoch
}

/** @typedef {import('./contract.js').Headers[string]} HeaderValue */

/** @param {HeaderValue} held of a header that may occur more than once */
const lastOf = (held) => Array.isArray(held) ? held.at(-1) : held

/** @param {HeaderValue} held @param {(text: string) => boolean} isRight */
function observedText (held, isRight) {
  const value = lastOf(held)
  if (value === undefined || value === null || (typeof value !== 'string' && !isUtf8(value))) return undefined
  const text = value.toString()
  return isRight(text) ? text : undefined
}

/**
 * @param {import('./contract.js').Headers} headers
 * @param {string} name
 * @returns {string | undefined}
 * @throws {InkcastError} bad_header
 */
export function headerText (headers, name) {
  const value = lastOf(headers[name])
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  if (!isUtf8(value)) throw new InkcastError('bad_header', `${name} is not valid UTF-8`)
  return value.toString()
}

/** @param {Buffer} bytes */
function copy (bytes) {
  const own = Buffer.allocUnsafe(bytes.length)
  bytes.copy(own)
  return own
}
