/**
 * The client of inkcast, for browsers and Node: documents that stay up to date over lost connections.
 *
 *   import { connect } from 'inkcast/client'
 *   const client = connect('https://gateway.example.com', { token: () => fetchToken() })
 *   const doc = await client.open('minutes')
 *   doc.on('message', (payload, meta) => apply(payload))
 *   doc.on('resync', () => reload())
 *
 * Reference: docs/client.md
 */
import { Client as ClientClass } from './client.js'

/** @typedef {import('./client.js').Client} Client */
/** @typedef {import('./document.js').Document} Document */
/** @typedef {import('./client.js').ClientOptions} ClientOptions */
/** @typedef {import('./client.js').ClientState} ClientState */
/** @typedef {import('./client.js').TokenReason} TokenReason */
/** @typedef {import('./document.js').Meta} Meta */
/** @typedef {import('./document.js').Resync} Resync */
/** @typedef {import('./membership.js').OpenOptions} OpenOptions */
/** @typedef {import('./positions.js').Position} Position */
/** @typedef {import('./presence.js').Member} Member */
/** @typedef {import('./presence.js').PresenceDiff} PresenceDiff */

export { ClientError } from './error.js'

/**
 * Connects, and reconnects until `close()` or a permanent refusal by the gateway.
 *
 * @param {string} [url] of the gateway; default: origin of the page
 * @param {ClientOptions} [options]
 * @returns {Client}
 */
export function connect (url = /** @type {any} */ (globalThis).location?.origin, options = {}) {
  if (url === undefined) throw new TypeError('connect needs the URL of the gateway')
  return new ClientClass(url, options)
}
