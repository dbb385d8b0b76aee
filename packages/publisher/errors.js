/**
 * Codes of the api's errors, as docs/errors.md has them. An api of a later version may have others.
 */
export const ERROR_CODES = /** @type {const} */ ([
  'bad_request', 'bad_target', 'missing_target', 'unknown_operator', 'batch_refused', 'bad_header', 'reserved_event',
  'bad_content_type', 'bad_utf8', 'bad_value', 'value_too_large', 'request_in_progress', 'idempotency_mismatch',
  'unauthorized', 'token_expired', 'forbidden', 'origin_refused', 'rate_limited', 'unavailable', 'timeout', 'draining',
  'method_not_allowed', 'not_found', 'internal'
])

/** @typedef {typeof ERROR_CODES[number]} ErrorCode */

/** Codes after which the record may have been published, or the order carried out. @type {readonly string[]} */
const UNKNOWN_OUTCOME = ['timeout', 'internal']

/** An error of the api, or of the way to it. */
export class InkcastError extends Error {
  /** @type {ErrorCode} */
  code
  /** Status of the answer; 0 without an answer, and for one publication of a batch. @type {number} */
  status
  /** Whether the same request may succeed later. @type {boolean} */
  retryable
  /** Time after which to try again, ms, if it is known. @type {number | undefined} */
  retryInMs

  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {{ status?: number, retryable?: boolean, retryInMs?: number | undefined, cause?: unknown }} [details]
   */
  constructor (code, message, { status = 0, retryable = false, retryInMs, cause } = {}) {
    super(`${code}: ${message}`, { cause })
    this.name = 'InkcastError'
    this.code = code
    this.status = status
    this.retryable = retryable
    this.retryInMs = retryInMs
  }

  /** Whether the record may have been published, or the order carried out. */
  get unknownOutcome () { return UNKNOWN_OUTCOME.includes(this.code) }
}

/** Codes of answers that are not the api's, for instance of a proxy, by status. @type {Record<number, ErrorCode>} */
const BY_STATUS = {
  401: 'unauthorized', 403: 'forbidden', 404: 'not_found', 405: 'method_not_allowed', 413: 'value_too_large',
  429: 'rate_limited', 500: 'internal', 503: 'unavailable'
}

/**
 * @param {number} status
 * @param {string | null} retryAfter the header
 * @param {any} body parsed, undefined if it is not JSON
 * @param {number} now ms since 1970
 */
export function errorOf (status, retryAfter, body, now) {
  const { code, message, retryable, retryInMs = waitOf(retryAfter, now) } = body?.error ?? {}
  if (typeof code === 'string')
    return new InkcastError(/** @type {ErrorCode} */ (code), String(message), { status, retryable, retryInMs })
  const other = BY_STATUS[status] ?? (status >= 500 ? 'timeout' : 'bad_request')
  return new InkcastError(other, `the answer is ${status}, and not of inkcast`, {
    status, retryable: status >= 500 || status === 429, retryInMs
  })
}

/** @param {string | null} header seconds or a date @param {number} now @returns {number | undefined} ms */
function waitOf (header, now) {
  if (header === null || header === '') return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
