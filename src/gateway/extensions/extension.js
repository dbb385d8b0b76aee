/**
 * The public part: what an extension gets, and the helper that gives it types. Exported as `inkcast`.
 *
 * @typedef {object} PublishRequest
 * @property {'broadcast' | 'user' | 'socket' | 'everyone' | 'kick' | 'revoke'} [operator] default: `broadcast`
 * @property {string} [guid] document: target of `broadcast` and `revoke`
 * @property {string} [uid] user: target of `user` and `revoke`; of `kick`, if there is no sid
 * @property {string} [sid] connection: target of `socket`, or of `kick`
 * @property {string} [event] Socket.IO event name; default: `message`
 * @property {unknown} [data] any value that JSON can hold; default: null
 * @property {string[]} [except] ids of connections, or stable ids of clients, that do not get it; default: []
 * @property {boolean} [ephemeral] not kept in the document's log; default: false
 * @property {boolean} [keep] of operator user: kept in the user's log; default: false
 * @property {boolean} [receipt] clients are asked for an acknowledgement; default: false
 * @property {string} [idempotencyKey] a document's log takes one record of each key, for 15 minutes or
 *   until 10,000 newer keys have followed
 * @property {string} [key] a document's log keeps only the newest record of each key
 * @property {string} [traceId] default: a new one
 *
 * @typedef {object} Position of a record in a document's log, or of the log's end
 * @property {string} epoch
 * @property {number} offset
 *
 * @typedef {object} Member a user who takes part in a document's presence
 * @property {string} uid
 * @property {string} id its newest connection
 * @property {string} [name] from its token
 * @property {object} [state] of that connection
 *
 * @typedef {object} Documents
 * @property {(guid: string) => Promise<Position | null>} position end of the document's log; null if there is none
 * @property {(guid: string, page?: { cursor?: string, limit?: number }) => Promise<{ members: Member[], cursor?:
 *   string }>} members users present, page by page; limit: 100 by default
 * @property {(guid: string) => Promise<{ count: number, version: number }>} presence number of users present; the
 *   version increases with each change
 *
 * @typedef {object} Session
 * @property {string} sid connection id
 * @property {number} worker number of its gateway worker
 * @property {string} [client] stable id of the client
 * @property {'websocket' | 'polling'} transport
 * @property {number} lastSeen ms since 1970, known to the minute
 * @property {string[]} documents guids of its open documents
 *
 * @typedef {object} ExtensionContext
 * @property {string} name of the extension, from its file or package
 * @property {import('socket.io').Server} io Socket.IO's server: namespaces, middlewares, rooms. Clients have passed the
 *   gateway's own check of their token, in every namespace; `socket.data` has uid, name, client and grants
 * @property {(request: PublishRequest) => Promise<{ position: Position | null, duplicate: boolean }>} publish resolves
 *   when the record is safe; rejects with an error that has `code` and `retryable` (docs/errors.md)
 * @property {Documents} documents
 * @property {{ of: (uid: string) => Promise<Session[]> }} sessions of a user, on all workers
 * @property {import('pino').Logger} log lines have the extension's name
 * @property {import('prom-client').Registry} metrics for metrics of its own, which /metrics shows
 * @property {Readonly<Record<string, string>>} config its own settings: the environment's EXTENSION_<NAME>_… without
 *   that prefix
 *
 * @typedef {() => unknown} Stop called when the process stops, after all clients have gone; at most 5 s
 * @typedef {(context: ExtensionContext) => Stop | void | Promise<Stop | void>} Extension
 */

/**
 * Gives an extension its types. Returns it unchanged. The package's export `inkcast`.
 * @template {Extension} T
 * @param {T} extension
 * @returns {T}
 */
export const defineExtension = (extension) => extension
