import http from 'node:http'
import https from 'node:https'
import { fastify } from 'fastify'
import { ERRORS, InkcastError } from '../../../base/common/errors.js'
import { FairReads } from '../../../documents/fair-reads.js'
import { leavePort } from '../../../base/process/leave-port.js'
import { closePipelined } from '../../../base/process/pipelined.js'
import { TIMES as SOCKET_TIMES, serverOptions } from '../../../base/process/socket-times.js'
import { HEADER, newTraceId } from '../../../wire/headers.js'
import { MAX_ID_BYTES } from '../../../wire/publication.js'
import { MAX_CONNECTIONS, requestLimitFor } from '../request-limit.js'
import { answerBadHttp, errorAnswer, translateError } from './errors.js'
import { Exchanges } from './exchanges.js'
import { bodySize, checkBodyHeaders, checkHeaderNames, checkIds, headerText, setHeader, withinTime } from './request.js'
import { operations } from '../operations/index.js'
import { runOperation } from '../operations/run.js'
import { certificateOf } from '../client-certificate.js'
import { openapi } from './openapi.js'

/** @typedef {import('fastify').FastifyRequest} Request */
/** @typedef {import('fastify').FastifyReply} Reply */
/** @typedef {import('../callers/caller.js').Caller} Caller */
/** @typedef {{ caller: Caller, permit: import('../request-limit.js').Permit }} Admitted */
/** @typedef {import('./exchanges.js').Exchange} Exchange */

/**
 * Requests without a token that may wait on a connection for the answer before. A connection with more is closed: Node
 * would keep all of their answers until the client reads the first one.
 */
const MAX_PIPELINED = 1
/** Statuses of failures, which an alert counts: their series begin at 0. */
const FAILURES = [...new Set(Object.values(ERRORS).map(({ status }) => status).filter((status) => status >= 500))]

/** ms */
const TIMES = {
  ...SOCKET_TIMES,
  /** for the operation: longer than the bus or Kafka needs to fail */
  operation: 30_000,
  /** for callers that keep a connection to find another process */
  leave: 500,
  /** for requests in work when the server stops */
  stop: 10_000
}

/**
 * The HTTP door for business services.
 *
 * @param {object} dependencies
 * @param {Readonly<{ host: string, port: number }>} dependencies.settings config.api
 * @param {Readonly<{ maxRecordBytes: number }>} dependencies.limits config.limits
 * @param {import('../callers/callers.js').Callers} dependencies.callers started
 * @param {import('../publish.js').Publish} dependencies.publish
 * @param {import('../publish-lane.js').PublishLane} dependencies.publishLane
 * @param {Pick<import('../../../log/bus/contract.js').Bus, 'positions' | 'history' | 'cut'>} dependencies.bus
 * @param {Pick<import('../../../people/presence/contract.js').PresenceStore, 'page'>} dependencies.presence
 * @param {import('../operations/operation.js').Call['sessions']} dependencies.sessions
 * @param {import('../operations/operation.js').Call['overview']} dependencies.overview
 * @param {import('../../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../../observe/metrics/metrics.js').Metrics, 'api_requests' | 'api_request_seconds'>}
 *   dependencies.metrics
 * @param {import('../../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../wire/headers.js').TraceIdSource} dependencies.random
 * @param {import('../../../config/tls/certificate.js').Certificate} [dependencies.certificate] started; default: no TLS
 * @param {import('./reference.js').AddReference} [dependencies.addReference] the page `/docs/`; default: there is none
 * @param {Partial<typeof TIMES>} [times] for tests
 */
