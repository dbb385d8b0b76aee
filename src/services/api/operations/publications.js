import { InkcastError } from '../../../base/common/errors.js'
import { HEADER, publicationFromHeaders } from '../../../wire/headers.js'
import { isOrder } from '../../../wire/publication.js'
import { idempotencyKeyFrom } from '../idempotency/publish-once.js'

/**
 * The operations that publish. The path gives operator and target, the body is the value, and headers have the names
 * and the meaning they have on a Kafka record.
 *
 * @typedef {import('./operation.js').Operation} Operation
 * @typedef {import('./operation.js').Call} Call
 */

/**
 * @typedef {{ guid?: string, uid?: string, sid?: string, device?: string,
 *   operator: import('../../../wire/publication.js').Operator }} Target
 */

const TARGET_HEADERS = /** @type {const} */ (['operator', 'guid', 'uid', 'sid', 'device'])
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

/** Headers of the caller that are read with every publication. */
const GIVEN = [
  HEADER.event, HEADER.except, HEADER.ephemeral, HEADER.receipt, HEADER.keep, HEADER.traceId, HEADER.traceparent,
  HEADER.timestamp, HEADER.key
]
const OF_VALUES = [...GIVEN, HEADER.contentType]
/** Orders have no value; some HTTP libraries send its type anyway. */
const OF_ORDERS = [...GIVEN, HEADER.ttl]

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
    method: 'POST', path: '/v1/devices/:device/send', operation: 'sendToDevice', body: 'value',
    summary: 'Publish to one device: the connections of a user that have this client id',
    headers: [HEADER.uid, ...ABOUT_VALUE, HEADER.keep, HEADER.key],
    handle: (call) => publish(call, { operator: 'device', ...deviceIn(call) })
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

/** @param {Pick<Call, 'params' | 'header'>} call @returns {{ device: string, uid: string | undefined }} */
export const deviceIn = ({ params: { device }, header }) => ({ device, uid: header(HEADER.uid) })

/**
 * @param {Call} call
 * @param {Target} target
 */
export async function publish ({ header, body, caller, now, random, publish, answerHeader }, target) {
  const givenKey = header(HEADER.idempotencyKey)
  /** @type {Map<string, string | undefined>} */
  const headers = new Map()
  for (const name of isOrder(target) ? OF_ORDERS : OF_VALUES) headers.set(name, header(name))
  headers.set(HEADER.idempotencyKey, givenKey === undefined ? undefined : idempotencyKeyFrom(givenKey, caller))
  headers.set(HEADER.source, caller) // the credential names the publisher, not a header
  for (const name of TARGET_HEADERS) headers.set(HEADER[name], target[name])
  const publication = publicationFromHeaders(headers, body ?? EMPTY, now, random)
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
