import { readObject } from './http-request.js'
import { isUtf8 } from 'node:buffer'
import { InkcastError } from '../common/errors.js'
import { HEADER, publicationFromHeaders } from '../wire/headers.js'
import { isId } from '../wire/publication.js'
import { idempotencyKeyFrom } from './idempotency/publish-once.js'

/**
 * The operations that publish. The path gives operator and target, the body is the value, and headers have the names
 * and the meaning they have on a Kafka record.
 *
 * @typedef {import('./http-route.js').Route} Route
 * @typedef {import('./http-route.js').Call} Call
 */

/**
 * @typedef {{ operator: import('../wire/publication.js').Operator, guid?: string, uid?: string, sid?: string }} Target
 */

const TARGET_HEADERS = /** @type {const} */ (['operator', 'guid', 'uid', 'sid'])
const EMPTY = Buffer.alloc(0)

/** Headers that a value goes with. */
const ABOUT_VALUE = [
  HEADER.event,
  HEADER.except,
  HEADER.receipt,
  HEADER.traceId,
  HEADER.traceparent,
  HEADER.timestamp,
  HEADER.idempotencyKey
]
const ABOUT_ORDER = [HEADER.traceId, HEADER.traceparent, HEADER.timestamp, HEADER.idempotencyKey]

/** @type {Route[]} */
export const publishRoutes = [
  {
    method: 'POST', path: '/v1/documents/:guid/broadcast', operation: 'broadcast', value: 'value',
    summary: 'Publish to everyone who has the document open', headers: [...ABOUT_VALUE, HEADER.ephemeral],
    handle: (call) => publish(call, { operator: 'broadcast', guid: call.params.guid })
  },
  {
    method: 'POST', path: '/v1/users/:uid/send', operation: 'sendToUser', value: 'value',
    summary: 'Publish to every connection of a user', headers: ABOUT_VALUE,
    handle: (call) => publish(call, { operator: 'user', uid: call.params.uid })
  },
  {
    method: 'POST', path: '/v1/sockets/:sid/send', operation: 'sendToSocket', value: 'value',
    summary: 'Publish to one connection', headers: ABOUT_VALUE,
    handle: (call) => publish(call, { operator: 'socket', sid: call.params.sid })
  },
  {
    method: 'POST', path: '/v1/broadcast', operation: 'sendToEveryone', value: 'value',
    summary: 'Publish to every connection', headers: ABOUT_VALUE,
    handle: (call) => publish(call, { operator: 'everyone' })
  },
  {
    method: 'DELETE', path: '/v1/users/:uid/connections', operation: 'kickUser',
    summary: 'Disconnect a user everywhere', headers: ABOUT_ORDER,
    handle: (call) => publish(call, { operator: 'kick', uid: call.params.uid })
  },
  {
    method: 'DELETE', path: '/v1/sockets/:sid', operation: 'kickSocket',
    summary: 'Disconnect one connection', headers: ABOUT_ORDER,
    handle: (call) => publish(call, { operator: 'kick', sid: call.params.sid })
  },
  {
    method: 'POST', path: '/v1/documents/:guid/revoke', operation: 'revoke', value: 'revoke',
    summary: 'Make a user leave a document', headers: [HEADER.uid, ...ABOUT_ORDER],
    handle: (call) => publish(call, { operator: 'revoke', guid: call.params.guid, uid: revokedUser(call) })
  }
]

/**
 * @param {Call} call
 * @param {Target} target
 */
async function publish ({ headers, body, caller, now, publish, answerHeader }, target) {
  const givenKey = headerText(headers, HEADER.idempotencyKey)
  const publication = publicationFromHeaders((name) => {
    switch (name) {
      case HEADER.operator:
        return target.operator
      case HEADER.guid:
        return target.guid
      case HEADER.uid:
        return target.uid
      case HEADER.sid:
        return target.sid
      // The credential names the publisher, not a header.
      case HEADER.source:
        return caller
      case HEADER.idempotencyKey:
        return givenKey === undefined ? undefined : idempotencyKeyFrom(givenKey, caller)
      // These have no value; some HTTP libraries send a type anyway.
      case HEADER.contentType:
        return target.operator === 'kick' || target.operator === 'revoke' ? undefined : headerText(headers, name)
      default:
        return headerText(headers, name)
    }
  }, body ?? EMPTY, now)
  answerHeader(HEADER.traceId, publication.traceId)
  for (const name of TARGET_HEADERS) {
    const given = headerText(headers, HEADER[name])
    // Refused, not ignored: the caller expects another target than the path's.
    if (given !== undefined && given !== target[name])
      throw new InkcastError('bad_header', `${HEADER[name]} contradicts the path`)
  }
  const result = await publish(publication)
  answerHeader(HEADER.traceId, result.traceId)
  return { ok: true, ...result }
}

/**
 * Whom to revoke: header x-uid, as on a record, or `{ "uid": … }` in the body, for ids that a caller's HTTP library
 * does not let into a header.
 *
 * @param {Call} call
 * @returns {string}
 * @throws {InkcastError} bad_request, missing_target
 */
function revokedUser ({ headers, body }) {
  const named = headerText(headers, HEADER.uid)
  if (body === undefined || body.length === 0) {
    if (named === undefined) throw new InkcastError('missing_target', 'x-uid is missing')
    return named
  }
  const { uid, ...others } = readObject(body)
  if (!isId(uid) || Object.keys(others).length > 0 || (named !== undefined && named !== uid)) {
    throw new InkcastError('bad_request', 'the body must be { "uid": … }, the same as x-uid if both are given')
  }
  return uid
}

/**
 * A header's text. Node hands out its bytes as Latin-1; ids and event names are UTF-8, as on a Kafka record.
 *
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {string} name
 * @returns {string | undefined}
 * @throws {InkcastError} bad_header
 */
function headerText (headers, name) {
  const given = headers[name]
  if (given === undefined) return undefined
  const text = Array.isArray(given) ? given.join(',') : given
  if (/^[\x20-\x7e]*$/.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  if (!isUtf8(bytes)) throw new InkcastError('bad_header', `${name} is not UTF-8`)
  return bytes.toString()
}
