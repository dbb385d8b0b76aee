import { isUtf8 } from 'node:buffer'
import { HEADER, OBSERVED, publicationFromHeaders } from '../wire/headers.js'
import { unframed } from './value-framing.js'

/** @typedef {import('./contract.js').KafkaRecord} KafkaRecord */

const NO_VALUE = Buffer.alloc(0)
const KNOWN = new Set(/** @type {string[]} */ (Object.values(HEADER)))

/**
 * The headers that inkcast knows. Of a header that occurs more than once the last value counts, as in Kafka's own
 * clients (`Headers.lastHeader`); a header without a value counts as absent.
 *
 * @param {KafkaRecord} message
 * @returns {Map<string, string | Buffer>}
 */
export function headersOf ({ headers = {} }) {
  /** @type {Map<string, string | Buffer>} */
  const found = new Map()
  for (const name in headers) {
    if (!KNOWN.has(name)) continue
    const held = headers[name]
    const value = Array.isArray(held) ? held.at(-1) : held
    if (value !== undefined && value !== null) found.set(name, value)
  }
  return found
}

/**
 * Reads a publication from a record. It is not checked yet: pass it to `checkPublication`.
 *
 * The value is a copy, because a slice would keep the whole response in memory. A record without a value (a tombstone)
 * has an empty one. A wrong header that only observers read counts as absent: its record is right.
 *
 * @param {KafkaRecord} message
 * @param {import('../wire/headers.js').TraceIdSource} random
 * @param {import('./value-framing.js').ValueFraming} [framing] default: none
 * @returns {import('../wire/publication.js').Publication}
 * @throws {import('../base/common/errors.js').InkcastError} unknown_operator, bad_header, bad_content_type,
 *   bad_value
 */
export function publicationFromMessage (message, random, framing = 'none') {
  const { value, timestamp } = message
  const headers = headersOf(message)
  for (const [name, isRight] of OBSERVED) {
    const held = headers.get(name)
    if (held === undefined) continue
    if ((typeof held !== 'string' && !isUtf8(held)) || !isRight(held.toString())) headers.delete(name)
  }
  const publication = publicationFromHeaders(headers, value ? copy(value) : NO_VALUE, Number(timestamp), random)
  if (framing === 'confluent-json') publication.value = unframed(publication)
  return publication
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

/** @param {Buffer} bytes */
function copy (bytes) {
  const own = Buffer.allocUnsafe(bytes.length)
  bytes.copy(own)
  return own
}
