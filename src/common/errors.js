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
    when: 'An event or request has a missing, additional or mistyped field; the message names it.'
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
    when: 'The operator needs `x-guid`, `x-uid` or `x-sid` and the record has none.'
  },
  bad_target: {
    message: 'the target is not a valid id',
    retryable: false,
    status: 400,
    when: 'In a publication or a request to the api, a guid, uid or sid is empty, longer than 256 bytes or holds control characters. A client that opens a document with this guid gets `bad_request`.'
  },
  batch_refused: {
    message: 'another publication of this document in the batch is refused, so none of them was published',
    retryable: false,
    status: 400,
    when: 'In a batch the publications of a document are published together or not at all. The result of another one says why.'
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
    when: 'A value is not valid JSON or msgpack, is nested deeper than 256 levels, has msgpack maps with keys other than strings and whole numbers, or holds more values than one message may (docs/protocol.md, Limits).'
  },
  value_too_large: {
    message: 'the value is too large',
    retryable: false,
    status: 413,
    when: 'A value is larger than `MAX_RECORD_BYTES`. inkcast/client also reports it, without sending, for a message above the gateway\'s `maxPayload`.'
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
    when: 'A rule in `DOCUMENT_RULES_FILE` turns presence off for the document. A join with `state` or `members` is accepted, without members.'
  },
  not_in_log: {
    message: 'the position is not in the document\'s log',
    retryable: false,
    status: 409,
    when: 'The position of a `cut` belongs to another log of the document (another epoch), or is past its end.'
  },
  request_in_progress: {
    message: 'a request with this idempotency key is in progress',
    retryable: true,
    status: 409,
    when: 'The first request with the same `Idempotency-Key` has no answer yet, or its process died less than 5 s ago; retry after a pause, with the same key.'
  },
  idempotency_mismatch: {
    message: 'this idempotency key was used for another request',
    retryable: false,
    status: 422,
    when: 'The same caller has used the same `Idempotency-Key` with another target, value or header less than 15 minutes ago; use a new key for each publication.'
  },

  // missing rights
  out_of_order: {
    message: 'an earlier edit of the queue has to come first',
    retryable: true,
    status: 409,
    when: 'A queued edit (`doc:send` with `queue`) follows one that failed with a retryable error; send that one again first.'
  },

  unauthorized: {
    message: 'a valid token is needed',
    retryable: false,
    status: 401,
    when: 'The token is missing or not valid, or was issued by or for others (`AUTH_JWT_ISSUER`, `AUTH_JWT_AUDIENCE`); get a new one before the next try. On the api: the token or client certificate names no caller, or no longer does.'
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
    when: 'The token\'s grants, the access service or a revocation do not allow this for this document ([which one](client.md#after-forbidden)). On the api: `API_CALLERS_FILE` does not allow the caller this operator, operation, document or user; the message says which.'
  },
  origin_refused: {
    message: 'this origin is not allowed',
    retryable: false,
    status: 403,
    when: 'A browser connects from a page whose origin is not allowed; the message names the origin, and the gateway logs it once. With `ALLOWED_ORIGINS` all origins that it lists are allowed, and only these: the one of the gateway as well. Without it the host of the gateway is allowed, and in development all pages of the same machine. A gateway in development without authentication also refuses public host names that are not its own (DNS rebinding).'
  },

  // limits
  not_joined: {
    message: 'join the document first',
    retryable: false,
    status: 409,
    when: 'A client sends to a document that this connection has not joined.'
  },
  too_many_documents: {
    message: 'too many documents on one connection',
    retryable: false,
    status: 429,
    when: 'The connection has `MAX_DOCUMENTS_PER_CONNECTION` documents open; leave one first.'
  },
  rate_limited: {
    message: 'too many events',
    retryable: true,
    status: 429,
    when: 'The connection sends more events (of all kinds, or of this one) or bytes per second than allowed, causes too much work, or requests too many lists of members; slow down. On the api: the caller publishes, or calls the operation, above its rate in `API_CALLERS_FILE`; retry after `Retry-After` (or `retryInMs` of the error).'
  },
  too_many_connections: {
    message: 'too many connections',
    retryable: true,
    status: 503,
    when: 'The gateway worker has `MAX_CONNECTIONS` connections, or `MAX_CONNECTIONS_PER_USER` of this user, or `MAX_CONNECTIONS_PER_ADDRESS` from this address; close one, or retry after a pause.'
  },

  overloaded: {
    message: 'this worker has more clients than it can serve at the moment',
    retryable: true,
    status: 503,
    when: 'The event loop of the gateway worker is later than `OVERLOAD_LAG`, or its memory is full: new clients are refused, and anonymous clients sent away if that is not enough. Connect again after `Retry-After` or `retryInMs`; add workers or machines.'
  },

  // temporary failures
  unavailable: {
    message: 'not available at the moment',
    retryable: true,
    status: 503,
    when: 'Redis, Kafka or a key service does not respond in time, Redis denies a command, or it confirms no writes (`PUBLISH_WAIT`); `/ready` says which. Retry after a pause.'
  },
  timeout: {
    message: 'no answer in time',
    retryable: true,
    status: 504,
    when: 'The operation was started and its outcome is unknown; retry with the same idempotency key.'
  },
  draining: {
    message: 'the gateway is shutting down',
    retryable: true,
    status: 503,
    when: 'The worker is being replaced; reconnect.'
  },
  kicked: {
    message: 'disconnected by the service',
    retryable: false,
    status: 403,
    when: 'A `kick` record named this user or connection.'
  },
  method_not_allowed: {
    message: 'this route has other methods',
    retryable: false,
    status: 405,
    when: 'The api has the route, but not with this method; the header `Allow` names those that it has.'
  },
  banned: {
    message: 'this user may not connect for some time',
    retryable: false,
    status: 403,
    when: 'A `kick` with `x-ttl` named this user, and the time is not over; `restore` ends it earlier.'
  },
  not_found: { message: 'no such resource', retryable: false, status: 404, when: 'The api has no such route, or no open connection has the id.' },
  internal: {
    message: 'internal error',
    retryable: true,
    status: 500,
    when: 'A defect of inkcast; it is in the log with the same trace id.'
  }
})

/** @typedef {keyof typeof ERRORS} ErrorCode */

/** An error with a code of the table. `message` is safe to show to a client: never put a secret or a payload in it. */
export class InkcastError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} [message] default: the table's message
   * @param {{ cause?: unknown, retryInMs?: number }} [options] retryInMs: time after which the same request may succeed
   */
  constructor (code, message, options) {
    super(message ?? ERRORS[code].message, options)
    this.name = 'InkcastError'
    this.code = code
    this.retryInMs = options?.retryInMs
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
  const { code, message, retryable, retryInMs } = error
  return retryInMs === undefined ? { code, message, retryable } : { code, message, retryable, retryInMs }
}
