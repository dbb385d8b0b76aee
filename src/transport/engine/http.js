import http from 'node:http'
import https from 'node:https'
import { createListenerGuard } from '../../base/process/listener-guard.js'
import { endSocket, endSockets, responseOf, serverOptions, TIMES } from '../../base/process/socket-times.js'
import { readFirstBytes } from './first-bytes.js'
import { asksForWebSocket, createIgnoredUpgrades } from './ignored-upgrades.js'
import { kListener } from './link.js'
import { upgradesSession } from './request.js'
import { UsualRequests } from './usual-requests.js'

/**
 * A door for WebSockets of another protocol at the same port.
 * @typedef {object} OtherDoor
 * @property {{ name: string }} listener
 * @property {(request: { url?: string }) => boolean} isFor
 * @property {Parameters<typeof readFirstBytes>[3]['upgrade']} take
 * @property {(req: any, socket: any, head: Buffer) => void} handleUpgrade
 *
 * @callback DoorOf
 * @param {{ url?: string }} request
 * @returns {OtherDoor | undefined} undefined: none is for it
 */

/**
 * The HTTP server in front of Engine.IO. The engine serves the Socket.IO path, `fallback` everything else (the demo in
 * development).
 *
 * @param {object} options
 * @param {import('./engine.js').Engine} options.engine
 * @param {string} [options.socketPath] config.gateway.socketPath; absent: Socket.IO is not served here
 * @param {(req: http.IncomingMessage, res: http.ServerResponse) => void} options.fallback
 * @param {DoorOf} [options.doorOf] default: no other doors
 * @param {import('../../config/tls/certificate.js').Certificate} [options.certificate] started; default: no TLS
 * @param {import('../../base/common/log.js').Log} options.log
 * @param {() => boolean} options.isDraining a draining server closes each connection after its response
 * @param {import('../../base/process/socket-times.js').Times} [options.times]
 * @returns {http.Server | https.Server}
 */
export function createHttpServer (options) {
  const { engine, socketPath, fallback, doorOf, certificate, isDraining, times = TIMES, log } = options
  class Response extends http.ServerResponse {
    /** @override @param {[any, any]} args */
    writeHead (...args) {
      if (isDraining()) this.shouldKeepAlive = false
      return super.writeHead(...args)
    }
  }
  const settings = { ...serverOptions(times), ServerResponse: Response }
  const server = certificate === undefined
    ? http.createServer(settings)
    : https.createServer({ ...settings, ...certificate.serverOptions(), ALPNProtocols: ['http/1.1'] })
  if (server instanceof https.Server) certificate?.serve(server)
  const { clock } = engine
  endSockets(server, times, clock)
  const guard = serveEngine(server, { engine, socketPath, fallback, doorOf, name: 'gateway', times, log, clock })
  readUsual(server, { engine, guard, socketPath, isDraining, times, doorOf }, {
    request: (req, res) => engine.handleRequest(req, res),
    upgrade: (request, netSocket, rest) => engine.takeWebSocket(request, netSocket, rest),
    upgradeSession: guard.upgrade((request, netSocket, rest) => engine.handleUpgrade(request, netSocket, rest))
  })
  return server
}

/**
 * Handles what usual clients send without Node's HTTP parser (first-bytes.js).
 *
 * @param {http.Server} server of `serveEngine`
 * @param {object} of
 * @param {import('./engine.js').Engine} of.engine
 * @param {import('../../base/process/listener-guard.js').ListenerGuard} of.guard of `serveEngine`
 * @param {string} [of.socketPath]
 * @param {() => boolean} of.isDraining
 * @param {import('../../base/process/socket-times.js').Times} of.times
 * @param {DoorOf} [of.doorOf]
 * @param {object} handle
 * @param {(req: any, res: any) => void} handle.request
 * @param {Parameters<typeof readFirstBytes>[3]['upgrade']} handle.upgrade of a request for Socket.IO's path
 * @param {Parameters<typeof readFirstBytes>[3]['upgradeSession']} handle.upgradeSession
 */
