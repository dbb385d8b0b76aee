import https from 'node:https'
import { readerOf, setReader, removeReader } from './socket-reader.js'
import { Deadlines } from './deadlines.js'
import { readUpgrade } from './request.js'

/**
 * Looks at the first bytes of each connection before Node's HTTP parser does: what begins a WebSocket in the usual way
 * is taken, everything else goes on to Node as it came.
 *
 * @param {import('http').Server} server new
 * @param {number} patience how long a connection may say nothing, ms: as long as Node's HTTP server waits for a
 *   request's headers
 * @param {(request: import('./request.js').Upgrade, netSocket: import('net').Socket, rest: Buffer) => boolean} take
 *   false: it is for Node
 */
export function readFirstBytes (server, patience, take) {
  const event = server instanceof https.Server ? 'secureConnection' : 'connection'
  const [toNode] = server.listeners(event)
  server.removeAllListeners(event)
  const silent = new Deadlines(patience)

  /** Its request was taken and not answered yet: who goes on talking would have to be kept for that long. */
  const waiting = {
    /** @param {Buffer} _ @param {import('net').Socket} netSocket */
    received (_, netSocket) { netSocket.destroy() },
    ended () {}
  }
  const first = {
    /** @param {Buffer} chunk @param {import('net').Socket} netSocket */
    received (chunk, netSocket) {
      silent.delete(netSocket)
      const upgrade = readUpgrade(chunk, netSocket)
      if (upgrade !== null && take(upgrade.request, netSocket, upgrade.rest)) {
        // it waits for its turn, or was refused
        if (readerOf(netSocket) === first) setReader(netSocket, waiting)
        return
      }
      removeReader(netSocket)
      toNode.call(server, netSocket)
      netSocket.emit('data', chunk)
    },
    /** @param {import('net').Socket} netSocket */
    ended (netSocket) { silent.delete(netSocket) }
  }
  server.on(event, (/** @type {import('net').Socket} */ netSocket) => {
    silent.add(netSocket)
    setReader(netSocket, first)
  })

  // Node's own know only of connections that it was given
  for (const name of /** @type {const} */ (['closeIdleConnections', 'closeAllConnections'])) {
    const close = server[name]
    server[name] = () => {
      silent.end()
      close.call(server)
    }
  }
}
