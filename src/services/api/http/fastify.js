import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import { serverOptions } from '../../../base/process/socket-times.js'
import { MAX_ID_BYTES } from '../../../wire/publication.js'
import { MAX_CONNECTIONS } from '../request-limit.js'

const require = createRequire(import.meta.url)
const { fastify } = require('fastify')

const noSchemas = () => { throw new Error('routes of the api have no schemas: see query.js') }

/**
 * The server of the HTTP api, without routes.
 *
 * @param {object} options
 * @param {number} options.maxBytes of a body
 * @param {import('../../../base/process/socket-times.js').Times} options.times
 * @param {import('../../../config/tls/certificate.js').Certificate} [options.certificate]
 * @param {(error: Error, reply: import('fastify').FastifyReply) => void} options.onError answers an error that comes
 *   through no hook
 * @param {(error: any, socket: import('node:net').Socket) => void} options.onBadHttp answers input that is not HTTP
 */
export function createServer ({ maxBytes, times, certificate, onError, onBadHttp }) {
  const server = fastify({
    bodyLimit: maxBytes,
    requestTimeout: times.request,
    connectionTimeout: times.silence,
    keepAliveTimeout: times.keepAlive,
    exposeHeadRoutes: false,
    return503OnClosing: false, // answered as `draining` by a hook
    // an id of 256 bytes is three times as long when every byte is percent-encoded
    routerOptions: { maxParamLength: 3 * MAX_ID_BYTES },
    // no route has one: fastify would load the compilers of schemas
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    frameworkErrors: (error, _request, reply) => onError(error, reply),
    clientErrorHandler: onBadHttp,
    serverFactory: (handler) => {
      const options = serverOptions(times)
      const onRequest = (/** @type {import('node:http').IncomingMessage} */ request, /** @type {any} */ response) => {
        // Node parses what came with the request for which the connection was closed: thousands of small ones in a read
        if (!request.socket.destroyed) handler(request, response)
      }
      return certificate === undefined
        ? http.createServer(options, onRequest)
        // a client certificate that is not valid counts as none, see certificateOf
        : https.createServer({ ...certificate.serverOptions(), ...options }, onRequest)
    }
  })
  server.server.maxConnections = MAX_CONNECTIONS
  certificate?.serve(/** @type {any} */ (server.server))
  // The body stays the bytes it is: it is spliced into packets, and checked by the publish path.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  return server
}
