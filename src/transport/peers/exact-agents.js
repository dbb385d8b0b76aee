import http from 'node:http'
import https from 'node:https'

/**
 * Agents that use a connection again only if its last request and answer ended exactly. A byte more in either direction
 * would become the answer to another client's request.
 */

/**
 * Bytes that answer no request.
 * @this {import('node:net').Socket}
 */
function refuseBytes () { this.destroy() }

/** @param {any} socket of a request whose answer has ended @returns {boolean} */
function endedExactly (socket) {
  const { _httpMessage: request } = socket
  return request.writableFinished && request.res?.complete === true && socket.readableLength === 0
}

/** @param {typeof http.Agent} Agent @returns {typeof http.Agent} */
const exact = (Agent) => class extends Agent {
  /** @override @param {any} socket @returns {any} whether it may be kept */
  keepSocketAlive (socket) {
    if (!endedExactly(socket) || !(/** @type {any} */ (super.keepSocketAlive(socket)))) return false
    socket.on('data', refuseBytes)
    return true
  }

  /** @override @param {any} socket @param {any} request */
  reuseSocket (socket, request) {
    socket.off('data', refuseBytes)
    super.reuseSocket(socket, request)
  }
}

export const ExactAgent = exact(http.Agent)
export const ExactSecureAgent = /** @type {typeof https.Agent} */ (
  /** @type {unknown} */ (exact(/** @type {typeof http.Agent} */ (/** @type {unknown} */ (https.Agent))))
)
