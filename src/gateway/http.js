import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { readFirstBytes } from './websocket/first-bytes.js'

/**
 * The HTTP server in front of Engine.IO. Everything under the Socket.IO path is the engine's, everything else
 * `fallback`'s (the demo in development).
 *
 * @param {object} options
 * @param {import('./engine.js').Engine} options.engine
 * @param {(req: http.IncomingMessage, res: http.ServerResponse) => void} options.fallback
 * @param {{ certFile: string, keyFile: string }} [options.tls]
 * @param {() => boolean} options.isDraining from then on no connection is kept for another request
 * @returns {http.Server | https.Server}
 */
export function createHttpServer ({ engine, fallback, tls, isDraining }) {
  class Response extends http.ServerResponse {
    /** @override @param {[any, any]} args */
    writeHead (...args) {
      if (isDraining()) this.shouldKeepAlive = false
      return super.writeHead(...args)
    }
  }
  const settings = { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 65_000, ServerResponse: Response }
  const server = tls === undefined
    ? http.createServer(settings)
    : https.createServer({ ...settings, cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) })
  serveEngine(server, engine, fallback)
  if (engine.direct) readFirstBytes(server, (request, netSocket, rest) => request.url.startsWith(PATH) && engine.takeWebSocket(request, netSocket, rest))
  return server
}

const PATH = '/socket.io/'

/**
 * @param {http.Server} server
 * @param {{ handleRequest: (req: any, res: any) => void, handleUpgrade: (req: any, socket: any, head: Buffer) => void }} engine
 * @param {(req: http.IncomingMessage, res: http.ServerResponse) => void} fallback
 */
export function serveEngine (server, engine, fallback) {
  server.on('request', (req, res) => {
    if (req.url?.startsWith(PATH)) engine.handleRequest(req, res)
    else fallback(req, res)
  })
  server.on('upgrade', (req, socket, head) => {
    if (req.url?.startsWith(PATH)) engine.handleUpgrade(req, socket, head)
    else refuseUpgrade(socket, '404 Not Found')
  })
  // what is not HTTP at all
  server.on('clientError', (error, socket) => {
    // nothing may be written into the middle of an answer
    const answering = /** @type {{ _httpMessage?: { headersSent: boolean } }} */ (/** @type {unknown} */ (socket))._httpMessage?.headersSent
    if (socket.writable && !answering) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
    else socket.destroy(error)
  })
}

/** @param {import('stream').Duplex} socket @param {string} status */
export function refuseUpgrade (socket, status) {
  // Node has taken its own listener off, and a client that resets would end the process
  socket.on('error', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

/** @param {http.IncomingMessage} _req @param {http.ServerResponse} res */
export function notFound (_req, res) {
  res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
}

/** The kernel's own limit (net.core.somaxconn) applies as well. */
export const BACKLOG = 4096

/**
 * @param {import('http').Server} server
 * @param {{ host?: string, port?: number, path?: string }} address
 * @returns {Promise<void>}
 */
export function listen (server, address) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...address, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
