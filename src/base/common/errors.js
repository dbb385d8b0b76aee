/**
 * Every error that inkcast shows to clients, services or operators, in one table. A client sees `code`, `message` and
 * `retryable`; the api answers with `status`; a record goes to the dead-letter topic with the code as `x-reason`.
 *
 * docs/errors.md is generated from this table (npm run docs), so `when` addresses the reader of that page.
 *
 * @typedef {object} ErrorEntry
 * @property {string} message    shown when there is no more specific message
 * @property {boolean} retryable whether the same request may succeed later, unchanged
 * @property {number} status     HTTP status of the api
 * @property {string} when       cause, and what to do about it
 */

/** @satisfies {Record<string, ErrorEntry>} */
export const ERRORS = Object.freeze({
  // bad requests
  bad_request: {
    message: 'the request is not well formed',
    retryable: false,
    status: 400,
    when: 'An event or request has a missing field, an additional field, or a field of a wrong type; the message names the field.'
  },
  unknown_event: {
    message: 'unknown event',
    retryable: false,
    status: 404,
    when: 'A client sent an event that the gateway does not know.'
  },
  unknown_operator: {
    message: 'unknown x-operator',
    retryable: false,
    status: 400,
    when: 'A record has no `x-operator`, or one that does not exist.'
  },
  missing_target: {
    message: 'the target is missing',
    retryable: false,
    status: 400,
    when: 'The operator needs `x-guid`, `x-uid` or `x-sid`, and the record does not have this header.'
  },
  bad_target: {
    message: 'the target is not a valid id, or the operator has no use for it',
    retryable: false,
    status: 400,
    when: 'In a publication or a request to the api, a guid, uid or sid is empty, is longer than 256 bytes, or has control characters. ' +
      'Or the record names a target that its operator has no use for, for example `x-guid` with `everyone`. A client that opens a ' +
      'document with such a guid gets `bad_request`.'
  },
  batch_refused: {
    message: 'another publication of this document in the batch is refused, so none of them was published',
    retryable: false,
    status: 400,
    when: 'In a batch the publications of a document are published together or not at all. The result of another publication of this ' +
      'document has the reason.'
  },
  bad_header: {
    message: 'a header has an invalid value',
    retryable: false,
    status: 400,
    when: 'A header cannot be read; the message names it.'
  },
  reserved_event: {
    message: 'the event name is reserved',
    retryable: false,
    status: 400,
    when: 'The event is one of Socket.IO\'s own or starts with `doc:`, `gateway:` or `auth:`.'
  },
  bad_content_type: {
    message: 'the content type is not supported',
    retryable: false,
    status: 415,
    when: '`content-type` is neither `application/json` nor `application/msgpack`.'
  },
  bad_utf8: {
    message: 'the value is not valid UTF-8',
    retryable: false,
    status: 400,
    when: 'A JSON value holds bytes that are not UTF-8.'
  },
  bad_value: {
    message: 'the value is not well formed',
    retryable: false,
    status: 400,
    when: 'A value is not valid JSON or msgpack, is nested deeper than 256 levels, has msgpack maps with keys other than strings and ' +
      'whole numbers, or has more values or attachments than one message may have ([limits](protocol-details.md#limits)). A ' +
      'client gets it for ' +
      'each event that [cannot be decoded](protocol-details.md#events-that-cannot-be-decoded). inkcast-client also reports it for ' +
      'a value that ' +
      'cannot be encoded (BigInt, a circular reference), and does not send this value.'
  },
  value_too_large: {
    message: 'the value is too large',
    retryable: false,
    status: 413,
    when: 'A value is larger than `MAX_RECORD_BYTES`. inkcast-client also reports it for a message above the gateway\'s `maxPayload`, ' +
      'and does not send this message.'
  },

  state_too_large: {
    message: 'the presence state is too large',
    retryable: false,
    status: 413,
    when: 'A presence state is larger than `PRESENCE_MAX_STATE_BYTES` as JSON.'
  },

  presence_off: {
    message: 'this document has no presence',
    retryable: false,
    status: 403,
    when: 'A client sends `doc:members` or `doc:state` to a document whose [rule](document-rules.md) turns presence off. A `doc:join` ' +
      'with `state` or `members` is accepted, but its answer has no members.'
  },
  not_in_log: {
    message: 'the position is not in the document\'s log',
    retryable: false,
    status: 409,
    when: 'A `cut` ([api](api.md)) has a position of another log of the document (another epoch), or a position past the end of the log.'
  },
  request_in_progress: {
    message: 'a request with this idempotency key is in progress',
    retryable: true,
    status: 409,
    when: 'The first request with the same `Idempotency-Key` has no answer yet, or the process that handled it died a few seconds ago; ' +
      'retry after a pause, with the same key.'
  },
  idempotency_mismatch: {
    message: 'this idempotency key was used for another request',
    retryable: false,
    status: 422,
    when: 'The same caller has used the same `Idempotency-Key` with another target, value or header less than 15 minutes ago; use a new ' +
      'key for each publication.'
  },

  // missing rights
  out_of_order: {
    message: 'an earlier edit of the queue has to come first',
    retryable: true,
    status: 409,
    when: 'An earlier edit of the queue (`doc:send` with `queue`) failed with a retryable error; send the earlier edit again first, ' +
      'then this one ([queued edits](protocol-details.md#queued-edits)).'
  },

  unauthorized: {
    message: 'a valid token is needed',
    retryable: false,
    status: 401,
    when: 'The token is missing or not valid, or its issuer or audience is wrong (`AUTH_JWT_ISSUER`, `AUTH_JWT_AUDIENCE`); get a new ' +
      'token before the next try. Or the application at `AUTH_CONNECT_URL` refuses the client, or answers a field that is not valid; a ' +
      'client may also see a code of the application there ([refusals](auth.md#refusals)). On the api: the token or client certificate ' +
      'belongs to no caller (any more).'
  },
  token_expired: {
    message: 'the token has expired',
    retryable: false,
    status: 401,
    when: 'The token\'s `exp` has passed; get a new one (an `auth` function is evaluated again at each reconnect).'
  },
  forbidden: {
    message: 'not allowed',
    retryable: false,
    status: 403,
    when: 'The grants of the token, the access service, a revocation or a [rule](document-rules.md) does not allow this operation on ' +
      'this document ([how to find the cause](client-errors.md#after-forbidden)). On the api: ' +
      '`API_CALLERS_FILE` does not allow the caller ' +
      'this operator, operation, document or user; the message says which.'
  },
  origin_refused: {
    message: 'this origin is not allowed',
    retryable: false,
    status: 403,
    when: 'A browser connects from a page whose origin is not allowed; the message names the origin, and the gateway logs it once. If ' +
      '`ALLOWED_ORIGINS` is set, only the origins in this list are allowed, so the origin of the gateway must be in the list, too. If ' +
      'it is not set, pages of the gateway\'s own host and port are allowed, and in development also all pages of the same machine. A ' +
      'gateway in development without authentication also refuses public host names that are not its own (DNS rebinding). With ' +
      '`AUTH_COOKIE`, a client that is logged in by the cookie must send an origin.'
  },

  // limits
  not_joined: {
    message: 'join the document first',
    retryable: false,
    status: 409,
    when: 'A client sends an event about a document that is not open on this connection, or the document was closed during a join.'
  },
  too_many_documents: {
    message: 'too many documents on one connection',
    retryable: false,
    status: 429,
    when: 'The connection has `MAX_DOCUMENTS_PER_CONNECTION` documents open; leave one of them first.'
  },
  rate_limited: {
    message: 'too many events',
    retryable: true,
    status: 429,
    when: 'The connection sends more events (of all kinds, or of this one) or bytes per second than allowed, uses too much CPU time, ' +
      'sends to too many documents, or requests too many members or records ([limits](protocol-details.md#limits)); slow down. On ' +
      'the api: the ' +
      'caller publishes, or calls the operation, above its rate in `API_CALLERS_FILE`; retry after `Retry-After` (or `retryInMs` of the ' +
      'error).'
  },
  too_many_connections: {
    message: 'too many connections',
    retryable: true,
    status: 503,
    when: 'The gateway worker already has `MAX_CONNECTIONS` connections in total, `MAX_CONNECTIONS_PER_USER` connections of this user, ' +
      'or `MAX_CONNECTIONS_PER_ADDRESS` connections from this address; close one, or retry after a pause.'
  },

  overloaded: {
    message: 'this worker has more clients than it can serve at the moment',
    retryable: true,
    status: 503,
    when: 'The event loop of the gateway worker is late by more than 1 s, or 90 % of its memory is in use. The worker refuses new ' +
      'clients; if the overload lasts, it also disconnects anonymous clients ([overload](operations/processes.md#overload)). Connect ' +
      'again after `Retry-After` or `retryInMs`; add workers or machines.'
  },

  // temporary failures
  unavailable: {
    message: 'not available at the moment',
    retryable: true,
    status: 503,
    when: 'Redis, Kafka, the key set, the access service or the application at `AUTH_CONNECT_URL` does not respond in time, the gateway ' +
      'worker is cut off from Redis for more than 10 s, Redis denies a command, or Redis does not confirm writes (`PUBLISH_WAIT`); ' +
      '`/ready` has the state of Redis and Kafka. Or a queue is full: too many clients connect at once, or too many messages wait for ' +
      'Kafka, Redis or your service. Retry after a pause.'
  },
  timeout: {
    message: 'no answer in time',
    retryable: true,
    status: 504,
    when: 'The operation was started, and its outcome is unknown. Retry. For a publication over the api use the same idempotency key.'
  },
  draining: {
    message: 'the gateway is shutting down',
    retryable: true,
    status: 503,
    when: 'The process is being replaced or stops. A client reconnects. On the api: the request was not carried out; send it again.'
  },
  kicked: {
    message: 'disconnected by the service',
    retryable: false,
    status: 403,
    when: 'A service disconnected this user or connection with the operator `kick`.'
  },
  replaced: {
    message: 'another connection with the same id has replaced this one',
    retryable: false,
    status: 409,
    when: 'A client with an [id of its own](websocket.md#ids) connected again, and its old connection ended. Do not connect again after ' +
      'this: two clients with the same id would replace each other forever.'
  },
  method_not_allowed: {
    message: 'this route has other methods',
    retryable: false,
    status: 405,
    when: 'The api has this route with other methods only; the header `Allow` lists them.'
  },
  banned: {
    message: 'this user may not connect for some time',
    retryable: false,
    status: 403,
    when: 'A service banned this user with `kick` and `x-ttl`, and the time is not over; `restore` ends the ban earlier.'
  },
  not_found: { message: 'no such resource', retryable: false, status: 404, when: 'The api has no such route, or there is no open ' +
    'connection with this id.' },
  unchecked_libraries: {
    message: 'libraries have other versions than inkcast was checked with',
    retryable: false,
    status: 409,
    when: 'At a start, and nowhere else: a library whose private parts inkcast uses has another version than the one that ' +
      'inkcast was checked with. The message says what to install. `LIBRARY_VERSIONS=any` starts with a warning.'
  },
  internal: {
    message: 'internal error',
    retryable: true,
    status: 500,
    when: 'A defect of inkcast. The log of the process has the error, for the HTTP api with the trace id of the answer.'
  }
})

