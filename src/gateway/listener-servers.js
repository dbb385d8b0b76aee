import net from 'node:net'
import tls from 'node:tls'
import { createListenerGuard } from '../base/process/listener-guard.js'
import { TIMES, timesWithPolls } from '../base/process/socket-times.js'
import { createHttpServer, notFound } from '../transport/engine/http.js'
import { kListener } from '../transport/engine/link.js'
import { answerHealth, isHealth } from './health.js'

/**
 * The servers of a worker: that of PORT, and one for each listener with a port of its own. Those of WebSockets answer
 * `GET /health` as well.
 *
 * @typedef {import('../config/listeners.js').Listener} Listener
 * @typedef {import('./door-contract.js').OtherDoor} OtherDoor
 * @typedef {import('./public-port.js').Server} Server
 * @typedef {import('./public-port.js').Address} Address
 *
 * @typedef {object} ListenerParts
 * @property {import('../config/load.js').Config} config
 * @property {import('../transport/engine/engine.js').Engine} engine
 * @property {OtherDoor[]} doors
 * @property {import('../transport/admission/origin.js').Origins} origins
 * @property {import('../config/tls/certificate.js').Certificate} [certificate] started; default: no TLS
 * @property {() => boolean} isReady the answer of the health route
 * @property {() => boolean} isDraining
 * @property {(req: import('http').IncomingMessage, res: import('http').ServerResponse) => void} fallback handles
 *   requests at PORT that are not for Socket.IO
 *
 * @typedef {object} Servers
 * @property {import('http').Server} main that of PORT
 * @property {Server} adopting gets connections that other workers hand over: these are never encrypted, so it is one
 *   without TLS, if there is any
 * @property {{ address: Address, server: Server }[]} all
 */

/**
 * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock'>} services
 * @param {ListenerParts} parts
 * @returns {Servers} none of them listens
 */
export function createServers (services, parts) {
  const { config: { gateway: { host, port, socketPath, listeners } }, doors, certificate, fallback } = parts
  const main = createHttp(services, parts, {
    socketPath, certificate, fallback, doorOf: among(doors.filter(({ listener }) => listener.port === undefined))
  })
  /** @type {Servers} */
  const servers = { main, adopting: main, all: [{ address: { host, port }, server: main }] }
  for (const listener of listeners) {
    if (listener.port === undefined) continue
    const server = createOwn(services, parts, listener)
    servers.all.push({ address: /** @type {Address} */ (listener), server })
    if (servers.adopting === main && certificate !== undefined && listener.protocol === 'socketio' && !listener.tls)
      servers.adopting = server
  }
  return servers
}

/** @param {OtherDoor[]} doors @returns {import('../transport/engine/http.js').DoorOf} */
const among = (doors) => (req) => doors.find((door) => door.isFor(req))

/**
 * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock'>} services
 * @param {ListenerParts} parts
 * @param {Listener} listener with a port of its own
 * @returns {Server}
 */
function createOwn (services, parts, listener) {
  const { protocol, over, tls: isTls, name } = listener
  const certificate = isTls ? parts.certificate : undefined
  const door = parts.doors.find((one) => one.listener === listener)
  const server = over === 'tcp' && door !== undefined
    ? createTcp(services, door, certificate)
    : createHttp(services, parts, {
        ...(protocol === 'socketio' && { socketPath: parts.config.gateway.socketPath }),
        certificate, fallback: notFound, doorOf: among(door === undefined ? [] : [door])
      })
  server.prependListener(certificate === undefined ? 'connection' : 'secureConnection', (/** @type {any} */ socket) => {
    socket[kListener] = name
  })
  return server
}

/**
 * @param {Pick<import('../observe/services.js').Services, 'log'>} services
 * @param {ListenerParts} parts
 * @param {Pick<Parameters<typeof createHttpServer>[0], 'socketPath' | 'certificate' | 'fallback' | 'doorOf'>} own
 */
const createHttp = ({ log }, { config, engine, origins, isReady, isDraining }, own) => createHttpServer({
  ...own, engine, isDraining, log,
  times: timesWithPolls(config.heartbeat.network),
  fallback (req, res) {
    if (isHealth(req)) answerHealth(req, res, isReady() && !isDraining())
    else if (!origins.refuseHost(req, res)) own.fallback(req, res)
  }
})

/**
 * @param {Pick<import('../observe/services.js').Services, 'log' | 'clock'>} services
 * @param {OtherDoor} door
 * @param {import('../config/tls/certificate.js').Certificate} [certificate]
 */
function createTcp (services, door, certificate) {
  const guard = createListenerGuard({ ...services, name: door.listener.name })
  const accept = guard.connection((socket) => door.accept?.(socket))
  // as those of HTTP, which other slots' sockets are like
  const options = { allowHalfOpen: true, noDelay: true }
  if (certificate === undefined) return net.createServer(options, accept)
  const server = tls.createServer({
    ...options, handshakeTimeout: TIMES.handshake, ...certificate.serverOptions()
  }, accept)
  certificate.serve(server)
  return server
}