export function readUsual (server, { engine, guard, socketPath, isDraining, times, doorOf = noDoor }, handle) {
  const { request, upgrade, upgradeSession } = handle
  const { closing, clock } = engine
  const isEngines = isBelow(socketPath)
  readFirstBytes(server, { patience: times.headers, closing, clock }, guard, {
    requests: new UsualRequests({ times, isDraining, closing, clock }, guard.request(request)),
    isTaken: (req) => isEngines(req) && engine.takesUsual,
    upgrade: (req, netSocket, rest) => isEngines(req)
      ? upgrade(req, netSocket, rest)
      : through(doorOf(req), netSocket)?.take(req, netSocket, rest) ?? false,
    isSessions: (req) => isEngines(req) && engine.takesUsual && upgradesSession(req),
    upgradeSession
  })
}

/**
 * @param {string} [socketPath] with a slash at its end; absent: Socket.IO is not served here
 * @returns {(req: { url?: string }) => boolean} whether a request's path is that of Socket.IO, with or without
 *   (`addTrailingSlash: false`) the last slash
 */
function isBelow (socketPath) {
  if (socketPath === undefined) return () => false
  const path = socketPath.slice(0, -1)
  return ({ url = '' }) => {
    if (!url.startsWith(path)) return false
    const next = url[path.length]
    return next === '/' || next === '?' || next === undefined
  }
}

/** Methods whose requests have no body; one that has was used to smuggle another request in it. */
const WITHOUT_BODY = ['GET', 'OPTIONS']

/** @param {http.IncomingMessage} req @returns {boolean} whether it has a body that its method does not have */
const hasStrayBody = ({ method = '', headers }) =>
  WITHOUT_BODY.includes(method) &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0)

/** @type {DoorOf} */
const noDoor = () => undefined

/**
 * @param {OtherDoor | undefined} door
 * @param {any} netSocket that uses it
 * @returns {OtherDoor | undefined} the same
 */
function through (door, netSocket) {
  if (door !== undefined) netSocket[kListener] = door.listener.name
  return door
}

/**
 * Serves requests and WebSockets of Engine.IO.
 *
 * @param {http.Server} server new
 * @param {object} options
 * @param {{ handleRequest: (req: any, res: any) => void, handleUpgrade: (req: any, socket: any, head: Buffer) => void
 *   }} options.engine
 * @param {string} [options.socketPath] config.gateway.socketPath
 * @param {(req: http.IncomingMessage, res: http.ServerResponse) => void} options.fallback for other paths
 * @param {DoorOf} [options.doorOf]
 * @param {string} options.name of the listener, for the log
 * @param {import('../../base/process/socket-times.js').Times} [options.times]
 * @param {import('../../base/common/log.js').Log} options.log
 * @param {import('../../base/common/clock.js').Clock} options.clock
 * @returns {import('../../base/process/listener-guard.js').ListenerGuard}
 */
export function serveEngine (server, options) {
  const { engine, socketPath, fallback, doorOf = noDoor, name, times = TIMES, log, clock } = options
  const isEngines = isBelow(socketPath)
  const guard = createListenerGuard({ name, log, clock })
  const ignoreUpgrade = createIgnoredUpgrades(server)
  server.on('request', guard.request((req, res) => {
    if (!isEngines(req)) return fallback(req, res)
    if (!hasStrayBody(req)) return engine.handleRequest(req, res)
    res.writeHead(400, { 'content-type': 'application/json', connection: 'close' }).end(STRAY_BODY)
  }))
  server.on('upgrade', guard.upgrade((req, socket, head) => {
    const handler = isEngines(req) ? engine : through(doorOf(req), socket)
    if (!asksForWebSocket(req)) ignoreUpgrade(req, socket, head)
    else if (handler === undefined) endSocket(socket, responseOf(404), clock, times.linger)
    else if (hasStrayBody(req)) endSocket(socket, responseOf(400, STRAY_BODY), clock, times.linger)
    else handler.handleUpgrade(req, socket, head)
  }))
  return guard
}

/** In the form of Engine.IO's own answers. */
const STRAY_BODY = '{"code":3,"message":"Bad request: GET and OPTIONS have no body"}'

/** @param {http.IncomingMessage} _req @param {http.ServerResponse} res */
export function notFound (_req, res) {
  res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
}
