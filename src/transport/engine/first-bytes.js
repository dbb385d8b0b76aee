import https from 'node:https'
import { readerOf, setReader, removeReader } from './socket-reader.js'
import { Deadlines } from './deadlines.js'
import { readUpgrade } from './request.js'

/**
 * Reads the first bytes of each connection before Node's HTTP parser: a usual WebSocket handshake is handled here,
 * everything else is passed to Node unchanged.
 *
 * @param {import('http').Server} server new
 * @param {object} of the engine and its server
 * @param {number} of.patience timeout for the first bytes, ms: Node's timeout for the headers of a request
 * @param {Deadlines} of.closing
 * @param {ConstructorParameters<typeof Deadlines>[1]} of.clock
 * @param {import('../../base/process/listener-guard.js').ListenerGuard} guard of the server
 * @param {(request: import('./request.js').Upgrade, netSocket: import('net').Socket, rest: Buffer) => boolean} take
 *   false: Node handles it
 */
export function readFirstBytes (server, { patience, closing, clock }, guard, take) {
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
    const upgrade = readUpgrade(chunk, netSocket)
    if (upgrade !== null && take(upgrade.request, netSocket, upgrade.rest)) {
      // The handshake is queued, or was refused.
      if (readerOf(netSocket) === first) setReader(netSocket, waiting)
      return
    }
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
  server.on(event, (/** @type {import('net').Socket} */ netSocket) => {
    silent.add(netSocket)
    setReader(netSocket, first)
  })

  // Node's own methods know only the connections that were passed to it.
  for (const name of /** @type {const} */ (['closeIdleConnections', 'closeAllConnections'])) {
    const close = server[name]
    server[name] = () => {
      silent.end()
      close.call(server)
    }
  }
}
