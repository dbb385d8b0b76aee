/**
 * Which tabs may share a connection: those of one origin with the same gateway, the same options of the connection, and
 * the same user. The user is what the page says (`shared: 'ada'`), or all claims of the token that do not change when
 * it is renewed: tabs with other rights have another connection.
 */

/** Claims that each new token of the same login has another value of. */
const RENEWED = ['iat', 'exp', 'nbf', 'jti']
/** Version of the messages between tabs: tabs with code of another version do not understand each other. */
const VERSION = 1

/** @type {any} */
const browser = globalThis

/** Whether tabs of this page can share: not without TLS, and not outside of browsers. */
export const canShare = () => Boolean(
  browser.navigator?.locks && browser.BroadcastChannel && browser.crypto?.subtle && browser.document
)

/**
 * @param {string} url of the gateway
 * @param {import('../connection/options.js').ClientOptions} options
 * @param {string | undefined} token
 * @returns {Promise<string | undefined>} name of the connection; undefined: nothing tells this user from others
 */
export async function keyOf (url, { shared, transports, parser, socket }, token) {
  const user = typeof shared === 'string' ? { named: shared } : token === undefined ? undefined : lasting(token)
  if (user === undefined) return undefined
  // the token itself may not be seen by other scripts of the origin, which can list the names of locks
  const text = JSON.stringify([VERSION, url, user, transports, parser !== undefined, socket])
  const hash = await browser.crypto.subtle.digest('SHA-256', new browser.TextEncoder().encode(text))
  return `inkcast tabs ${Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** @param {string} token @returns {object} what a renewed one has in common with it; of no JWT, the token itself */
function lasting (token) {
  try {
    const text = browser.atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/'))
    const claims = Object.entries(JSON.parse(text)).filter(([name]) => !RENEWED.includes(name))
    return { claims: claims.sort(([one], [other]) => one < other ? -1 : 1) }
  } catch {
    return { token }
  }
}