export function createHttpApi (
  {
    settings,
    limits: { maxRecordBytes },
    callers, publish, publishLane, bus, presence, sessions, overview, log, metrics, clock, random, certificate,
    addReference
  },
  times
) {
  const allTimes = { ...TIMES, ...times }
  const { operation: operationTimeout, stop: stopTimeout, leave: leaveTime } = allTimes
  const requestLimit = requestLimitFor(maxRecordBytes)
  const reads = new FairReads()
  const exchanges = new Exchanges()
  /** @type {WeakMap<Request, Admitted>} */
  const admitted = new WeakMap()
  let leaving = false
  let stopping = false

  const server = fastify({
    bodyLimit: maxRecordBytes,
    requestTimeout: allTimes.request,
    connectionTimeout: allTimes.silence,
    keepAliveTimeout: allTimes.keepAlive,
    exposeHeadRoutes: false,
    return503OnClosing: false, // answered as `draining` below
    // an id of 256 bytes is three times as long when every byte is percent-encoded
    routerOptions: { maxParamLength: 3 * MAX_ID_BYTES },
    // the schemas are our own: checking them compiles the schema of schemas, 40 ms at each start
    ajv: {
      customOptions: {
        removeAdditional: false, coerceTypes: true, useDefaults: true, meta: false, validateSchema: false
      }
    },
    // neither of these two comes through the hooks below
    frameworkErrors (error, _request, reply) {
      sendError(reply, error)
      metrics.api_requests.inc({ operation: 'unknown', status: reply.statusCode })
    },
    clientErrorHandler (error, socket) {
      const status = answerBadHttp(error, socket, clock, allTimes.linger)
      if (status !== null) metrics.api_requests.inc({ operation: 'unknown', status })
    },
    serverFactory: (handler) => {
      const options = serverOptions(allTimes)
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

  server.addHook('onRequest', async (request, reply) => {
    const exchange = exchanges.begin(request.raw.socket, reply.raw)
    countWhenOver(request, reply, exchange)
    reply.header('cache-control', 'no-store')
    if (stopping) throw new InkcastError('draining')
    // RFC 9112, 3.2; Node's own answer to that has no body
    if (request.headers.host === undefined) throw new InkcastError('bad_request', 'the header host is missing')
    if (exchange.pipelined > 0 && callers.needToken && hasNoCredential(request)) await takeTurn(request, exchange)
    const found = whoCalls(request)
    const caller = found instanceof Promise ? await found : found
    if (caller !== undefined) callers.rates.checkDebt(caller.name)
    if (request.is404) throw notFound()
    const { maxBytes = maxRecordBytes, takesBody, hasHeaders } =
      /** @type {{ maxBytes?: number, takesBody?: boolean, hasHeaders?: boolean }} */ (request.routeOptions.config)
    if (hasHeaders) checkHeaderNames(request.headers)
    if (takesBody) checkBodyHeaders(request.headers)
    // what anybody may read was made once: it holds nothing that callers need
    if (caller === undefined) return
    const permit = requestLimit.enter(bodySize(request.headers, maxBytes), caller.name)
    exchange.ended.then(() => permit.release())
    admitted.set(request, { caller, permit })
  })
  // while the body arrived, other requests of the caller may have been refused
  server.addHook('preHandler', async (request) => {
    const caller = admitted.get(request)?.caller
    if (caller !== undefined) callers.rates.checkDebt(caller.name)
  })
  server.addHook('onSend', async (_request, reply) => {
    if (leaving) reply.header('connection', 'close')
  })
  server.setErrorHandler((error, _request, reply) => sendError(reply, error))
  server.setNotFoundHandler((_request, reply) => sendError(reply, notFound()))

  const description = Buffer.from(JSON.stringify(openapi(operations, { maxRecordBytes })))
  server.get('/openapi.json', { config: { operation: 'openapi', open: true } }, async (_request, reply) =>
    reply.type(JSON_TYPE).send(description))
  addReference?.(server)
  for (const entry of operations) {
    const { method, path, operation, query, body, answer: fields } = entry
    const maxBytes = entry.maxBytes?.(maxRecordBytes)
    const takesBody = body !== undefined
    for (const status of FAILURES) metrics.api_requests.inc({ operation, status }, 0)
    server.route({
      method,
      url: path,
      config: /** @type {any} */ ({ operation, maxBytes, takesBody, hasHeaders: entry.headers !== undefined }),
      ...(maxBytes !== undefined && { bodyLimit: maxBytes }),
      schema:
        query === undefined ? {} : { querystring: { type: 'object', properties: query, additionalProperties: false } },
      async handler (request, reply) {
        const { caller, permit } = /** @type {Admitted} */ (admitted.get(request))
        const running = runOperation(entry, {
          params: checkIds(/** @type {Record<string, string>} */ (request.params)),
          query: request.query,
          header: (name) => headerText(request.headers, name),
          body: /** @type {Buffer | null | undefined} */ (request.body) ?? undefined,
          now: clock.now(),
          random,
          answerHeader: (name, value) => setHeader(reply, name, value),
          answering: (bytes) => permit.answer(bytes),
          maxRecordBytes,
          publish,
          publishLane,
          bus: reads.of(bus, caller.name),
          presence,
          sessions,
          overview
        }, { callers, caller })
        permit.hold()
        running.catch(() => {}).finally(() => permit.release())
        const answer = await withinTime(running, operationTimeout, clock)
        const bytes = Buffer.isBuffer(answer) ? answer : Buffer.from(JSON.stringify(answer))
        // until the caller has read it
        permit.answer(bytes.length)
        return reply.code(fields === undefined ? 202 : 200).type(JSON_TYPE).send(bytes)
      }
    })
  }

  for (const [path, methods] of methodsByPath(operations)) {
    server.route({
      method: METHODS.filter((method) => !methods.includes(method)),
      url: path,
      config: { operation: 'unknown' },
      handler ({ method }, reply) {
        reply.header('allow', methods.join(', '))
        throw new InkcastError('method_not_allowed', `this route has ${methods.join(' and ')}, not ${method}`)
      }
    })
  }

  /**
   * @param {Request} request
   * @returns {Caller | undefined | Promise<Caller>} undefined: anybody, for the description
   */
  function whoCalls (request) {
    // The description is not secret, and tools that read it rarely send a token.
    if (callers.needToken && /** @type {{ open?: boolean }} */ (request.routeOptions.config).open) return undefined
    return callers.identify({
      authorization: request.headers.authorization,
      certificate: certificateOf(request.socket),
      address: request.socket.remoteAddress,
      headers: request.headers
    })
  }

  /** @param {Request} request */
  function hasNoCredential ({ headers, socket }) {
    return headers.authorization === undefined && certificateOf(socket) === undefined
  }

  /**
   * One answer at a time.
   * @param {Request} request
   * @param {Exchange} exchange
   */
  async function takeTurn ({ raw: { socket } }, { pipelined, before }) {
    if (pipelined <= MAX_PIPELINED) await before
    else closePipelined(socket)
    if (socket.destroyed) throw new InkcastError('bad_request', 'the connection has ended')
  }

  /** @param {Request} request @param {Reply} reply @param {Exchange} exchange */
  function countWhenOver (request, reply, { ended }) {
    const { operation = 'unknown' } = /** @type {{ operation?: string }} */ (request.routeOptions.config ?? {})
    const began = clock.monotonic()
    ended.then(() => {
      const caller = admitted.get(request)?.caller.name ?? 'unknown'
      metrics.api_request_seconds.labels(operation, caller, 'http').observe((clock.monotonic() - began) / 1000)
      // 499, as in nginx: the caller disconnected before the answer
      metrics.api_requests.inc({ operation, status: reply.raw.writableFinished ? reply.raw.statusCode : 499 })
    })
  }

  /** @param {Reply} reply @param {unknown} thrown */
  function sendError (reply, thrown) {
    const error = translateError(thrown)
    const { status, body } = errorAnswer(error)
    if (body.error.code === 'internal') {
      const traceId = String(reply.getHeader(HEADER.traceId) ?? newTraceId(random))
      setHeader(reply, HEADER.traceId, traceId)
      log.error({ err: error, traceId }, 'a request of the api failed')
    }
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    const { code, retryInMs } = body.error
    if (retryInMs !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryInMs / 1000))))
    else if (status === 503 || code === 'request_in_progress') reply.header('retry-after', '1')
    reply.code(status).type(JSON_TYPE).send(body)
  }

  return {
    /** @throws {Error} if the port is taken */
    async start () {
      await server.listen({ host: settings.host, port: settings.port })
      log.info({ host: settings.host, port: this.port() }, 'api listens')
    },

    /**
     * Call it before `stop` if another process listens at the same port: no new connections are accepted, requests on
     * open ones are answered, and the answers close them. So busy callers move to the other process without a lost
     * request.
     */
    async leave () {
      leaving = true
      await Promise.all([leavePort(server.server), clock.sleep(leaveTime)])
    },

    /** Refuses new requests, and lets those in progress finish for at most 10 s. */
    async stop () {
      leaving = stopping = true
      // Node closes only connections that are idle now; a refused body is read to its end first, so repeat
      const idle = clock.every(50, () => server.server.closeIdleConnections())
      const late = clock.timer(stopTimeout, () => server.server.closeAllConnections())
      await server.close().finally(() => {
        idle.stop()
        late.stop()
      })
    },

    /** @returns {number} the port it listens on */
    port () {
      return /** @type {import('node:net').AddressInfo} */ (server.server.address()).port
    },

    /** @returns {number} requests in work, those included whose caller has gone away */
    inWork: () => requestLimit.requests
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** @param {readonly import('../operations/operation.js').Operation[]} operations */
function methodsByPath (operations) {
  /** @type {Map<string, string[]>} */
  const byPath = new Map([['/openapi.json', ['GET']]])
  for (const { path, method } of operations) byPath.set(path, [...byPath.get(path) ?? [], method])
  return byPath
}

const notFound = () => new InkcastError('not_found', 'no such route: see /openapi.json for paths and methods')
