import { InkcastError, publicError } from '../../../base/common/errors.js'
import { FairTurns } from '../../../base/common/fair-turns.js'
import { TIMES as SOCKET_TIMES } from '../../../base/process/socket-times.js'
import { maxBatchBytes } from '../operations/batch.js'
import { requestLimitFor } from '../request-limit.js'
import { Call } from './call.js'
import { HEALTH_PROTO, Health } from './health.js'
import { GrpcListener } from './listener.js'
import { reflectionEndpoints } from './reflection.js'
import { PROTO, SERVICE, gatewayEndpoints } from './rpcs.js'
import { OpenStreams } from './streams.js'
import { statusFrom } from './status.js'

/**
 * @typedef {import('../callers/caller.js').Caller} Caller
 * @typedef {import('../request-limit.js').Permit} Permit
 * @typedef {import('./call.js').Endpoint} Endpoint
 */

/** Calls whose credential is being looked up: keys of an issuer may have to be fetched. */
const MAX_UNKNOWN = 1000
/** Messages that are being decompressed at the same time. */
const MAX_DECOMPRESSIONS = 4
/** Messages that wait for it. */
const MAX_COMPRESSED = 1000
/** Beside the values, a message has ids and names. */
const MESSAGE_OVERHEAD = 64 * 1024
/** ms */
const TIMES = { ...SOCKET_TIMES, operation: 30_000, leave: 500, stop: 10_000 }

/**
 * @typedef {object} Parts
 * @property {Readonly<{ host: string, grpcPort?: number }>} settings config.api
 * @property {Readonly<{ maxRecordBytes: number }>} limits config.limits
 * @property {import('../callers/callers.js').Callers} callers started
 * @property {import('../operations/operation.js').Backend} backend
 * @property {import('./event-stream.js').OpenEvents} openEvents
 * @property {import('../../../config/tls/certificate.js').Certificate} [certificate] started; default: no TLS
 */

