import http from 'node:http'
import { isHop } from './hop.js'
import { listen, notFound, refuseUpgrade, serveEngine } from './http.js'

/**
 * The listener for other machines: their workers forward requests of our sessions here. It exists only where
 * PEER_HOST is set, and serves nobody else.
 *
 * @param {object} dependencies
 * @param {{ host: string, port: number }} dependencies.address port 0: any free one
 * @param {import('../clock.js').Clock} dependencies.clock
 */
export function createPeerListener ({ address, clock }) {
  /** @type {import('./engine.js').Engine | undefined} */
  let engine
  /** @type {() => readonly string[]} */
  let secrets = () => []
  const server = http.createServer({ requestTimeout: 60_000, keepAliveTimeout: 65_000 })
  serveEngine(server, {
    handleRequest (req, res) {
      if (engine !== undefined && isHop(secrets(), req, clock.now())) engine.handleOwnRequest(req, res)
      else res.writeHead(403).end()
    },
    handleUpgrade (req, socket, head) {
      if (engine !== undefined && isHop(secrets(), req, clock.now())) engine.handleOwnUpgrade(req, socket, head)
      else refuseUpgrade(socket, '403 Forbidden')
    }
  }, notFound)

  return {
    /** @throws {Error} if the port is taken */
    start: () => listen(server, address),
    stop () {
      server.close()
      server.closeAllConnections()
    },
    /**
     * @param {import('./engine.js').Engine} owner
     * @param {() => readonly string[]} shared by all workers
     */
    serve (owner, shared) {
      engine = owner
      secrets = shared
    },
    port () { return /** @type {import('net').AddressInfo} */ (server.address()).port }
  }
}
