import { ERRORS, publicError } from '../../../base/common/errors.js'

/** Errors as gRPC has them: a status code, the code of inkcast's table in metadata, and google.rpc.Status. */

/** Status codes of gRPC (google/rpc/code.proto). */
const status = Object.freeze({
  UNKNOWN: 2, INVALID_ARGUMENT: 3, DEADLINE_EXCEEDED: 4, NOT_FOUND: 5, PERMISSION_DENIED: 7, RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9, ABORTED: 10, UNIMPLEMENTED: 12, INTERNAL: 13, UNAVAILABLE: 14, UNAUTHENTICATED: 16
})
export const { RESOURCE_EXHAUSTED } = status

/** Trailers of a call that has succeeded. */
export const OK = Object.freeze({ 'grpc-status': '0' })

/** @type {Record<number, number>} by HTTP status; 409 depends on whether a retry may succeed */
const CODES = {
  400: status.INVALID_ARGUMENT,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  404: status.NOT_FOUND,
  405: status.UNIMPLEMENTED,
  413: status.INVALID_ARGUMENT,
  415: status.INVALID_ARGUMENT,
  422: status.INVALID_ARGUMENT,
  429: status.RESOURCE_EXHAUSTED,
  500: status.INTERNAL,
  503: status.UNAVAILABLE,
  504: status.DEADLINE_EXCEEDED
}

/**
 * Exported for tests: every code has a status.
 *
 * @param {import('../../../base/common/errors.js').ErrorCode} code
 * @returns {number}
 */
export function statusOf (code) {
  const entry = ERRORS[code]
  if (entry.status === 409) return entry.retryable ? status.ABORTED : status.FAILED_PRECONDITION
  return CODES[entry.status] ?? status.UNKNOWN
}

/**
 * @param {unknown} error
 * @param {number} [code] of gRPC; default: that of the error's code
 * @returns {import('node:http2').OutgoingHttpHeaders} trailers
 */
export function statusFrom (error, code) {
  const { code: reason, message, retryable, retryInMs } = publicError(error)
  const number = code ?? statusOf(reason)
  /** @type {Record<string, string>} */
  const facts = { retryable: String(retryable) }
  if (retryInMs !== undefined) facts.retryInMs = String(Math.ceil(retryInMs))
  return {
    'grpc-status': String(number),
    'grpc-message': percentEncoded(message),
    'inkcast-code': reason,
    ...Object.fromEntries(Object.entries(facts).map(([name, value]) => [`inkcast-${name.toLowerCase()}`, value])),
    'grpc-status-details-bin': encodeStatus(number, message, reason, facts).toString('base64')
  }
}

/** @param {string} text @returns {string} as the header grpc-message has it */
const percentEncoded = (text) => Array.from(Buffer.from(text), (byte) =>
  byte >= 0x20 && byte < 0x7f && byte !== 0x25
    ? String.fromCharCode(byte)
    : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

/** google.rpc.Status with a google.rpc.ErrorInfo (google/rpc/status.proto, error_details.proto). */
/** @param {number} code @param {string} message @param {string} reason @param {Record<string, string>} facts */
function encodeStatus (code, message, reason, facts) {
  const info = Buffer.concat([
    text(1, reason),
    text(2, 'inkcast'),
    ...Object.entries(facts).map(([name, value]) => bytes(3, Buffer.concat([text(1, name), text(2, value)])))
  ])
  const any = Buffer.concat([text(1, 'type.googleapis.com/google.rpc.ErrorInfo'), bytes(2, info)])
  return Buffer.concat([Buffer.from([8, code]), text(2, message), bytes(3, any)])
}

/** @param {number} field @param {string} value */
const text = (field, value) => bytes(field, Buffer.from(value))
/** @param {number} field @param {Buffer} value */
const bytes = (field, value) => Buffer.concat([Buffer.from([(field << 3) | 2]), varint(value.length), value])

/** @param {number} value @returns {Buffer} */
function varint (value) {
  const parts = []
  for (; value > 127; value >>>= 7) parts.push((value & 127) | 128)
  return Buffer.from([...parts, value])
}
