import { InkcastError } from '../base/common/errors.js'
import { HEADER, publicationFromHeaders } from './headers.js'

/**
 * A publication as an object of JSON: in a batch, and in the answer of a webhook. Its fields have the names of the
 * headers, in camel case.
 *
 * @typedef {object} Item
 * @property {string} [operator] default: `broadcast`
 * @property {string} [guid]
 * @property {string} [uid]
 * @property {string} [sid]
 * @property {string} [device]
 * @property {string} [event]
 * @property {unknown} [value] any JSON
 * @property {string} [valueBase64] in place of `value`: the bytes of a value, for msgpack, and for numbers that
 *   JavaScript cannot hold
 * @property {string} [contentType] of `valueBase64`; default: JSON
 * @property {string[]} [except]
 * @property {boolean} [ephemeral]
 * @property {boolean} [receipt]
 * @property {boolean} [keep]
 * @property {string} [key]
 * @property {string} [traceId]
 * @property {string} [traceparent]
 * @property {number} [timestamp] ms since 1970
 * @property {number} [ttl] of a revoke or kick, s
 * @property {string} [idempotencyKey]
 */

/** @type {ReadonlySet<string>} */
const TEXTS = new Set([
  'operator', 'guid', 'uid', 'sid', 'device', 'event', 'traceId', 'traceparent', 'idempotencyKey', 'contentType', 'key'
])
const FLAGS = new Set(['ephemeral', 'receipt', 'keep'])
/** Exported for tests: the contracts of both apis have each of them. @type {ReadonlySet<string>} */
export const ITEM_FIELDS = new Set(['value', 'valueBase64', 'except', 'timestamp', 'ttl', ...TEXTS, ...FLAGS])

/** @type {ReadonlyMap<string, string>} field by header */
const FIELDS = new Map(
  [...ITEM_FIELDS].filter((field) => field in HEADER).map((field) => [/** @type {any} */ (HEADER)[field], field])
)

/**
 * @param {unknown} item
 * @param {object} context
 * @param {string} context.source the publisher
 * @param {number} context.now ms since 1970
 * @param {import('./headers.js').TraceIdSource} context.random
 * @param {(key: string | undefined) => string | undefined} [context.keyFrom] makes the idempotency key of the
 *   item's own
 * @param {Buffer} [context.value] bytes of the value, which the item then does not have as `valueBase64`
 * @returns {import('./publication.js').Publication} not checked yet
 * @throws {InkcastError} bad_request, and what publicationFromHeaders throws
 */
export function publicationFromItem (item, { source, now, random, keyFrom = (key) => key, value }) {
  if (item === null || typeof item !== 'object' || Array.isArray(item))
    throw new InkcastError('bad_request', 'a publication must be an object')
  const fields = /** @type {Record<string, any>} */ (item)
  for (const [name, given] of Object.entries(fields)) {
    const wanted = TEXTS.has(name) ? 'string' : FLAGS.has(name) ? 'boolean' : undefined
    if (!ITEM_FIELDS.has(name) || (wanted !== undefined && typeof given !== wanted))
      throw new InkcastError('bad_request', `a publication's field ${JSON.stringify(name).slice(0, 100)} is not valid`)
  }
  /** @type {Map<string, string | undefined>} */
  const headers = new Map()
  for (const [name, field] of FIELDS) if (fields[field] !== undefined) headers.set(name, String(fields[field]))
  headers
    .set(HEADER.source, source)
    .set(HEADER.operator, fields.operator ?? 'broadcast')
    .set(HEADER.idempotencyKey, keyFrom(fields.idempotencyKey))
    .set(HEADER.except, exceptFrom(fields.except))
  return publicationFromHeaders(headers, value ?? valueFrom(fields), now, random)
}

/** @param {unknown} except @returns {string | undefined} */
function exceptFrom (except) {
  if (except === undefined) return undefined
  // a comma would make two of one
  if (Array.isArray(except) && except.every((id) => typeof id === 'string' && !id.includes(','))) return except.join(',')
  throw new InkcastError('bad_request', 'a publication\'s field except must be a list of ids')
}

/** @param {Record<string, any>} fields @returns {Buffer} */
function valueFrom ({ value, valueBase64, contentType }) {
  if (valueBase64 === undefined) {
    if (contentType !== undefined && !/^application\/json\b/.test(contentType))
      throw new InkcastError('bad_content_type', 'a value that is not JSON goes into valueBase64')
    return value === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(value))
  }
  if (typeof valueBase64 !== 'string' || value !== undefined || !/^[A-Za-z0-9+/]*={0,2}$/.test(valueBase64))
    throw new InkcastError('bad_request', 'a publication has either value, or valueBase64 in base64')
  return Buffer.from(valueBase64, 'base64')
}
