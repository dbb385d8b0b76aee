import https from 'node:https'
import { readerOf, setReader, removeReader } from './socket-reader.js'
import { Deadlines } from './deadlines.js'
import { readRequest } from './request.js'

/**
 * Reads the first bytes of each connection before Node's HTTP parser, and of each further request of a connection whose
 * requests were usual: a usual WebSocket handshake and usual requests of polling clients are handled here, everything
 * else is passed to Node unchanged.
 *
 * @param {import('http').Server} server new
 * @param {object} of the engine and its server
 * @param {number} of.patience timeout for the first bytes, ms: Node's timeout for the headers of a request
 * @param {Deadlines} of.closing
 * @param {ConstructorParameters<typeof Deadlines>[1]} of.clock
 * @param {import('../../base/process/listener-guard.js').ListenerGuard} guard of the server
 * @param {object} take
 * @param {import('./usual-requests.js').UsualRequests} take.requests
 * @param {(request: any) => boolean} take.isTaken whether a usual request is handled by `requests`; false: by Node
 * @param {(request: import('./request.js').Upgrade, netSocket: import('net').Socket, rest: Buffer) => boolean
 *   } take.upgrade false: Node handles it
 * @param {(request: import('./request.js').Upgrade) => boolean} take.isSessions whether it is an upgrade of a session
 *   that `upgradeSession` handles
 * @param {(request: any, netSocket: import('net').Socket, rest: Buffer) => void} take.upgradeSession
 */
export function readFirstBytes (server, { patience, closing, clock }, guard, take) {
  const { requests, isTaken, upgrade, isSessions, upgradeSession } = take
  const event = server instanceof https.Server ? 'secureConnection' : 'connection'
  const [toNode] = server.listeners(event)
  server.removeAllListeners(event)
  const silent = new Deadlines(patience, clock)

  /** The handshake is queued or refused: a client that sends more bytes would need a buffer, so it is disconnected. */
  const waiting = {
    /** @param {Buffer} _ @param {import('net').Socket} netSocket */
    received (_, netSocket) { netSocket.destroy() },
    ended () {},
    closing
  }
  const read = guard.connection((netSocket, /** @type {Buffer} */ chunk) => {
    const found = readRequest(chunk, netSocket)
    if (found !== null && 'rest' in found) {
      const reader = readerOf(netSocket)
      if (upgrade(found.request, netSocket, found.rest)) {
        // The handshake is queued, or was refused.
        if (readerOf(netSocket) === reader) setReader(netSocket, waiting)
        return
      }
      if (isSessions(found.request)) {
        removeReader(netSocket)
        return upgradeSession(found.request, netSocket, found.rest)
      }
    } else if (found !== null && isTaken(found.request)) return requests.take(found.request, netSocket)
    removeReader(netSocket)
    toNode.call(server, netSocket)
    netSocket.emit('data', chunk)
  })
  const first = {
    /** @param {Buffer} chunk @param {import('net').Socket} netSocket */
    received (chunk, netSocket) {
      silent.delete(netSocket)
      read(netSocket, chunk)
    },
    /** @param {import('net').Socket} netSocket */
    ended (netSocket) { silent.delete(netSocket) },
    closing
  }
  requests.readNextWith({
    /** @param {Buffer} chunk @param {import('net').Socket} netSocket */
    received (chunk, netSocket) {
      requests.begun(netSocket)
      read(netSocket, chunk)
    },
    /** @param {import('net').Socket} netSocket */
    ended (netSocket) { requests.begun(netSocket) },
    closing
  })
  server.on(event, (/** @type {import('net').Socket} */ netSocket) => {
    silent.add(netSocket)
    setReader(netSocket, first)
  })

  // Node's own methods know only the connections that were passed to it.
  for (const name of /** @type {const} */ (['closeIdleConnections', 'closeAllConnections'])) {
    const close = server[name]
    server[name] = () => {
      silent.end()
      if (name === 'closeAllConnections') requests.endAll()
      else requests.endIdle()
      close.call(server)
    }
  }
}
