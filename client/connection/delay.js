import { random } from '../common/random.js'

/** Maximum delay between two attempts, ms. */
const LONGEST = 15_000
/**
 * A shorter connection counts as a failure, ms: a server that accepts and drops must not be called without a delay.
 */
export const SHORT = 5000

/**
 * Delay before the next attempt. Clients that lost their connection together must not reconnect together, so the delay
 * is random in a range that doubles with each failure: up to 1 s, 2 s, 4 s … 15 s. A hint from the server takes
 * precedence, because the server spreads its hints itself.
 *
 * @param {number} failures in a row; 0 after a lost connection
 * @param {number} [hint] from the server, ms
 * @returns {number} ms
 */
export function delayBefore (failures, hint) {
  if (hint !== undefined) return hint
  const range = Math.min(LONGEST, 1000 * 2 ** failures)
  return range * (0.1 + 0.9 * random.number())
}

/**
 * Delay before a refused join or edit is sent again over the same connection. The gateway's time is the minimum, not
 * the delay itself: requests that were refused together have the same one.
 *
 * @param {{ retryInMs?: number | undefined }} error
 * @param {number} failures in a row
 * @returns {number} ms
 */
export const delayAfter = ({ retryInMs = 0 }, failures) => Math.max(retryInMs, delayBefore(failures))

/**
 * @param {any} error of a failed handshake
 * @returns {number | undefined} delay requested by the server, ms. Only long polling shows a 503: the response to a
 *   WebSocket's request is not accessible
 */
export function hintOf ({ data, context }) {
  if (data?.retryInMs >= 0) return data.retryInMs
  // an XMLHttpRequest, from any library. A browser logs an error when a page reads a header of another origin that is
  // not exposed
  const seconds = context?.status === 503 ? parseFloat(context.getResponseHeader('retry-after')) : NaN
  // the server's granularity is a second: spread within it
  return seconds >= 0 ? (seconds + random.number()) * 1000 : undefined
}
