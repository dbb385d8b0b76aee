import { Metadata, status } from '@grpc/grpc-js'
import { ERRORS, publicError } from '../../common/errors.js'

/** Errors as gRPC has them: a status code, the code of inkcast's table in metadata, and google.rpc.Status. */

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
 * @param {import('../../common/errors.js').ErrorCode} code
 * @returns {number}
 */
export function statusOf (code) {
  const entry = ERRORS[code]
  if (entry.status === 409) return entry.retryable ? status.ABORTED : status.FAILED_PRECONDITION
  return CODES[entry.status] ?? status.UNKNOWN
}

/** @param {unknown} error @returns {{ code: number, details: string, metadata: Metadata }} */
export function statusFrom (error) {
  const { code: reason, message, retryable, retryInMs } = publicError(error)
  const code = statusOf(reason)
  /** @type {Record<string, string>} */
  const facts = { retryable: String(retryable) }
  if (retryInMs !== undefined) facts.retryInMs = String(Math.ceil(retryInMs))
  const metadata = new Metadata()
  metadata.set('inkcast-code', reason)
  for (const [name, value] of Object.entries(facts)) metadata.set(`inkcast-${name.toLowerCase()}`, value)
  metadata.set('grpc-status-details-bin', encodeStatus(code, message, reason, facts))
  return { code, details: message, metadata }
}

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
