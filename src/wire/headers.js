import { isUtf8 } from 'node:buffer'
import { InkcastError } from '../base/common/errors.js'
import { isSimilar } from '../base/common/similar.js'
import { OPERATORS } from './operators.js'
import { ID_RULE, deviceUser, isId, unknownOperator } from './publication.js'
import { parseTraceparent } from './traceparent.js'

/**
 * Header names of the Kafka and HTTP contract; both ways in read them with `publicationFromHeaders`.
 */
export const HEADER = Object.freeze({
  operator: 'x-operator',
  guid: 'x-guid',
  uid: 'x-uid',
  sid: 'x-sid',
  device: 'x-device',
  event: 'x-event',
  except: 'x-except',
  ephemeral: 'x-ephemeral',
  keep: 'x-keep',
  receipt: 'x-receipt',
  traceId: 'x-trace-id',
  traceparent: 'traceparent',
  timestamp: 'x-timestamp',
  source: 'x-source',
  idempotencyKey: 'idempotency-key',
  key: 'x-key',
  ttl: 'x-ttl',
  contentType: 'content-type',
  // in the uplink
  sender: 'x-sender',
  listener: 'x-listener',
  // queued edits of clients, in the uplink
  queue: 'x-queue',
  number: 'x-seq',
  // dead letters
  reason: 'x-reason',
  detail: 'x-message',
  topic: 'x-topic',
  partition: 'x-partition',
  offset: 'x-offset',
  truncated: 'x-truncated',
  batchRecords: 'x-batch-records',
  // ingest's own records
  canary: 'x-canary'
})

/** Headers of a publication, as its publisher sends them. @type {ReadonlySet<string>} */
const OF_PUBLICATION = new Set([
  HEADER.operator, HEADER.guid, HEADER.uid, HEADER.sid, HEADER.device, HEADER.event, HEADER.except, HEADER.ephemeral,
  HEADER.keep, HEADER.receipt, HEADER.traceId, HEADER.traceparent, HEADER.timestamp, HEADER.source,
  HEADER.idempotencyKey, HEADER.key, HEADER.ttl
])

/**
 * @param {string} name of a header that is like one of a publication, in lower case
 * @returns {string | undefined} that one
 */
export function meantHeader (name) {
  if (!name.startsWith('x-') || OF_PUBLICATION.has(name)) return undefined
  for (const known of OF_PUBLICATION) if (isSimilar(name, known)) return known
  return undefined
}

const MAX_EXCEPT = 100
/** Longest revoke or ban with a time of its own, s: a year. */
const MAX_TTL = 366 * 86_400

/** @typedef {Pick<import('../base/common/random.js').Random, 'uuid'>} TraceIdSource */

/**
 * @param {TraceIdSource} random
 * @returns {string} a trace id as W3C Trace Context has them: 32 hexadecimal digits, 122 of their bits random
 */
export const newTraceId = (random) => random.uuid().replaceAll('-', '')

/**
 * Values of headers by lower-case name. Bytes are not checked yet.
 * @typedef {ReadonlyMap<string, string | Buffer | undefined>} HeaderValues
 */

/**
 * @param {HeaderValues} headers
 * @param {string} name
 * @returns {string | undefined}
 * @throws {InkcastError} bad_header
 */
export function headerText (headers, name) {
  const value = headers.get(name)
  if (value === undefined || typeof value === 'string') return value
  if (!isUtf8(value)) throw new InkcastError('bad_header', `${name} is not valid UTF-8`)
  return value.toString()
}

/**
 * Reads a publication from headers. It is not checked yet: pass it to `checkPublication`.
 *
 * @param {HeaderValues} headers
 * @param {Buffer} value
 * @param {number} timestamp default for x-timestamp, ms since 1970
 * @param {TraceIdSource} random
 * @returns {import('./publication.js').Publication}
 * @throws {InkcastError} unknown_operator, bad_header, bad_content_type
 */
export function publicationFromHeaders (headers, value, timestamp, random) {
  const get = (/** @type {string} */ name) => headerText(headers, name)
  const operator = get(HEADER.operator)
  if (operator === undefined || !OPERATORS.has(operator))
    throw unknownOperator(operator)
  const traceparent = get(HEADER.traceparent)
  const parent = parseTraceparent(traceparent)
  const [uid, sid, device] = [get(HEADER.uid), get(HEADER.sid), get(HEADER.device)]
  return {
    operator: /** @type {import('./publication.js').Operator} */ (operator),
    guid: get(HEADER.guid),
    uid: device !== undefined && uid === undefined && sid === undefined ? deviceUser(device) : uid,
    sid,
    ...(device !== undefined && { device }),
    event: get(HEADER.event) ?? 'message',
    except: exceptList(get(HEADER.except)),
    ephemeral: flag(HEADER.ephemeral, get(HEADER.ephemeral)),
    receipt: flag(HEADER.receipt, get(HEADER.receipt)),
    ...(flag(HEADER.keep, get(HEADER.keep)) && { keep: true }),
    traceId: traceIdFrom(get(HEADER.traceId), parent?.traceId) ?? newTraceId(random),
    traceparent: parent === null ? undefined : traceparent,
    timestamp: timestampFrom(get(HEADER.timestamp), timestamp),
    source: optionalId(HEADER.source, get(HEADER.source)),
    idempotencyKey: optionalId(HEADER.idempotencyKey, get(HEADER.idempotencyKey)),
    key: optionalId(HEADER.key, get(HEADER.key)),
    ttl: operator === 'kick' || operator === 'revoke' ? ttlFrom(get(HEADER.ttl)) : undefined,
    contentType: contentTypeFrom(get(HEADER.contentType)),
    value
  }
}

