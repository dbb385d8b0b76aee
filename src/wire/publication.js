import { InkcastError } from '../base/common/errors.js'
import { readFarewell } from './farewell.js'
import { OPERATORS, ORDER_OPERATORS } from './operators.js'
import { checkValue } from './value.js'

/**
 * A service's request to publish, independent of its way in (a Kafka record, an HTTP request): the operator, its
 * target, and the value as unchanged bytes.
 *
 * @typedef {object} Publication
 * @property {Operator} operator
 * @property {string} [guid] target of broadcast, revoke, close, join and leave; of restore, unless it ends a user's ban
 * @property {string} [uid] target of user, device, revoke and restore; of kick, join and leave, if no sid
 * @property {string} [sid] target of socket; of kick, join and leave, if given
 * @property {string} [device] client id: target of device, among the connections of the user; of kick, join and leave,
 *   if given
 * @property {string} event Socket.IO event name
 * @property {string[]} except `client` or connection ids that do not get it; [] for none
 * @property {boolean} ephemeral not kept in the document's log, no offset
 * @property {boolean} [keep] of operator user and device: kept in the user's log, and numbered there
 * @property {boolean} receipt clients are asked for an acknowledgement
 * @property {string} traceId
 * @property {string} [traceparent] W3C trace context, passed on unchanged
 * @property {number} timestamp ms since 1970, at the producer
 * @property {string} [source] the publisher: an api caller's name, or `client` for a signal
 * @property {string} [idempotencyKey] a document's log takes one record of each key; not passed on to clients
 * @property {string} [key] a document's log keeps only the newest record of each key; not passed on to clients
 * @property {number} [ttl] of a revoke, or of the ban after a kick, s
 * @property {string} [from] set by the gateway only: connection id of the client that sent this signal, or that
 *   replaces the connection of this kick
 * @property {ContentType} contentType
 * @property {Buffer} value
 */

/**
 * @typedef {'broadcast' | 'user' | 'device' | 'socket' | 'everyone' | 'kick' | 'revoke' | 'restore' | 'close' |
 *   'join' | 'leave'} Operator
 */
/** @typedef {'application/json' | 'application/msgpack'} ContentType */

/** @param {unknown} operator @returns {InkcastError} that names it and the operators that there are */
export function unknownOperator (operator) {
  const problem = typeof operator === 'string'
    ? `x-operator ${JSON.stringify(operator.slice(0, 64))} is unknown`
    : 'x-operator is missing'
  return new InkcastError('unknown_operator', `${problem}: it is one of ${[...OPERATORS].join(', ')}`)
}

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

/**
 * @param {Pick<Publication, 'operator' | 'sid' | 'device'>} publication
 * @returns {boolean} whether it is an order about a user, for workers to which the user connects later as well
 */
export const lasts = ({ operator, sid, device }) => operator === 'revoke' || operator === 'restore' ||
  (operator === 'kick' && sid === undefined && device === undefined)

/** Longest guid, uid, sid, event or client id, in UTF-8 bytes: long enough for a URL, short enough to be a key. */
export const MAX_ID_BYTES = 256

/** For messages about what `isId` refuses. */
export const ID_RULE = `an id has 1 to ${MAX_ID_BYTES} bytes of UTF-8, and no control characters`

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

/** @param {string} event a reserved one @returns {InkcastError} that names it */
export function reservedEvent (event) {
  const name = JSON.stringify(event.slice(0, 64))
  return new InkcastError(
    'reserved_event', `the event name ${name} is reserved: it is one of Socket.IO's own, or starts with doc:, gateway: or auth:`)
}

/** @typedef {'guid' | 'uid' | 'sid' | 'device'} Target */

