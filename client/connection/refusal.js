/**
 * The response of a gateway that refuses a page: 403 with `{ code, message, retryable }`, before there is a session. A
 * browser shows it with long polling only, and nothing of a refused WebSocket.
 *
 * @typedef {{ code: import('../common/error.js').ErrorCode, message: string, retryable: boolean,
 *   retryInMs?: number }} Refusal
 */

/** An id without a session: a request for it does not open one. */
const NO_SESSION = '/?EIO=4&transport=polling&sid=none'

/**
 * @param {any} error of a failed attempt to connect
 * @returns {Refusal | null} null: not refused, or unknown
 */
export function refusalOf ({ context }) {
  // an XMLHttpRequest, from any library
  return context ? read(context.status, context.responseText) : null
}

/**
 * Asks a gateway whether it refuses this page.
 * @param {any} manager Socket.IO's
 * @returns {Promise<Refusal | null>} null: not refused, or the gateway is unavailable
 */
export async function askForRefusal ({ uri, opts }) {
  try {
    const answer = await fetch(new URL(opts.path.replace(/\/?$/, NO_SESSION), uri.replace(/^ws/, 'http')), {
      credentials: 'omit'
    })
    return read(answer.status, await answer.text())
  } catch {
    return null
  }
}

/** @param {number} status @param {string} text @returns {Refusal | null} */
function read (status, text) {
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
