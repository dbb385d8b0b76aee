import { fileURLToPath } from 'node:url'
import { loadSync } from '@grpc/proto-loader'
import { InkcastError, publicError } from '../../../base/common/errors.js'
import { TIMES as SOCKET_TIMES } from '../../../base/process/socket-times.js'
import { FairReads } from '../../../documents/fair-reads.js'
import { withinTime } from '../http/request.js'
import { MAX_PUBLICATIONS, maxBatchBytes } from '../operations/batch.js'
import { operations } from '../operations/index.js'
import { runOperation } from '../operations/run.js'
import { requestLimitFor } from '../request-limit.js'
import { Call } from './call.js'
import { serveEvents } from './event-stream.js'
import { HEALTH_PROTO, Health } from './health.js'
import { GrpcListener } from './listener.js'
import { callFrom, responseFrom } from './messages.js'
import { rpcOf } from './names.js'
import { servePublishStream } from './publish-stream.js'
import { reflectionEndpoints } from './reflection.js'
import { OpenStreams } from './streams.js'
import { statusFrom } from './status.js'

/**
 * @typedef {import('../callers/caller.js').Caller} Caller
 * @typedef {import('../request-limit.js').Permit} Permit
 * @typedef {import('./call.js').Endpoint} Endpoint
 */

export const PROTO = fileURLToPath(new URL('inkcast.proto', import.meta.url))
const SERVICE = 'inkcast.v1.Gateway'
/** Calls whose credential is being looked up: keys of an issuer may have to be fetched. */
const MAX_UNKNOWN = 1000
/** Beside the values, a message has ids and names. */
const MESSAGE_OVERHEAD = 64 * 1024
/** ms */
const TIMES = { ...SOCKET_TIMES, operation: 30_000, leave: 500, stop: 10_000 }
/** Of the field `publications` in both messages that have it. */
const PUBLICATIONS = Object.freeze({ field: 1, max: MAX_PUBLICATIONS })

/**
 * The gRPC door for business services: the operations of the table, and two streams.
 *
 * @param {object} dependencies
 * @param {Readonly<{ host: string, grpcPort?: number }>} dependencies.settings config.api
 * @param {Readonly<{ maxRecordBytes: number }>} dependencies.limits config.limits
 * @param {import('../callers/callers.js').Callers} dependencies.callers started
 * @param {Omit<import('../operations/operation.js').Call, 'params' | 'query' | 'header' | 'body' | 'batch' | 'caller' |
 *   'now' | 'random' | 'answerHeader' | 'answering' | 'admit' | 'refused' |
 *   'decoding'>} dependencies.services what operations need
 * @param {import('./event-stream.js').OpenEvents} dependencies.openEvents
 * @param {import('../../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../../observe/metrics/metrics.js').Metrics, 'grpc_calls' | 'grpc_streams' |
 *   'grpc_in_progress' |
 *   'api_request_seconds'>} dependencies.metrics
 * @param {import('../../../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../../../base/common/random.js').Random} dependencies.random
 * @param {import('../../../config/tls/certificate.js').Certificate} [dependencies.certificate] started; default: no TLS
 * @param {Partial<typeof TIMES>} [times] for tests
 */
