/**
 * What a gateway says that refuses a page: 403 with `{ code, message, retryable }`, before there is a session. A browser shows it with long polling
 * only, and nothing at all of a refused WebSocket.
 *
 * @typedef {{ code: string, message: string, retryable: boolean }} Refusal
 */

/** A session that nobody has: what is asked for it begins none. */
const NO_SESSION = '?EIO=4&transport=polling&sid=none'

/**
 * @param {any} error of an attempt to connect
 * @returns {Refusal | null} null: it was not refused, or nobody can tell
 */
export function refusalOf (error) {
  // an XMLHttpRequest, of whatever library
  const request = error.context
  return request?.status === 403 ? read(request.responseText) : null
}

/**
 * Asks a gateway whether it refuses this page.
 * @param {any} manager Socket.IO's
 * @returns {Promise<Refusal | null>} null: it does not, or cannot be reached
 */
export async function askForRefusal ({ uri, opts }) {
  try {
    const url = new URL(`${opts.path.replace(/\/?$/, '/')}${NO_SESSION}`, uri.replace(/^ws/, 'http'))
    const answer = await fetch(url, { credentials: 'omit' })
    return answer.status === 403 ? read(await answer.text()) : null
  } catch {
    return null
  }
}

/** @param {string} text @returns {Refusal | null} */
function read (text) {
  try {
    const { code, message, retryable } = JSON.parse(text)
    return typeof code === 'string' && typeof message === 'string' && retryable === false ? { code, message, retryable } : null
  } catch {
    return null
  }
}
