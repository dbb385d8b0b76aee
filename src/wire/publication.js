import { InkcastError } from '../common/errors.js'
import { readFarewell } from './farewell.js'
import { checkValue } from './value.js'

/**
 * A service's request to publish, independent of its way in (a Kafka record, an HTTP request): the operator, its
 * target, and the value as unchanged bytes.
 *
 * @typedef {object} Publication
 * @property {Operator} operator
 * @property {string} [guid] target of broadcast, revoke, close, join and leave; of restore, unless it ends a user's ban
 * @property {string} [uid] target of user, revoke and restore; of kick, join and leave, if no sid
 * @property {string} [sid] target of socket; of kick, join and leave, if given
 * @property {string} event Socket.IO event name
 * @property {string[]} except `client` or connection ids that do not get it; [] for none
 * @property {boolean} ephemeral not kept in the document's log, no offset
 * @property {boolean} [keep] of operator user: kept in the user's log, and numbered there
 * @property {boolean} receipt clients are asked for an acknowledgement
 * @property {string} traceId
 * @property {string} [traceparent] W3C trace context, passed on unchanged
 * @property {number} timestamp ms since 1970, at the producer
 * @property {string} [source] the publisher: an api caller's name, or `client` for a signal
 * @property {string} [idempotencyKey] a document's log takes one record of each key; not passed on to clients
 * @property {string} [key] a document's log keeps only the newest record of each key; not passed on to clients
 * @property {number} [ttl] of a revoke, or of the ban after a kick, s
 * @property {string} [from] connection id of the client that sent this signal; set by the gateway only
 * @property {ContentType} contentType
 * @property {Buffer} value
 */

/**
 * @typedef {'broadcast' | 'user' | 'socket' | 'everyone' | 'kick' | 'revoke' | 'restore' | 'close' | 'join' | 'leave'}
 *   Operator
 */
/** @typedef {'application/json' | 'application/msgpack'} ContentType */

/** @type {ReadonlySet<string>} */
const ORDER_OPERATORS = new Set(['kick', 'revoke', 'restore', 'close', 'join', 'leave'])
/** @type {ReadonlySet<string>} */
export const OPERATORS = new Set(['broadcast', 'user', 'socket', 'everyone', ...ORDER_OPERATORS])

/**
 * @param {Pick<Publication, 'operator'>} publication
 * @returns {boolean} whether it says what happens to connections: workers carry it out, and clients get no record
 */
export const isOrder = ({ operator }) => ORDER_OPERATORS.has(operator)

/**
 * @param {Pick<Publication, 'operator' | 'guid'>} publication
 * @returns {boolean} whether it is an order about a document
 */
export const isDocumentOrder = ({ operator, guid }) =>
  guid !== undefined && operator !== 'kick' && ORDER_OPERATORS.has(operator)

/** Longest guid, uid, sid, event or client id, in UTF-8 bytes: long enough for a URL, short enough to be a key. */
export const MAX_ID_BYTES = 256

/** @type {ReadonlySet<string>} Names that Socket.IO keeps for itself (socket.io docs, "Emit cheatsheet"). */
export const SOCKET_IO_EVENTS = new Set([
  'connect',
  'connect_error',
  'disconnect',
  'disconnecting',
  'newListener',
  'removeListener'
])
const RESERVED_PREFIX = /^(?:doc|gateway|auth):/

// Control characters in ids would end up in keys, channel names and logs.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/

/**
 * @param {unknown} id
 * @returns {id is string} whether it can be a guid, uid, sid, client id or event name
 */
export function isId (id) {
  return typeof id === 'string' && id.length > 0 && id.length <= MAX_ID_BYTES && !CONTROL.test(id) &&
    (id.length * 3 <= MAX_ID_BYTES || Buffer.byteLength(id) <= MAX_ID_BYTES) &&
    // half a surrogate pair is encoded as U+FFFD: two ids would be one key, and the rights to one be the rights to the
    // other
    id.isWellFormed()
}

/** @param {string} event */
export function isReservedEvent (event) {
  return SOCKET_IO_EVENTS.has(event) || RESERVED_PREFIX.test(event)
}

