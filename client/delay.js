/** Longest pause between two attempts, ms. */
const LONGEST = 15_000

/**
 * How long to wait before the next attempt. Clients that lost their connection together must not come back together,
 * so it is anywhere in a range that doubles with each failure: up to 1 s, 2 s, 4 s … 15 s. What the server said counts
 * more: it spreads its hints itself.
 *
 * @param {number} failures in a row, 0 after a connection was lost
 * @param {number} [hint] ms, of the server
 * @returns {number} ms
 */
export function delayBefore (failures, hint) {
  if (hint !== undefined) return hint
  const range = Math.min(LONGEST, 1000 * 2 ** Math.min(failures, 10))
  return range * (0.1 + 0.9 * Math.random())
}

/**
 * @param {any} error of a handshake that failed
 * @returns {number | undefined} when the server wants this client back, ms. A 503 is seen with long polling only:
 *   nobody shows the answer to a WebSocket's request
 */
export function hintOf (error) {
  const { retryInMs } = error.data ?? {}
  if (typeof retryInMs === 'number') return retryInMs
  // an XMLHttpRequest, of whatever library. A browser complains on its console where a page asks another origin's
  // answer for a header that is not exposed
  const request = error.context
  const seconds = request?.status === 503 ? parseFloat(request.getResponseHeader('retry-after')) : NaN
  // the server's granularity is a second: spread within it
  return seconds >= 0 ? (seconds + Math.random()) * 1000 : undefined
}
