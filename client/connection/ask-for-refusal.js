import { readRefusal } from './refusal.js'

/** An id without a session: a request for it does not open one. */
const NO_SESSION = '/?EIO=4&transport=polling&sid=none'

/**
 * Asks a gateway whether it refuses this page. It is loaded when a page without long polling cannot connect.
 *
 * @param {any} manager Socket.IO's
 * @returns {Promise<import('./refusal.js').Refusal | null>} null: not refused; rejects if the gateway is unavailable
 */
export async function askForRefusal ({ uri, opts }) {
  const answer = await fetch(new URL(opts.path.replace(/\/?$/, NO_SESSION), uri.replace(/^ws/, 'http')), {
    credentials: 'omit'
  })
  return readRefusal(answer.status, await answer.text())
}
