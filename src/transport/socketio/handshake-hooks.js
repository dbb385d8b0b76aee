/**
 * Private parts of Socket.IO that handshakes use (all private parts: docs/internals/hooks.md).
 */

/**
 * Gives a socket its id before it is connected.
 * @param {import('socket.io').Socket} socket
 * @param {string} id
 */
export function assignId (socket, id) {
  const waiting = /** @type {any} */ (socket.nsp)._preConnectSockets
  waiting.delete(socket.id)
  // Only the types say that `id` is read-only.
  Object.assign(socket, { id })
  waiting.set(id, socket)
}

/** The handshake of an admitted connection where there are no extensions. */
const FORGOTTEN = Object.freeze({ headers: Object.freeze({}), query: Object.freeze({}), auth: Object.freeze({}) })

/**
 * Drops data that only admission needs: the request, and the handshake with the token.
 * https://socket.io/docs/v4/memory-usage/
 * @param {any} socket Socket.IO's
 */
export function forgetHandshake (socket) {
  socket.handshake = FORGOTTEN
  socket.conn.request = null
}

/**
 * Keeps the parts of the handshake that extensions may read, without the token, and the parts of the request that other
 * namespaces of the client need.
 * @param {any} socket Socket.IO's
 */
export function keepHandshake (socket) {
  const { conn } = socket
  const { headers, query, url, address, time, issued, xdomain, secure, auth } = socket.handshake
  const rest = { ...auth }
  delete rest.token
  socket.handshake = { headers, query, url, address, time, issued, xdomain, secure, auth: rest }
  if (conn.request !== null && !(conn.request instanceof KeptRequest)) conn.request = new KeptRequest(conn.request)
}

/** The kept part of a request. */
class KeptRequest {
  /** @param {any} request Node's */
  constructor ({ headers, url, method, _query, socket }) {
    this.headers = headers
    this.url = url
    this.method = method
    this._query = _query
    this.socket = this.connection = { remoteAddress: socket?.remoteAddress, encrypted: socket?.encrypted }
  }
}

/**
 * Makes a middleware the first one of a namespace, even if a parent namespace has given it others.
 * @param {any} namespace Socket.IO's
 * @param {Function} middleware
 */
export const runFirst = (namespace, middleware) => namespace._fns.unshift(middleware)

/**
 * Keeps a dynamic namespace while clients are connecting to it. Socket.IO removes it when a client leaves or is refused
 * and no other is connected: a client that was still in a middleware would end up in a namespace that is gone.
 * @param {any} namespace Socket.IO's
 */
export function keepWhileConnecting (namespace) {
  // Only dynamic namespaces have their own.
  if (!Object.hasOwn(namespace, '_remove')) return
  const remove = namespace._remove
  namespace._remove = (/** @type {import('socket.io').Socket} */ socket) => {
    namespace._preConnectSockets.delete(socket.id)
    if (namespace._preConnectSockets.size === 0) remove(socket)
    else namespace.sockets.delete(socket.id)
  }
}