/** @typedef {keyof typeof ERRORS} ErrorCode */

/** An error with a code of the table. `message` is safe to show to a client: never put a secret or a payload in it. */
export class InkcastError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} [message] default: the table's message
   * @param {{ cause?: unknown, retryInMs?: number, refusal?: string }} [options] retryInMs: time after which the same
   *   request may succeed. refusal: the application's own code, which a client sees in place of `code`
   */
  constructor (code, message, options) {
    super(message ?? ERRORS[code].message, options)
    this.name = 'InkcastError'
    this.code = code
    this.retryInMs = options?.retryInMs
    this.refusal = options?.refusal
  }

  get retryable () { return ERRORS[this.code].retryable }
  get status () { return ERRORS[this.code].status }
}

/**
 * The part of an error that a client may see: InkcastErrors unchanged, all others as `internal`.
 * @param {unknown} error
 * @returns {{ code: ErrorCode, message: string, retryable: boolean, retryInMs?: number }}
 */
export function publicError (error) {
  if (!(error instanceof InkcastError)) return { code: 'internal', message: ERRORS.internal.message, retryable: true }
  const { message, retryable, retryInMs, refusal } = error
  const code = /** @type {ErrorCode} */ (refusal ?? error.code)
  return retryInMs === undefined ? { code, message, retryable } : { code, message, retryable, retryInMs }
}