/**
 * The headers of a publication, as the api writes them to Kafka.
 * @param {import('./publication.js').Publication} publication
 * @returns {Record<string, string>}
 */
export function headersFromPublication (publication) {
  /** @type {Record<string, string>} */
  const headers = {
    [HEADER.operator]: publication.operator,
    [HEADER.event]: publication.event,
    [HEADER.traceId]: publication.traceId,
    [HEADER.timestamp]: String(publication.timestamp),
    [HEADER.contentType]: publication.contentType
  }
  if (publication.guid !== undefined) headers[HEADER.guid] = publication.guid
  if (publication.uid !== undefined) headers[HEADER.uid] = publication.uid
  if (publication.sid !== undefined) headers[HEADER.sid] = publication.sid
  if (publication.device !== undefined) headers[HEADER.device] = publication.device
  if (publication.except.length > 0) headers[HEADER.except] = publication.except.join(',')
  if (publication.ephemeral) headers[HEADER.ephemeral] = 'true'
  if (publication.receipt) headers[HEADER.receipt] = 'true'
  if (publication.keep) headers[HEADER.keep] = 'true'
  if (publication.traceparent !== undefined) headers[HEADER.traceparent] = publication.traceparent
  if (publication.source !== undefined) headers[HEADER.source] = publication.source
  if (publication.idempotencyKey !== undefined) headers[HEADER.idempotencyKey] = publication.idempotencyKey
  if (publication.key !== undefined) headers[HEADER.key] = publication.key
  if (publication.ttl !== undefined) headers[HEADER.ttl] = String(publication.ttl)
  return headers
}

/** @param {string | undefined} text */
function exceptList (text) {
  if (text === undefined || text.trim() === '') return []
  const ids = text.split(',').map((id) => id.trim())
  if (ids.length > MAX_EXCEPT || !ids.every(isId))
    throw new InkcastError('bad_header', `x-except is not a comma separated list of at most ${MAX_EXCEPT} ids`)
  return ids
}

/** @param {string} name @param {string | undefined} text */
function flag (name, text) {
  if (text === undefined || text === 'false') return false
  if (text === 'true') return true
  throw new InkcastError('bad_header', `${name} must be true or false`)
}

/** @param {string} name @param {string | undefined} text */
function optionalId (name, text) {
  if (text !== undefined && !isId(text)) throw new InkcastError('bad_header', `${name} is not a valid id: ${ID_RULE}`)
  return text
}

/** @param {string | undefined} text @returns {number | undefined} s */
function ttlFrom (text) {
  if (text === undefined) return undefined
  const ttl = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (ttl < 1 || ttl > MAX_TTL) throw new InkcastError('bad_header', `x-ttl must be seconds from 1 to ${MAX_TTL}`)
  return ttl
}

/** @param {string | undefined} traceId @param {string | undefined} ofParent */
function traceIdFrom (traceId, ofParent) {
  if (traceId !== undefined) {
    if (!isId(traceId)) throw new InkcastError('bad_header', `x-trace-id is not a valid id: ${ID_RULE}`)
    return traceId
  }
  return ofParent
}

/**
 * Headers that only observers read: a wrong one never decides over a record.
 * @type {ReadonlyMap<string, (text: string) => boolean>} by name, whether a text is a right one
 */
export const OBSERVED = new Map(Object.entries({
  [HEADER.traceparent]: (text) => parseTraceparent(text) !== null,
  [HEADER.traceId]: isId,
  [HEADER.timestamp]: isTimestamp
}))

/** Earlier than any record: 1973, or a time in seconds, ms. */
const EARLIEST = 1e11

/** @param {string} text @returns {boolean} whether it is a time that a record can have, in ms since 1970 */
export function isTimestamp (text) {
  return /^\d{1,15}$/.test(text) && Number(text) >= EARLIEST
}

/** @param {string | undefined} text @param {number} fallback */
function timestampFrom (text, fallback) {
  if (text === undefined) return fallback
  if (!isTimestamp(text)) {
    const hint = /^\d{9,11}$/.test(text) ? ', and this looks like seconds' : ''
    throw new InkcastError('bad_header', `x-timestamp must be milliseconds since 1970${hint}`)
  }
  return Number(text)
}

/**
 * @param {string | undefined} text
 * @returns {import('./publication.js').ContentType}
 */
function contentTypeFrom (text) {
  if (text === undefined) return 'application/json'
  const type = text.split(';', 1)[0].trim().toLowerCase()
  if (type === 'application/json' || type === 'application/msgpack') return type
  throw new InkcastError('bad_content_type', 'content-type must be application/json or application/msgpack')
}