/** @type {Record<Operator, (keyof Publication & ('guid' | 'uid' | 'sid'))[]>} */
const TARGETS = {
  broadcast: ['guid'],
  user: ['uid'],
  socket: ['sid'],
  everyone: [],
  kick: [],
  revoke: ['uid', 'guid'],
  restore: ['uid'],
  close: ['guid'],
  join: ['guid'],
  leave: ['guid']
}
/** Operators whose target is a user, or one connection. */
const TO_CONNECTIONS = new Set(['kick', 'join', 'leave'])

/**
 * The one check of every publication, from every way in.
 *
 * @param {Publication} publication
 * @param {{ maxBytes: number, checked?: boolean }} limits longest value, bytes; whether checkValue has seen the value
 *   already
 * @returns {Publication} the same
 * @throws {InkcastError} unknown_operator, missing_target, bad_target, reserved_event, bad_header, bad_content_type,
 *   value_too_large, bad_utf8, bad_value
 */
export function checkPublication (publication, { maxBytes, checked = false }) {
  const { operator, event, value, contentType } = publication
  if (!OPERATORS.has(operator)) throw new InkcastError('unknown_operator')
  for (const target of TARGETS[operator]) {
    if (publication[target] === undefined)
      throw new InkcastError('missing_target', `x-operator ${operator} needs x-${target}`)
  }
  if (TO_CONNECTIONS.has(operator) && publication.uid === undefined && publication.sid === undefined) {
    throw new InkcastError('missing_target', `x-operator ${operator} needs x-uid or x-sid`)
  }
  if (publication.ttl !== undefined && operator === 'kick' && publication.sid !== undefined)
    throw new InkcastError('bad_header', 'x-ttl of a kick needs x-uid: a ban is about a user')
  for (const target of /** @type {const} */ (['guid', 'uid', 'sid'])) {
    if (publication[target] !== undefined && !isId(publication[target]))
      throw new InkcastError('bad_target', `x-${target} is not a valid id`)
  }
  if (!isId(event)) throw new InkcastError('bad_header', 'x-event is not a valid name')
  if (publication.key !== undefined && !isId(publication.key))
    throw new InkcastError('bad_header', 'x-key is not a valid id')
  if (isReservedEvent(event)) throw new InkcastError('reserved_event')
  if (publication.keep) checkKept(publication)
  if (value.length > maxBytes)
    throw new InkcastError('value_too_large', `the value has ${value.length} bytes, ${maxBytes} are allowed`)
  if (operator === 'close' || operator === 'leave') readFarewell(publication)
  // the value of other orders is never delivered
  else if (!checked && !isOrder(publication)) checkValue(value, contentType)
  return publication
}

/**
 * @param {Publication} publication with x-keep
 * @throws {InkcastError} bad_header
 */
function checkKept ({ operator, ephemeral, receipt }) {
  if (operator !== 'user') throw new InkcastError('bad_header', 'x-keep is for operator user')
  if (ephemeral || receipt)
    throw new InkcastError('bad_header', 'x-keep goes neither with x-ephemeral nor with x-receipt')
}

/**
 * The name of a user's log: a guid that no client or service can name, because a valid id has no control character.
 * @param {string} uid
 * @returns {string}
 */
export const userLog = (uid) => `\u0001user:${uid}`

/**
 * @param {Publication} publication
 * @returns {string | undefined} guid, or name of the user's log, that has the publication or whose subscribers get it;
 *   undefined: it goes to connections only
 */
export function logOf ({ operator, guid, uid, keep }) {
  if (operator === 'broadcast') return guid
  return keep && operator === 'user' && uid !== undefined ? userLog(uid) : undefined
}

/**
 * The lane of a publication: publications of one lane keep their order.
 * @param {Publication} publication
 * @returns {string}
 */
export function laneOf ({ operator, guid, uid, sid }) {
  if (operator === 'broadcast') return `d:${guid}`
  if (operator === 'close') return `c:${guid}`
  if (sid !== undefined && (operator === 'socket' || TO_CONNECTIONS.has(operator))) return `s:${sid}`
  if (uid !== undefined && operator !== 'everyone') return `u:${uid}`
  return '*'
}
