import { ERRORS, InkcastError } from '../../../base/common/errors.js'
import { leavePort } from '../../../base/process/leave-port.js'
import { closePipelined } from '../../../base/process/pipelined.js'
import { TIMES as SOCKET_TIMES } from '../../../base/process/socket-times.js'
import { HEADER, newTraceId } from '../../../wire/headers.js'
import { requestLimitFor } from '../request-limit.js'
import { answerBadHttp, errorAnswer, translateError } from './errors.js'
import { Exchanges } from './exchanges.js'
import { createServer } from './fastify.js'
import { readQuery } from './query.js'
import { bodySize, checkBodyHeaders, checkHeaderNames, checkIds, headerText, setHeader } from './request.js'
import { operations } from '../operations/index.js'
import { OperationRunner } from '../operations/run.js'
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
const JSON_TYPE = 'application/json; charset=utf-8'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

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
 * @typedef {object} Parts
 * @property {Readonly<{ host: string, port: number }>} settings config.api
 * @property {Readonly<{ maxRecordBytes: number }>} limits config.limits
 * @property {import('../callers/callers.js').Callers} callers started
 * @property {import('../operations/operation.js').Backend} backend
 * @property {import('../../../config/tls/certificate.js').Certificate} [certificate] started; default: no TLS
 * @property {import('./reference.js').AddReference} [addReference] the page `/docs/`; default: there is none
 */

/** The HTTP door for business services. */
export class HttpApi {
  #services
  #settings
  #callers
  #maxRecordBytes
  #times
  #runner
  #requestLimit
  #exchanges = new Exchanges()
  /** @type {WeakMap<Request, Admitted>} */
  #admitted = new WeakMap()
  /**
   * leaving: answers close their connections; stopping: requests are refused, too.
   * @type {'open' | 'leaving' | 'stopping'}
   */
  #state = 'open'
  #server

