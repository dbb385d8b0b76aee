import { InkcastError } from '../../common/errors.js'
import { HEADER, publicationFromHeaders } from '../../wire/headers.js'
import { isOrder } from '../../wire/publication.js'
import { idempotencyKeyFrom } from '../idempotency/publish-once.js'

/**
 * The operations that publish. The path gives operator and target, the body is the value, and headers have the names
 * and the meaning they have on a Kafka record.
 *
 * @typedef {import('./operation.js').Operation} Operation
 * @typedef {import('./operation.js').Call} Call
 */

/**
 * @typedef {{ guid?: string, uid?: string, sid?: string,
 *   operator: import('../../wire/publication.js').Operator }} Target
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

/** @type {Operation[]} */
export const publishOperations = [
  {
    method: 'POST', path: '/v1/documents/:guid/broadcast', operation: 'broadcast', body: 'value',
    summary: 'Publish to everyone who has the document open', headers: [...ABOUT_VALUE, HEADER.ephemeral, HEADER.key],
    handle: (call) => publish(call, { operator: 'broadcast', guid: call.params.guid })
  },
  {
    method: 'POST', path: '/v1/users/:uid/send', operation: 'sendToUser', body: 'value',
    summary: 'Publish to every connection of a user', headers: [...ABOUT_VALUE, HEADER.keep, HEADER.key],
    handle: (call) => publish(call, { operator: 'user', uid: call.params.uid })
  },
  {
    method: 'POST', path: '/v1/sockets/:sid/send', operation: 'sendToSocket', body: 'value',
    summary: 'Publish to one connection', headers: ABOUT_VALUE,
    handle: (call) => publish(call, { operator: 'socket', sid: call.params.sid })
  },
  {
    method: 'POST', path: '/v1/broadcast', operation: 'sendToEveryone', body: 'value',
    summary: 'Publish to every connection', headers: ABOUT_VALUE,
    handle: (call) => publish(call, { operator: 'everyone' })
  }
]

/**
 * @param {Call} call
 * @param {Target} target
 */
export async function publish ({ header, body, caller, now, publish, answerHeader }, target) {
  const givenKey = header(HEADER.idempotencyKey)
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
        return isOrder(target) ? undefined : header(name)
      default:
        return header(name)
    }
  }, body ?? EMPTY, now)
  answerHeader(HEADER.traceId, publication.traceId)
  for (const name of TARGET_HEADERS) {
    const given = header(HEADER[name])
    // Refused, not ignored: the caller expects another target than the path's.
    if (given !== undefined && given !== target[name])
      throw new InkcastError('bad_header', `${HEADER[name]} contradicts the path`)
  }
  const result = await publish(publication)
  answerHeader(HEADER.traceId, result.traceId)
  return { ok: true, ...result }
}