/** Targets that an operator cannot do without. @type {Record<Operator, Target[]>} */
const NEEDED = {
  broadcast: ['guid'],
  user: ['uid'],
  device: ['uid', 'device'],
  socket: ['sid'],
  everyone: [],
  kick: [],
  revoke: ['uid', 'guid'],
  restore: ['uid'],
  close: ['guid'],
  join: ['guid'],
  leave: ['guid']
}
/** Operators that also need a user or a connection: one of the two. @type {ReadonlySet<string>} */
const TO_CONNECTIONS = new Set(['kick', 'join', 'leave'])
/** All targets that an operator acts on. @type {ReadonlyMap<string, ReadonlySet<Target>>} */
const ACTS_ON = new Map(/** @type {[Operator, Target[]][]} */ (Object.entries(NEEDED)).map(([operator, needed]) => {
  const others = TO_CONNECTIONS.has(operator) ? ['uid', 'sid', 'device'] : operator === 'restore' ? ['guid'] : []
  return [operator, new Set([...needed, .../** @type {Target[]} */ (others)])]
}))
const TARGETS = /** @type {const} */ (['guid', 'uid', 'sid', 'device'])

/**
 * @param {Pick<Publication, 'operator' | Target>} publication that may not have been checked yet
 * @returns {Partial<Record<Target, string>>} the targets that its operator acts on, and no others that it names: they
 *   decide who may publish it
 */
export function targetsOf (publication) {
  /** @type {Partial<Record<Target, string>>} */
  const targets = {}
  for (const target of ACTS_ON.get(publication.operator) ?? []) targets[target] = publication[target]
  return targets
}

/**
 * @param {Publication} publication
 * @throws {InkcastError} missing_target, bad_target
 */
function checkTargets (publication) {
  const { operator, uid, sid, device } = publication
  for (const target of NEEDED[operator])
    if (publication[target] === undefined)
      throw new InkcastError('missing_target', `x-operator ${operator} needs x-${target}`)
  const actsOn = /** @type {ReadonlySet<Target>} */ (ACTS_ON.get(operator))
  for (const target of TARGETS) {
    if (publication[target] === undefined) continue
    if (!isId(publication[target])) throw new InkcastError('bad_target', `x-${target} is not a valid id: ${ID_RULE}`)
    // its producer expects another effect than the operator has
    if (!actsOn.has(target)) throw new InkcastError('bad_target', `x-operator ${operator} has no use for x-${target}`)
  }
  if (!TO_CONNECTIONS.has(operator)) return
  if (uid === undefined && sid === undefined)
    throw new InkcastError('missing_target', `x-operator ${operator} needs x-uid or x-sid`)
  if (uid !== undefined && sid !== undefined)
    throw new InkcastError('bad_target', `x-operator ${operator} takes x-uid or x-sid, not both`)
  if (device !== undefined && sid !== undefined)
    throw new InkcastError('bad_target', `x-operator ${operator} takes x-device or x-sid, not both`)
}

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
  if (!OPERATORS.has(operator)) throw unknownOperator(operator)
  checkTargets(publication)
  if (publication.ttl !== undefined && operator === 'kick' && !lasts(publication))
    throw new InkcastError('bad_header', 'x-ttl of a kick goes with x-uid alone: a ban is about a user')
  if (!isId(event)) throw new InkcastError('bad_header', `x-event is not a valid name: ${ID_RULE}`)
  if (publication.key !== undefined && !isId(publication.key))
    throw new InkcastError('bad_header', `x-key is not a valid id: ${ID_RULE}`)
  if (isReservedEvent(event)) throw reservedEvent(event)
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
  if (operator !== 'user' && operator !== 'device')
    throw new InkcastError('bad_header', 'x-keep is for the operators user and device')
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
  return keep && (operator === 'user' || operator === 'device') && uid !== undefined ? userLog(uid) : undefined
}

/**
 * @param {Pick<Publication, 'key' | 'device'>} publication
 * @returns {string | undefined} name of its key in its log: devices of a user have keys of their own
 */
export const keyInLog = ({ key, device }) => key === undefined || device === undefined ? key : `${device}\n${key}`

/**
 * The user of a device without a login. Any client without a token may say that it is this device.
 * @param {string} device id
 * @returns {string} uid
 */
export const deviceUser = (device) => `anonymous:device:${device}`

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
