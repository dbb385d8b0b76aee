/**
 * The response of a gateway that refuses a page: 403 with `{ code, message, retryable }`, before there is a session. A
 * browser shows it with long polling only, and nothing of a refused WebSocket.
 *
 * @typedef {{ code: import('../common/error.js').ErrorCode, message: string, retryable: boolean,
 *   retryInMs?: number }} Refusal
 */

/**
 * @param {any} error of a failed attempt to connect
 * @returns {Refusal | null} null: not refused, or unknown
 */
export function refusalOf ({ context }) {
  // an XMLHttpRequest, from any library
  return context ? readRefusal(context.status, context.responseText) : null
}

/** @param {number} status @param {string} text of a response @returns {Refusal | null} */
export function readRefusal (status, text) {
  try {
    const refusal = JSON.parse(text)
    // a proxy's own refusal has no such field
    return status === 403 && refusal.retryable === false ? refusal : null
  } catch {
    return null
  }
}

/**
 * @param {any} manager Socket.IO's
 * @param {any} error of a transport that was not refused
 * @returns {string} what it means
 */
export function explain ({ uri }, { message, context }) {
  const { status } = context ?? {}
  // an answer of some server, but not that of a gateway
  if (status >= 400 && status < 500) return `there is no gateway at ${uri}: HTTP ${status}`
  return /^(xhr|websocket|timeout)/.test(message) ? `no answer from ${uri} (${status > 0 ? `HTTP ${status}` : message})` : message
}