  /**
   * @param {Pick<import('../../../observe/services.js').Services, 'log' | 'metrics' | 'clock' | 'random'>} services
   * @param {Parts} parts
   * @param {Partial<typeof TIMES>} [times] for tests
   */
  constructor (services, { settings, limits: { maxRecordBytes }, callers, backend, certificate, addReference }, times) {
    const { metrics, clock, random } = this.#services = services
    this.#settings = settings
    this.#callers = callers
    this.#maxRecordBytes = maxRecordBytes
    const allTimes = this.#times = { ...TIMES, ...times }
    this.#runner = new OperationRunner({
      callers, backend, maxRecordBytes, timeout: allTimes.operation, clock, random
    })
    this.#requestLimit = requestLimitFor(maxRecordBytes)
    this.#server = createServer({
      maxBytes: maxRecordBytes,
      times: allTimes,
      certificate,
      onError: (error, reply) => {
        this.#sendError(reply, error)
        metrics.api_requests.inc({ operation: 'unknown', status: reply.statusCode })
      },
      onBadHttp (error, socket) {
        const status = answerBadHttp(error, socket, clock, allTimes.linger)
        if (status !== null) metrics.api_requests.inc({ operation: 'unknown', status })
      }
    })
    this.#addHooks()
    /** Made for the first request. @type {Buffer | undefined} */
    let description
    this.#server.get('/openapi.json', { config: { operation: 'openapi', open: true } }, async (_request, reply) => {
      description ??= Buffer.from(JSON.stringify(openapi(operations, { maxRecordBytes })))
      return reply.type(JSON_TYPE).send(description)
    })
    addReference?.(this.#server)
    for (const operation of operations) this.#addOperation(operation)
    this.#addOtherMethods()
  }

  #addHooks () {
    const server = this.#server
    server.addHook('onRequest', (request, reply) => this.#onRequest(request, reply))
    // while the body arrived, other requests of the caller may have been refused
    server.addHook('preHandler', async (request) => {
      const caller = this.#admitted.get(request)?.caller
      if (caller !== undefined) this.#callers.rates.checkDebt(caller.name)
    })
    server.addHook('onSend', async (_request, reply) => {
      if (this.#state !== 'open') reply.header('connection', 'close')
    })
    server.setErrorHandler((error, _request, reply) => this.#sendError(reply, error))
    server.setNotFoundHandler((_request, reply) => this.#sendError(reply, notFound()))
  }

  /** @param {Request} request @param {Reply} reply */
  async #onRequest (request, reply) {
    const exchange = this.#exchanges.begin(request.raw.socket, reply.raw)
    this.#countWhenOver(request, reply, exchange)
    reply.header('cache-control', 'no-store')
    if (this.#state === 'stopping') throw new InkcastError('draining')
    // RFC 9112, 3.2; Node's own answer to that has no body
    if (request.headers.host === undefined) throw new InkcastError('bad_request', 'the header host is missing')
    if (exchange.pipelined > 0 && this.#callers.needToken && hasNoCredential(request)) await takeTurn(request, exchange)
    const found = this.#whoCalls(request)
    const caller = found instanceof Promise ? await found : found
    if (caller !== undefined) this.#callers.rates.checkDebt(caller.name)
    if (request.is404) throw notFound()
    const { maxBytes = this.#maxRecordBytes, takesBody, hasHeaders } =
      /** @type {{ maxBytes?: number, takesBody?: boolean, hasHeaders?: boolean }} */ (request.routeOptions.config)
    if (hasHeaders) checkHeaderNames(request.headers)
    if (takesBody) checkBodyHeaders(request.headers)
    // what anybody may read was made once: it holds nothing that callers need
    if (caller === undefined) return
    const permit = this.#requestLimit.enter(bodySize(request.headers, maxBytes), caller.name)
    exchange.ended.then(() => permit.release())
    this.#admitted.set(request, { caller, permit })
  }

  /**
   * @param {Request} request
   * @returns {Caller | undefined | Promise<Caller>} undefined: anybody, for the description
   */
  #whoCalls (request) {
    // The description is not secret, and tools that read it rarely send a token.
    if (this.#callers.needToken && /** @type {{ open?: boolean }} */ (request.routeOptions.config).open)
      return undefined
    return this.#callers.identify({
      authorization: request.headers.authorization,
      certificate: certificateOf(request.socket),
      address: request.socket.remoteAddress,
      headers: request.headers
    })
  }

  /** @param {import('../operations/operation.js').Operation} entry */
  #addOperation (entry) {
    const { method, path, operation, query, body } = entry
    const maxBytes = entry.maxBytes?.(this.#maxRecordBytes)
    for (const status of FAILURES) this.#services.metrics.api_requests.inc({ operation, status }, 0)
    this.#server.route({
      method,
      url: path,
      config: /** @type {any} */ (
        { operation, maxBytes, takesBody: body !== undefined, hasHeaders: entry.headers !== undefined }),
      ...(maxBytes !== undefined && { bodyLimit: maxBytes }),
      handler: async (request, reply) => {
        const { caller, permit } = /** @type {Admitted} */ (this.#admitted.get(request))
        const answer = await this.#runner.run(entry, {
          params: checkIds(/** @type {Record<string, string>} */ (request.params)),
          query: query === undefined ? {} : readQuery(query, /** @type {any} */ (request.query)),
          header: (name) => headerText(request.headers, name),
          body: /** @type {Buffer | null | undefined} */ (request.body) ?? undefined,
          answerHeader: (name, value) => setHeader(reply, name, value)
        }, caller, permit)
        const bytes = Buffer.isBuffer(answer) ? answer : Buffer.from(JSON.stringify(answer))
        // until the caller has read it
        permit.answer(bytes.length)
        return reply.code(entry.answer === undefined ? 202 : 200).type(JSON_TYPE).send(bytes)
      }
    })
  }

  #addOtherMethods () {
    /** @type {Map<string, string[]>} */
    const byPath = new Map([['/openapi.json', ['GET']]])
    for (const { path, method } of operations) byPath.set(path, [...byPath.get(path) ?? [], method])
    for (const [path, methods] of byPath) {
      this.#server.route({
        method: METHODS.filter((method) => !methods.includes(method)),
        url: path,
        config: { operation: 'unknown' },
        handler ({ method }, reply) {
          reply.header('allow', methods.join(', '))
          throw new InkcastError('method_not_allowed', `this route has ${methods.join(' and ')}, not ${method}`)
        }
      })
    }
  }

  /** @param {Request} request @param {Reply} reply @param {Exchange} exchange */
  #countWhenOver (request, reply, { ended }) {
    const { metrics, clock } = this.#services
    const { operation = 'unknown' } = /** @type {{ operation?: string }} */ (request.routeOptions.config ?? {})
    const began = clock.monotonic()
    ended.then(() => {
      const caller = this.#admitted.get(request)?.caller.name ?? 'unknown'
      metrics.api_request_seconds.labels(operation, caller, 'http').observe((clock.monotonic() - began) / 1000)
      // 499, as in nginx: the caller disconnected before the answer
      metrics.api_requests.inc({ operation, status: reply.raw.writableFinished ? reply.raw.statusCode : 499 })
    })
  }

  /** @param {Reply} reply @param {unknown} thrown */
  #sendError (reply, thrown) {
    const error = translateError(thrown)
    const { status, body } = errorAnswer(error)
    if (body.error.code === 'internal') {
      const traceId = String(reply.getHeader(HEADER.traceId) ?? newTraceId(this.#services.random))
      setHeader(reply, HEADER.traceId, traceId)
      this.#services.log.error({ err: error, traceId }, 'a request of the api failed')
    }
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    const { code, retryInMs } = body.error
    if (retryInMs !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryInMs / 1000))))
    else if (status === 503 || code === 'request_in_progress') reply.header('retry-after', '1')
    reply.code(status).type(JSON_TYPE).send(body)
  }

  /** @throws {Error} if the port is taken */
  async start () {
    const { host, port } = this.#settings
    await this.#server.listen({ host, port })
    this.#services.log.info({ host, port: this.port() }, 'api listens')
  }

  /**
   * Call it before `stop` if another process listens at the same port: no new connections are accepted, requests on
   * open ones are answered, and the answers close them. So busy callers move to the other process without a lost
   * request.
   */
  async leave () {
    if (this.#state === 'open') this.#state = 'leaving'
    await Promise.all([leavePort(this.#server.server), this.#services.clock.sleep(this.#times.leave)])
  }

  /** Refuses new requests, and lets those in progress finish for at most 10 s. */
  async stop () {
    this.#state = 'stopping'
    const { clock } = this.#services
    const { server } = this.#server
    // Node closes only connections that are idle now; a refused body is read to its end first, so repeat
    const idle = clock.every(50, () => server.closeIdleConnections())
    const late = clock.timer(this.#times.stop, () => server.closeAllConnections())
    await this.#server.close().finally(() => {
      idle.stop()
      late.stop()
    })
  }

  /** @returns {number} the port it listens on */
  port () { return /** @type {import('node:net').AddressInfo} */ (this.#server.server.address()).port }

  /** @returns {number} requests in work, those included whose caller has gone away */
  inWork () { return this.#requestLimit.requests }
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

const notFound = () => new InkcastError('not_found', 'no such route: see /openapi.json for paths and methods')
