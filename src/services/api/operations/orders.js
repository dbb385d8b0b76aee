import { InkcastError } from '../../../base/common/errors.js'
import { HEADER } from '../../../wire/headers.js'
import { isId } from '../../../wire/publication.js'
import { readObject } from './body.js'
import { deviceIn, publish } from './publications.js'

/**
 * The operations that say what happens to connections: orders. Their answer says that they are done, and for how many.
 *
 * @typedef {import('./operation.js').Operation} Operation
 * @typedef {import('./operation.js').Call} Call
 */

const ABOUT_ORDER = [HEADER.traceId, HEADER.traceparent, HEADER.timestamp, HEADER.idempotencyKey]

/** @satisfies {import('./operation.js').Body} */
const USER = {
  optional: true,
  description: 'The user, if not in x-uid',
  schema: {
    type: 'object',
    required: ['uid'],
    properties: { uid: { type: 'string', minLength: 1 } },
    additionalProperties: false
  }
}

/** @type {Record<string, object>} */
const FAREWELL = {
  code: { type: 'string', minLength: 1, maxLength: 64, description: 'Clients get it in `doc:closed`' },
  reason: { type: 'string', minLength: 1, maxLength: 256, description: 'Clients get it in `doc:closed`' }
}

/** @type {Operation[]} */
export const controlOperations = [
  {
    method: 'DELETE', path: '/v1/users/:uid/connections', operation: 'kickUser',
    summary: 'Disconnect a user everywhere. With x-ttl (a ban) the user may not connect during that time',
    headers: [HEADER.ttl, ...ABOUT_ORDER],
    handle: (call) => publish(call, { operator: 'kick', uid: call.params.uid })
  },
  {
    method: 'DELETE', path: '/v1/devices/:device', operation: 'kickDevice',
    summary: 'Disconnect one device. It may connect again', headers: [HEADER.uid, ...ABOUT_ORDER],
    handle: (call) => publish(call, { operator: 'kick', ...deviceIn(call) })
  },
  {
    method: 'DELETE', path: '/v1/sockets/:sid', operation: 'kickSocket',
    summary: 'Disconnect one connection', headers: ABOUT_ORDER,
    handle: (call) => publish(call, { operator: 'kick', sid: call.params.sid })
  },
  {
    method: 'POST', path: '/v1/users/:uid/restore', operation: 'restoreUser',
    summary: 'End the ban of a user (a kick with x-ttl) before its time is over', headers: ABOUT_ORDER,
    handle: (call) => publish(call, { operator: 'restore', uid: call.params.uid })
  },
  {
    method: 'POST', path: '/v1/documents/:guid/revoke', operation: 'revoke', body: USER, errors: ['missing_target'],
    summary:
      'Make a user leave a document. Older tokens do not open it again; with x-ttl, no token does during that time',
    headers: [HEADER.uid, HEADER.ttl, ...ABOUT_ORDER],
    handle: (call) => publish(call, { operator: 'revoke', guid: call.params.guid, uid: namedUser(call) })
  },
  {
    method: 'POST', path: '/v1/documents/:guid/restore', operation: 'restore', body: USER, errors: ['missing_target'],
    summary: 'Take back a revoke: the user may open the document again, also with an older token',
    headers: [HEADER.uid, ...ABOUT_ORDER],
    handle: (call) => publish(call, { operator: 'restore', guid: call.params.guid, uid: namedUser(call) })
  },
  {
    method: 'DELETE', path: '/v1/documents/:guid/connections', operation: 'close',
    summary: 'Make everyone leave a document', query: FAREWELL, headers: ABOUT_ORDER,
    handle: (call) => publish(withFarewell(call), { operator: 'close', guid: call.params.guid })
  },
  {
    method: 'POST', path: '/v1/users/:uid/documents/:guid', operation: 'join',
    summary: 'Open a document on the connections of a user, if the user may read it', headers: ABOUT_ORDER,
    handle: (call) => publish(call, { operator: 'join', ...userAndDocument(call) })
  },
  {
    method: 'DELETE', path: '/v1/users/:uid/documents/:guid', operation: 'leave',
    summary: 'Make the connections of a user leave a document. The user may open it again',
    query: FAREWELL, headers: ABOUT_ORDER,
    handle: (call) => publish(withFarewell(call), { operator: 'leave', ...userAndDocument(call) })
  }
]

/** @param {Call} call */
const userAndDocument = ({ params: { uid, guid } }) => ({ uid, guid })

/** @param {Call} call @returns {Call} whose value is sent to the clients */
function withFarewell (call) {
  const { code, reason } = /** @type {{ code?: string, reason?: string }} */ (call.query ?? {})
  return { ...call, body: Buffer.from(JSON.stringify({ code, reason })) }
}

/**
 * Header x-uid, as on a record, or `{ "uid": … }` in the body, for ids that a caller's HTTP library does not let into
 * a header.
 *
 * @param {Call} call
 * @returns {string}
 * @throws {InkcastError} bad_request, missing_target
 */
function namedUser ({ header, body }) {
  const named = header(HEADER.uid)
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