/** The gRPC door for business services. */
export class GrpcApi {
  #services
  #settings
  #callers
  #times
  /** Maximum size of a message. */
  #maxBytes
  #requestLimit
  /** Calls without a credential, which must not take the place of callers: each connection has few of them. */
  #openLimit
  /** A message counts when it is decompressed: few at the same time, or all that are on the way would take no room. */
  #decompressions = new FairTurns({
    atOnce: MAX_DECOMPRESSIONS, maxWaiting: MAX_COMPRESSED, refusal: 'too many messages are being decompressed; try again'
  })

  #streams
  #health = new Health([SERVICE])
  #endpoints
  #listener
  #draining = false
  /** Calls whose credential is being looked up. */
  #unknown = 0

  /**
   * @param {Pick<import('../../../observe/services.js').Services, 'log' | 'metrics' | 'clock' | 'random'>} services
   * @param {Parts} parts
   * @param {Partial<typeof TIMES>} [times] for tests
   */
  constructor (services, { settings, limits: { maxRecordBytes }, callers, backend, openEvents, certificate }, times) {
    const { metrics, clock } = this.#services = services
    this.#settings = settings
    this.#callers = callers
    const allTimes = this.#times = { ...TIMES, ...times }
    this.#maxBytes = maxBatchBytes(maxRecordBytes) + MESSAGE_OVERHEAD
    this.#requestLimit = requestLimitFor(maxRecordBytes)
    this.#openLimit = requestLimitFor(maxRecordBytes, Infinity)
    const streams = this.#streams =
      new OpenStreams({ callers, metrics, limit: requestLimitFor(maxRecordBytes, Infinity) })
    /** By path. @type {Map<string, Endpoint>} */
    this.#endpoints = new Map([
      ...gatewayEndpoints(services, {
        callers, backend, openEvents, streams, maxRecordBytes, timeout: allTimes.operation
      }),
      ...this.#health.endpoints(),
      ...reflectionEndpoints([PROTO, HEALTH_PROTO])
    ])
    this.#listener = new GrpcListener({
      settings,
      certificate,
      onCall: (stream, headers, connection) => this.#onCall(stream, headers, connection),
      clock,
      times: allTimes,
      onLook: () => streams.look()
    })
  }

  /** @param {string} operation @param {unknown} [error] */
  #ended (operation, error) {
    const { log, metrics } = this.#services
    const code = error === undefined ? 'ok' : publicError(error).code
    metrics.grpc_calls.inc({ operation, code })
    if (code === 'internal') log.error({ err: error, operation }, 'a call of gRPC failed')
  }

  /**
   * @param {import('node:http2').IncomingHttpHeaders} headers
   * @param {import('./listener.js').Connection} connection
   * @returns {Promise<Caller>}
   */
  async #whoCalls (headers, { address, certificate }) {
    const found = this.#callers.identify({
      authorization: headers.authorization,
      certificate,
      address,
      headers: { ...headers, host: headers[':authority'] ?? headers.host }
    })
    if (!(found instanceof Promise)) return found
    if (this.#unknown >= MAX_UNKNOWN)
      throw new InkcastError('unavailable', 'too many requests are in progress; try again')
    this.#unknown++
    return found.finally(() => { this.#unknown-- })
  }

  /**
   * @param {import('node:http2').ServerHttp2Stream} stream
   * @param {import('node:http2').IncomingHttpHeaders} headers
   * @param {import('./listener.js').Connection} connection
   * @returns {Call | undefined} undefined: it is refused
   */
  #onCall (stream, headers, connection) {
    if (!headers['content-type']?.startsWith('application/grpc')) return refuse(stream, { ':status': 415 })
    const endpoint = this.#endpoints.get(String(headers[':path']))
    if (endpoint === undefined) {
      this.#ended('unknown', new InkcastError('method_not_allowed'))
      return refuse(stream, {
        ':status': 200,
        'content-type': 'application/grpc+proto',
        ...statusFrom(new InkcastError('method_not_allowed', 'there is no such rpc'))
      })
    }
    const call = new Call(stream, headers, {
      method: endpoint.method,
      maxBytes: endpoint.maxBytes ?? this.#maxBytes,
      times: this.#times,
      decompressions: this.#decompressions,
      clock: this.#services.clock
    })
    this.#serve(endpoint, call, connection)
    return call
  }

  /** @param {Endpoint} endpoint @param {Call} call @param {import('./listener.js').Connection} connection */
  async #serve (endpoint, call, connection) {
    const { metrics, clock } = this.#services
    const { operation } = endpoint
    const began = clock.monotonic()
    let name = 'unknown'
    try {
      if (this.#draining) throw new InkcastError('draining')
      /** @type {Caller | undefined} */
      let caller
      if (endpoint.open) {
        if (!connection.open(call)) throw new InkcastError('unavailable', 'too many calls without a credential')
      } else {
        caller = await this.#whoCalls(call.headers, connection)
        connection.admit()
        this.#callers.rates.checkDebt(caller.name)
        name = caller.name
      }
      if (call.closed) return
      if (endpoint.streams) await this.#streams.serve(endpoint, call, /** @type {Caller} */ (caller))
      else await this.#serveOne(endpoint, call, caller)
      if (this.#draining && endpoint.answer === undefined) throw new InkcastError('draining')
      call.finish()
      this.#ended(operation)
    } catch (error) {
      call.finish(error)
      this.#ended(operation, error)
    } finally {
      if (endpoint.answer !== undefined)
        metrics.api_request_seconds.labels(operation, name, 'grpc').observe((clock.monotonic() - began) / 1000)
    }
  }

  /** @param {Endpoint} endpoint @param {Call} call @param {Caller} [caller] */
  async #serveOne (endpoint, call, caller) {
    const limit = endpoint.open ? this.#openLimit : this.#requestLimit
    const permit = limit.enter(0, caller?.name)
    call.once('close', () => permit.release())
    const request = await this.#oneMessage(call, permit, endpoint, caller)
    if (request === undefined) return
    if (endpoint.answer === undefined) return endpoint.serve?.(call, request)
    const answer = await endpoint.answer(request, caller, permit)
    // until the client has read it
    call.write(answer, (bytes) => permit.answer(bytes))
  }

  /**
   * @param {Call} call
   * @param {Permit} permit
   * @param {Endpoint} endpoint
   * @param {Caller} [caller]
   * @returns {Promise<any>} undefined: the client has given the call up
   */
  #oneMessage (call, permit, { list }, caller) {
    const { rates } = this.#callers
    return new Promise((resolve, reject) => {
      /** @type {any} */
      let request
      // what was refused since the call began counts as well
      if (caller !== undefined) call.on('arrived', () => rates.checkDebt(caller.name))
      call.on('message', (message) => {
        if (request !== undefined) reject(new InkcastError('bad_request', 'the rpc takes one message'))
        request = message
      })
      call.on('end', () => {
        if (request === undefined) reject(new InkcastError('bad_request', 'the message is missing'))
        else resolve(request)
      })
      call.on('refused', (error) => {
        if (caller !== undefined) rates.refused(caller.name, error.code === 'bad_request' ? list?.max : 1)
        reject(error)
      })
      call.on('close', () => resolve(undefined))
      call.read({ bytes: permit, list, caller: caller?.name })
    })
  }

  /** @throws {Error} if the port is taken */
  async start () {
    await this.#listener.start()
    this.#services.log.info({ host: this.#settings.host, port: this.port() }, 'gRPC api listens')
  }

  /** No new connections; clients that check the health find another process. */
  async leave () {
    this.#health.leave()
    await Promise.all([this.#listener.leave(), this.#services.clock.sleep(this.#times.leave)])
  }

  /** Answers what was read, ends streams with `draining`, and closes all connections within 10 s. */
  async stop () {
    this.#draining = true
    this.#streams.stop()
    this.#health.stop()
    await this.#listener.stop(this.#times.stop)
  }

  /** @returns {number} the port it listens on */
  port () { return this.#listener.port }
}

/**
 * @param {import('node:http2').ServerHttp2Stream} stream
 * @param {import('node:http2').OutgoingHttpHeaders} headers
 * @returns {undefined}
 */
function refuse (stream, headers) {
  stream.respond(headers, { endStream: true })
  stream.close(0)
  stream.resume()
}
