import http from 'node:http'
import https from 'node:https'
import { BACKLOG, listen } from '../../base/process/listen.js'
import { endSocket, endSockets, responseOf, serverOptions, TIMES } from '../../base/process/socket-times.js'
import { isProven } from './request-proof.js'
import { notFound, serveEngine } from '../engine/http.js'

/**
 * The listener for workers of other machines, which forward requests of this worker's sessions here. It exists only
 * where PEER_HOST is set.
 *
 * @param {object} dependencies
 * @param {string} dependencies.socketPath config.gateway.socketPath
 * @param {{ host: string, ports: readonly number[] }} dependencies.address the first free port is used; 0: any
 * @param {import('../../config/tls/certificate.js').Certificate} [dependencies.certificate] started; workers must show
 *   one of the
 *   same authorities. Default: no TLS
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../base/process/socket-times.js').Times} [dependencies.times]
 */
export function createPeerListener (
  { socketPath, address: { host, ports }, certificate, metrics, log, clock, times = TIMES }
) {
  /** @type {import('../engine/engine.js').Engine | undefined} */
  let engine
  /** @type {() => readonly string[]} */
  let secrets = () => []
  const server = certificate === undefined
    ? http.createServer(serverOptions(times))
    : https.createServer({
        ...serverOptions(times), ...certificate.serverOptions(), requestCert: true, rejectUnauthorized: true
      })
  if (server instanceof https.Server) certificate?.serve(server)
  endSockets(server, times, clock)
  serveEngine(server, {
    engine: {
      handleRequest (req, res) {
        const owner = engineFor(req)
        if (owner) owner.handleOwnRequest(req, res)
        else res.writeHead(403, { connection: 'close' }).end()
      },
      handleUpgrade (req, socket, head) {
        const owner = engineFor(req)
        if (owner) owner.handleOwnUpgrade(req, socket, head)
        else endSocket(socket, responseOf(403), clock, times.linger)
      }
    },
    socketPath,
    fallback: notFound,
    name: 'peers',
    times,
    log,
    clock
  })

  /**
   * @param {http.IncomingMessage} req
   * @returns {import('../engine/engine.js').Engine | undefined} undefined: the request lacks a valid proof
   */
  function engineFor (req) {
    if (engine !== undefined && isProven(secrets(), req, clock.now())) return engine
    metrics.stray_requests.inc({ result: 'refused' })
    return undefined
  }

  return {
    /** @throws {Error} if all ports are in use */
    async start () {
      for (const [i, port] of ports.entries()) {
        try {
          // exclusive: node:cluster would share one port between all workers, and this port stands for one of them
          return await listen(server, { host, port, exclusive: true }, BACKLOG)
        } catch (error) {
          if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EADDRINUSE' || i === ports.length - 1) throw error
        }
      }
    },
    stop () {
      server.close()
      server.closeAllConnections()
    },
    /**
     * @param {import('../engine/engine.js').Engine} owner
     * @param {() => readonly string[]} shared secrets of all workers
     */
    serve (owner, shared) {
      engine = owner
      secrets = shared
    },
    port () { return /** @type {import('net').AddressInfo} */ (server.address()).port }
  }
}
