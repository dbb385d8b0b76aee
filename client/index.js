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
import { checkUrl } from './connection/url.js'

/** @typedef {import('./client.js').Client} Client */
/**
 * @template {object} [Events=Record<string, any>]
 * @template {object} [Presence=Record<string, any>]
 * @template {object} [Signals=Record<string, any>]
 * @typedef {import('./document/document.js').Document<Events, Presence, Signals>} Document
 */
/**
 * @template {object} [Presence=Record<string, any>]
 * @typedef {import('./document/options.js').OpenOptions<Presence>} OpenOptions
 */
/**
 * @template {object} [Presence=Record<string, any>]
 * @typedef {import('./presence/presence.js').Member<Presence>} Member
 */
/**
 * @template {object} [Presence=Record<string, any>]
 * @typedef {import('./presence/presence.js').PresenceDiff<Presence>} PresenceDiff
 */
/** @typedef {import('./connection/options.js').ClientOptions} ClientOptions */
/** @typedef {import('./connection/options.js').ClientState} ClientState */
/** @typedef {import('./connection/options.js').TokenReason} TokenReason */
/** @typedef {import('./common/error.js').ErrorCode} ErrorCode */
/** @typedef {import('./common/log.js').LogEntry} LogEntry */
/** @typedef {import('./types.js').Load} Load */
/** @typedef {import('./types.js').LoggedRecord} LoggedRecord */
/** @typedef {import('./types.js').Meta} Meta */
/** @typedef {import('./types.js').Position} Position */
/** @typedef {import('./types.js').QueuedSend} QueuedSend */
/** @typedef {import('./types.js').Resync} Resync */
/** @typedef {import('./types.js').Status} Status */

export { ClientError } from './common/error.js'

/**
 * Connects, and reconnects until `close()` or a permanent refusal by the gateway.
 *
 * @param {string} [url] URL of the gateway; default: the origin of the page
 * @param {ClientOptions} [options]
 * @returns {Client}
 * @throws {TypeError} if `url` is not a URL of http, https, ws or wss (`localhost:3000` is none; a page may leave out
 *   the scheme: `//gateway.example.com`), or has a path (for `SOCKET_PATH` use the option `socket: { path }`); or if
 *   `outbox` has no `user`. Unknown options are a warning on the console, in development
 */
export function connect (url = /** @type {any} */ (globalThis).location?.origin, options = {}) {
  checkUrl(url)
  return new ClientClass(url, options)
}
