/** The types of a connection: its options, states and callbacks. */

/** @typedef {import('../common/error.js').ClientError} ClientError */

/**
 * `connecting` for the first time; `connected`; `reconnecting` after a loss; `draining`: connected, but the gateway is
 * about to close the connection and has asked the client to reconnect; `refused` by the gateway (`client.reason` is the
 * cause, `client.connect()` retries); `closed`.
 * @typedef {'connecting' | 'connected' | 'reconnecting' | 'draining' | 'refused' | 'closed'} ClientState
 */

/**
 * Why a token is requested: for a handshake (`connect`), because the token is about to expire (`expiring`), or because
 * the gateway refused the last token (`refused`).
 * @typedef {'connect' | 'expiring' | 'refused'} TokenReason
 */

/**
 * @typedef {object} PositionStorage the methods of the browser's `Storage` that the client uses
 * @property {(key: string) => string | null} getItem reads a position; null: there is none
 * @property {(key: string, value: string) => void} setItem stores a position
 * @property {(key: string) => void} removeItem removes a position, when its document is closed
 */

/**
 * @typedef {object} ClientOptions
 * @property {string | ((reason: TokenReason) => string | Promise<string>) | undefined} [token] the token, or a function
 *   that returns it: the client calls the function for each handshake, and before a token expires. Default: none
 * @property {string | undefined} [id] stable id of this client. A publisher puts it into `x-except`, so that the client
 *   does not get its own changes. Default: random, new for each page
 * @property {PositionStorage | undefined} [storage] keeps positions across page reloads, usually
 *   `sessionStorage`. Default: none
 * @property {OutboxOptions | undefined} [outbox] keeps edits that are sent with `queue` until the gateway has accepted
 *   them. Default: none
 * @property {true | import('../common/log.js').LogSink | undefined} [log] receives what the client does, for
 *   developers. `true`: the console. Default: none
 * @property {boolean | string | undefined} [shared] whether the tabs of this browser share one connection: `true` for
 *   tabs with tokens of the same claims, or a name of the user, for pages without tokens. Default: false
 * @property {string[] | undefined} [transports] names of transports of socket.io-client. Default: WebSocket, and long
 *   polling where WebSocket fails
 * @property {any} [parser] parser of Socket.IO: `socket.io-msgpack-parser` for msgpack. Default: JSON
 * @property {object | undefined} [socket] more options of socket.io-client: `path`, `extraHeaders`, `withCredentials` …
 * @property {typeof import('socket.io-client').io | undefined} [io] `io` of another build of socket.io-client
 */

/** @typedef {'websocket' | 'polling' | 'shared'} Transport */

/**
 * @typedef {object} OutboxOptions
 * @property {string} user owner of the edits, such as the `sub` of the token. The client never sends edits of another
 *   owner
 * @property {import('../outbox/contract.js').Store | undefined} [store] where the edits are kept. Default:
 *   IndexedDB; memory where the browser has no IndexedDB or no Web Locks, and in Node
 */

/**
 * The callbacks of a connection.
 * @typedef {object} ConnectionEvents
 * @property {() => object} auth fields of the handshake besides the token
 * @property {() => void} onUp
 * @property {() => void} onDown the connection was lost, or an attempt has failed
 * @property {(state: ClientState, reason: ClientError | null) => void} onState
 */

export {}
