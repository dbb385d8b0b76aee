import http from 'node:http'
import { RELEASE } from '../engine/request.js'
import { notFound, readUsual, serveEngine } from '../engine/http.js'
import { onSocketFile } from '../../base/process/socket-file.js'
import { endSockets, serverOptions } from '../../base/process/socket-times.js'
import { isProven } from './request-proof.js'

/**
 * The unix socket on which other workers of this machine forward requests of this worker's sessions. The bytes of many
 * clients come over the same connections, so nothing is served here that a client may not ask for: commands have a
 * socket of their own (src/operate/admin/private-listener.js), and the release of a session needs the proof of a
 * worker.
 *
 * @param {object} dependencies
 * @param {string} dependencies.path of the socket
 * @param {string} dependencies.socketPath config.gateway.socketPath
 * @param {import('../engine/engine.js').Engine} dependencies.engine
 * @param {() => readonly string[]} dependencies.secrets shared by all workers
 * @param {import('../../base/process/socket-times.js').Times} dependencies.times
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 * @param {import('../../base/common/clock.js').Clock} dependencies.clock
 */
export function createSessionListener ({ path, socketPath, engine, secrets, times, metrics, log, clock }) {
  // other workers keep their connections for 30 s
  const server = http.createServer(serverOptions(times))
  endSockets(server, times, clock)
  const guard = serveEngine(server, {
    engine: {
      handleRequest (req, res) {
        if (req.method !== RELEASE || isProven(secrets(), req, clock.now())) return engine.handleOwnRequest(req, res)
        metrics.stray_requests.inc({ result: 'refused' })
        res.writeHead(403, { connection: 'close' }).end()
      },
      handleUpgrade: (req, socket, head) => engine.handleOwnUpgrade(req, socket, head)
    },
    socketPath,
    fallback: notFound,
    name: 'sessions',
    times,
    log,
    clock
  })

  readUsual(server, { engine, guard, socketPath, isDraining: () => false, times }, {
    request: (req, res) => engine.handleOwnRequest(req, res),
    upgrade: () => false,
    upgradeSession: guard.upgrade((request, netSocket, rest) => engine.handleOwnUpgrade(request, netSocket, rest))
  })
  return onSocketFile(server, path)
}
