/**
 * The header `traceparent` of W3C Trace Context (https://www.w3.org/TR/trace-context/#traceparent-header):
 * `00-TRACE_ID-PARENT_ID-FLAGS`.
 */

// version ff and ids of zeros only are not valid
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/
const SAMPLED = 1

/**
 * @param {string | undefined} text
 * @returns {{ traceId: string, spanId: string, sampled: boolean } | null} null: it is none, and is ignored, as the
 *   standard asks
 */
export function parseTraceparent (text) {
  const found = text === undefined ? null : TRACEPARENT.exec(text)
  if (found === null) return null
  const [, traceId, spanId, flags] = found
  return { traceId, spanId, sampled: (parseInt(flags, 16) & SAMPLED) !== 0 }
}

/** @param {{ traceId: string, spanId: string }} span that is sampled @returns {string} */
export const formatTraceparent = ({ traceId, spanId }) => `00-${traceId}-${spanId}-01`
