import http from 'node:http'
import https from 'node:https'
import { endSocket, endSockets, responseOf, serverOptions, TIMES } from '../process/socket-times.js'
import { readFirstBytes } from './first-bytes.js'

/**
 * The HTTP server in front of Engine.IO. The engine serves the Socket.IO path, `fallback` everything else (the demo in
 * development).
 *
 * @param {object} options
 * @param {import('./engine.js').Engine} options.engine
 * @param {(req: http.IncomingMessage, res: http.ServerResponse) => void} options.fallback
 * @param {import('../tls/certificate.js').Certificate} [options.certificate] started; default: no TLS
 * @param {() => boolean} options.isDraining a draining server closes each connection after its response
 * @param {import('../process/socket-times.js').Times} [options.times]
 * @returns {http.Server | https.Server}
 */
export function createHttpServer ({ engine, fallback, certificate, isDraining, times = TIMES }) {
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
  endSockets(server, times)
  serveEngine(server, engine, fallback, times)
  if (engine.usesEngineSocket)
    readFirstBytes(
      server,
      times.headers,
      (request, netSocket, rest) => request.url.startsWith(PATH) && engine.takeWebSocket(request, netSocket, rest)
    )
  return server
}

const PATH = '/socket.io/'

/**
 * @param {http.Server} server
 * @param {{ handleRequest: (req: any, res: any) => void, handleUpgrade: (req: any, socket: any, head: Buffer) => void
 *   }} engine
 * @param {(req: http.IncomingMessage, res: http.ServerResponse) => void} fallback
 * @param {import('../process/socket-times.js').Times} [times]
 */
export function serveEngine (server, engine, fallback, times = TIMES) {
  server.on('request', (req, res) => {
    if (req.url?.startsWith(PATH)) engine.handleRequest(req, res)
    else fallback(req, res)
  })
  server.on('upgrade', (req, socket, head) => {
    if (req.url?.startsWith(PATH)) engine.handleUpgrade(req, socket, head)
    else endSocket(socket, responseOf(404), times.linger)
  })
}

/** @param {http.IncomingMessage} _req @param {http.ServerResponse} res */
export function notFound (_req, res) {
  res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
}
