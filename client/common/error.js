/**
 * Why something failed, for programs: a code of the gateway (docs/errors.md), or one of the client's own. (A type of
 * several lines is not generated correctly.)
 *
 * @typedef {InputCode | RequestCode | AccessCode | StateCode | OwnCode} ErrorCode
 *
 * @typedef {'bad_request' | 'bad_target' | 'bad_header' | 'bad_content_type' | 'bad_utf8' | 'bad_value'} InputCode
 * @typedef {'unknown_event' | 'unknown_operator' | 'missing_target' | 'reserved_event' | RepeatedCode} RequestCode
 * @typedef {'request_in_progress' | 'idempotency_mismatch' | 'out_of_order' | SizeCode} RepeatedCode
 * @typedef {'value_too_large' | 'state_too_large' | 'not_in_log'} SizeCode
 * @typedef {'unauthorized' | 'token_expired' | 'forbidden' | 'origin_refused' | 'not_joined' | KickCode} AccessCode
 * @typedef {'kicked' | 'banned' | 'replaced'} KickCode
 * @typedef {'too_many_documents' | 'too_many_connections' | 'rate_limited' | BusyCode} StateCode
 * @typedef {'overloaded' | LaterCode} BusyCode
 * @typedef {'unavailable' | 'timeout' | 'draining' | 'not_found' | NeverCode} LaterCode
 * @typedef {'internal' | 'method_not_allowed' | 'batch_refused' | 'presence_off' | 'unchecked_libraries'} NeverCode
 * @typedef {'disconnected' | 'closed' | 'too_many_waiting' | 'token_unavailable' | LocalCode} OwnCode
 * @typedef {'load_failed' | 'storage_failed'} LocalCode
 */

/**
 * The error of every promise that the client rejects, and of `client.reason`. The only exception is an abort of your
 * own AbortSignal: it rejects with the reason of that signal.
 */
export class ClientError extends Error {
  /**
   * @param {{ code: ErrorCode, message?: string | undefined, retryable?: boolean | undefined,
   *   retryInMs?: number | undefined, serviceCode?: string | undefined }} error
   * @param {{ cause?: unknown }} [options]
   */
  constructor ({ code, message = code, retryable = false, retryInMs, serviceCode }, options) {
    super(message, options)
    /** Always `ClientError`. */
    this.name = 'ClientError'
    /** Stable, for programs. */
    this.code = code
    /** Whether the same request, unchanged, may succeed later. */
    this.retryable = retryable
    /**
     * Time after which the same request may succeed, ms. Undefined if the gateway sent none. If the client itself
     * repeats the request, it waits at least this long.
     */
    this.retryInMs = retryInMs
    /**
     * The code that a service gave when it closed the document (`code` is `not_joined`). If the service gave none:
     * `closed` (for everyone) or `removed` (for this user). Undefined in all other errors.
     */
    this.serviceCode = serviceCode
  }
}

/** @param {string} message @returns {ClientError} of a call with a wrong argument */
export const badRequest = (message) => new ClientError({ code: 'bad_request', message })

/**
 * @param {ErrorCode} code
 * @param {string} message
 * @param {unknown} [cause]
 * @param {number} [retryInMs]
 * @returns {ClientError} of what may succeed later
 */
export const passing = (code, message, cause, retryInMs) =>
  new ClientError({ code, message, retryable: true, retryInMs }, { cause })

/** @param {string} why @param {unknown} [cause] @returns {ClientError} of a value that is not sent */
export const badValue = (why, cause) => new ClientError({ code: 'bad_value', message: `the value ${why}` }, { cause })

/** @returns {ClientError} of a call after `close()` */
export const closedError = (what = 'the document') =>
  new ClientError({ code: 'closed', message: `${what} was closed` })