export function createGrpcApi ({
  settings, limits: { maxRecordBytes }, callers, services, openEvents, log, metrics, clock, random,
  certificate
}, times) {
  const allTimes = { ...TIMES, ...times }
  const maxBytes = maxBatchBytes(maxRecordBytes) + MESSAGE_OVERHEAD
  const requestLimit = requestLimitFor(maxRecordBytes)
  const streams = new OpenStreams({ callers, metrics, limit: requestLimitFor(maxRecordBytes, Infinity) })
  const reads = new FairReads()
  const health = new Health([SERVICE])
  let draining = false
  let unknown = 0
  let inProgress = 0

  /** @param {string} operation @param {unknown} [error] */
  function ended (operation, error) {
    const code = error === undefined ? 'ok' : publicError(error).code
    metrics.grpc_calls.inc({ operation, code })
    if (code === 'internal') log.error({ err: error, operation }, 'a call of gRPC failed')
  }

  /**
   * @param {import('node:http2').IncomingHttpHeaders} headers
   * @param {import('./listener.js').Connection} connection
   * @returns {Promise<Caller>}
   */
  async function whoCalls (headers, { address, certificate }) {
    const found = callers.identify({
      authorization: headers.authorization,
      certificate,
      address,
      headers: { ...headers, host: headers[':authority'] ?? headers.host }
    })
    if (!(found instanceof Promise)) return found
    if (unknown >= MAX_UNKNOWN) throw new InkcastError('unavailable', 'too many requests are in progress; try again')
    unknown++
    return found.finally(() => { unknown-- })
  }

  /**
   * @param {import('node:http2').ServerHttp2Stream} stream
   * @param {import('node:http2').IncomingHttpHeaders} headers
   * @param {import('./listener.js').Connection} connection
   * @returns {Call | undefined} undefined: it is refused
   */
  function onCall (stream, headers, connection) {
    if (!headers['content-type']?.startsWith('application/grpc')) return refuse(stream, { ':status': 415 })
    const endpoint = endpoints.get(String(headers[':path']))
    if (endpoint === undefined) {
      ended('unknown', new InkcastError('method_not_allowed'))
      return refuse(stream, {
        ':status': 200,
        'content-type': 'application/grpc+proto',
        ...statusFrom(new InkcastError('method_not_allowed', 'there is no such rpc'))
      })
    }
    const call = new Call(stream, headers, {
      method: endpoint.method, maxBytes: endpoint.maxBytes ?? maxBytes, times: allTimes, clock
    })
    serve(endpoint, call, connection)
    return call
  }

  /** @param {Endpoint} endpoint @param {Call} call @param {import('./listener.js').Connection} connection */
  async function serve (endpoint, call, connection) {
    const { operation } = endpoint
    const began = clock.monotonic()
    let name = 'unknown'
    try {
      if (draining) throw new InkcastError('draining')
      /** @type {Caller | undefined} */
      let caller
      if (endpoint.open) {
        if (!connection.open(call)) throw new InkcastError('unavailable', 'too many calls without a credential')
      } else {
        caller = await whoCalls(call.headers, connection)
        connection.admit()
        callers.rates.checkDebt(caller.name)
        name = caller.name
      }
      if (call.closed) return
      if (endpoint.streams) await streams.serve(endpoint, call, /** @type {Caller} */ (caller))
      else await serveOne(endpoint, call, caller)
      if (draining && endpoint.answer === undefined) throw new InkcastError('draining')
      call.finish()
      ended(operation)
    } catch (error) {
      call.finish(error)
      ended(operation, error)
    } finally {
      if (endpoint.answer !== undefined)
        metrics.api_request_seconds.labels(operation, name, 'grpc').observe((clock.monotonic() - began) / 1000)
    }
  }

  /** @param {Endpoint} endpoint @param {Call} call @param {Caller} [caller] */
  async function serveOne (endpoint, call, caller) {
    const permit = requestLimit.enter(0, caller?.name)
    call.once('close', () => permit.release())
    const request = await oneMessage(call, permit, endpoint, caller)
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
  const oneMessage = (call, permit, { list }, caller) => new Promise((resolve, reject) => {
    /** @type {any} */
    let request
    // what was refused since the call began counts as well
    if (caller !== undefined) call.on('arrived', () => callers.rates.checkDebt(caller.name))
    call.on('message', (message) => {
      if (request !== undefined) reject(new InkcastError('bad_request', 'the rpc takes one message'))
      request = message
    })
    call.on('end', () => {
      if (request === undefined) reject(new InkcastError('bad_request', 'the message is missing'))
      else resolve(request)
    })
    call.on('refused', (error) => {
      if (caller !== undefined) callers.rates.refused(caller.name, error.code === 'bad_request' ? list?.max : 1)
      reject(error)
    })
    call.on('close', () => resolve(undefined))
    call.read({ bytes: permit, list })
  })

  /** @param {import('../operations/operation.js').Operation} entry @returns {Omit<Endpoint, 'method'>} */
  const unary = (entry) => ({
    operation: entry.operation,
    list: typeof entry.body === 'object' && entry.body.batch ? PUBLICATIONS : undefined,
    async answer (request, caller, permit) {
      const whole = {
        ...services,
        maxRecordBytes,
        bus: reads.of(services.bus, /** @type {Caller} */ (caller).name),
        ...callFrom(entry, request), now: clock.now(), random, answerHeader () {},
        answering: (/** @type {number} */ bytes) => permit.answer(bytes)
      }
      const running = runOperation(entry, whole, { callers, caller: /** @type {Caller} */ (caller) })
      permit.hold()
      running.catch(() => {}).finally(() => permit.release())
      return responseFrom(entry, await withinTime(running, allTimes.operation, clock))
    }
  })

  const { [SERVICE]: methods } = /** @type {any} */ (loadSync(PROTO, { longs: Number }))
  /** @type {Record<string, Omit<Endpoint, 'method'>>} */
  const rpcs = {
    ...Object.fromEntries(operations.map((entry) => [rpcOf(entry), unary(entry)])),
    PublishStream: {
      operation: 'publishStream',
      streams: true,
      list: PUBLICATIONS,
      serve: (call, { caller, signal }) => servePublishStream(call, {
        caller: caller.name,
        admit: (publication) => callers.admitPublication(caller, publication, maxRecordBytes),
        refused: (count) => callers.rates.refused(caller.name, count),
        owes: () => callers.rates.owes(caller.name),
        publishLane: services.publishLane,
        clock,
        random,
        signal,
        maxBytes: () => streams.share,
        onInProgress: (change) => metrics.grpc_in_progress.set(inProgress += change)
      })
    },
    Events: {
      operation: 'events',
      streams: true,
      serve: (call, { caller, signal }) => {
        const admit = (/** @type {string} */ group) => callers.admit(caller, { operation: 'events', group })
        callers.check(caller, { operation: 'events' })
        return serveEvents(call, { open: openEvents, admit, signal, random })
      }
    }
  }
  /** By path. @type {Map<string, Endpoint>} */
  const endpoints = new Map([
    ...Object.entries(rpcs).map(([rpc, endpoint]) => /** @type {const} */ (
      [methods[rpc].path, { ...endpoint, method: methods[rpc] }])),
    ...health.endpoints(),
    ...reflectionEndpoints([PROTO, HEALTH_PROTO])
  ])
  const listener = new GrpcListener({
    settings, certificate, onCall, clock, times: allTimes, onLook: () => streams.look()
  })

  return {
    /** @throws {Error} if the port is taken */
    async start () {
      await listener.start()
      log.info({ host: settings.host, port: this.port() }, 'gRPC api listens')
    },

    /** No new connections; clients that check the health find another process. */
    async leave () {
      health.leave()
      await Promise.all([listener.leave(), clock.sleep(allTimes.leave)])
    },

    /** Answers what was read, ends streams with `draining`, and closes all connections within 10 s. */
    async stop () {
      draining = true
      streams.stop()
      health.stop()
      await listener.stop(allTimes.stop)
    },

    /** @returns {number} the port it listens on */
    port: () => listener.port
  }
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
