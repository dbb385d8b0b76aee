import net from 'node:net'
import tls from 'node:tls'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Server, ServerCredentials, loadPackageDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'
import { HealthImplementation } from 'grpc-health-check'
import { systemClock } from '../../common/clock.js'
import { InkcastError, publicError } from '../../common/errors.js'
import { leavePort } from '../../process/leave-port.js'
import { withinTime } from '../http/request.js'
import { maxBatchBytes } from '../operations/batch.js'
import { operations } from '../operations/index.js'
import { runOperation } from '../operations/run.js'
import { createRequestLimit } from '../request-limit.js'
import { certificateOf } from '../client-certificate.js'
import { serveEvents } from './events.js'
import { callFrom, responseFrom } from './messages.js'
import { rpcOf } from './names.js'
import { servePublishStream } from './publish-stream.js'
import { statusFrom } from './status.js'

export const PROTO = fileURLToPath(new URL('inkcast.proto', import.meta.url))
const SERVICE = 'inkcast.v1.Gateway'
const MAX_REQUESTS = 1000
const MAX_BODY_BYTES = 64 * 2 ** 20
const MAX_CONNECTIONS = 1000
const MAX_CALLS_PER_CONNECTION = 100
/** PublishStream and Events together: each has a window of up to 4 MB. */
const MAX_STREAMS = 200
/** Beside the values, a message has ids and names. */
const MESSAGE_OVERHEAD = 64 * 1024
/** ms */
const TIMES = { operation: 30_000, leave: 500, stop: 10_000 }

/**
 * The gRPC door for business services: the operations of the table, and two streams.
 *
 * @param {object} dependencies
 * @param {Readonly<{ host: string, grpcPort?: number }>} dependencies.settings config.api
 * @param {Readonly<{ maxRecordBytes: number }>} dependencies.limits config.limits
 * @param {import('../callers/callers.js').Callers} dependencies.callers started
 * @param {Omit<import('../operations/operation.js').Call, 'params' | 'query' | 'header' | 'body' | 'batch' | 'caller' |
 *   'now' | 'answerHeader' | 'answering' | 'admit' | 'refused' |
 *   'decoding'>} dependencies.services what operations need
 * @param {import('./events.js').OpenEvents} dependencies.openEvents
 * @param {import('../../common/log.js').Log} dependencies.log
 * @param {Pick<import('../../metrics/metrics.js').Metrics, 'grpc_calls' | 'grpc_streams' | 'grpc_in_progress' |
 *   'api_request_seconds'>} dependencies.metrics
 * @param {import('../../common/clock.js').Clock} [dependencies.clock]
 * @param {import('../../tls/certificate.js').Certificate} [dependencies.certificate] started; default: no TLS
 */
export function createGrpcApi ({
  settings, limits: { maxRecordBytes }, callers, services, openEvents, log, metrics, clock = systemClock,
  certificate
}) {
  const requestLimit = createRequestLimit({
    maxRequests: MAX_REQUESTS, maxBytes: Math.max(MAX_BODY_BYTES, 8 * maxRecordBytes)
  })
  const stopping = new AbortController()
  /** Client certificates of open connections, by the name that gRPC has for them. @type {Map<string, any>} */
  const shown = new Map()
  let streams = 0
  let inProgress = 0

  const definition = loadSync(PROTO, { longs: Number })
  const grpc = new Server({
    'grpc.max_receive_message_length': maxBatchBytes(maxRecordBytes) + MESSAGE_OVERHEAD,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': MAX_CALLS_PER_CONNECTION
  })
  const health = new HealthImplementation({ '': 'SERVING', [SERVICE]: 'SERVING' })
  health.addToServer(/** @type {any} */ (grpc))
  new ReflectionService(definition).addToServer(grpc)

  /** @param {any} call */
  function whoCalls (call) {
    if (stopping.signal.aborted) throw new InkcastError('draining')
    const peer = call.getPeer()
    const headers = { ...call.metadata.getMap(), host: call.getHost() }
    return callers.identify({
      authorization: headers.authorization === undefined ? undefined : String(headers.authorization),
      certificate: shown.get(peer),
      address: peer.replace(/:\d+$/, ''),
      headers
    })
  }

  /** @param {string} operation @param {unknown} [error] */
  function ended (operation, error) {
    const code = error === undefined ? 'ok' : publicError(error).code
    metrics.grpc_calls.inc({ operation, code })
    if (code === 'internal') log.error({ err: error, operation }, 'a call of gRPC failed')
  }

  /** @param {import('../operations/operation.js').Operation} entry */
  function unary (entry) {
    return async (/** @type {any} */ call, /** @type {any} */ callback) => {
      const began = clock.monotonic()
      let name = 'unknown'
      try {
        const caller = await whoCalls(call)
        name = caller.name
        const { request } = call
        const given = callFrom(entry, request)
        const size = given.body?.length ?? given.batch?.reduce((sum, { value }) => sum + (value?.length ?? 0), 0) ?? 0
        const permit = requestLimit.enter(size, name)
        const whole = {
          ...services, ...given, now: clock.now(), answerHeader () {},
          answering: (/** @type {number} */ bytes) => permit.answer(bytes)
        }
        const running = runOperation(entry, whole, { callers, caller })
        running.catch(() => {}).finally(() => permit.release())
        const answer = await withinTime(running, TIMES.operation)
        callback(null, responseFrom(entry, answer))
        ended(entry.operation)
      } catch (error) {
        callback(statusFrom(error))
        ended(entry.operation, error)
      } finally {
        metrics.api_request_seconds.labels(entry.operation, name, 'grpc').observe((clock.monotonic() - began) / 1000)
      }
    }
  }

  /**
   * @param {string} operation
   * @param {(call: any, caller: import('../callers/caller.js').Caller) => Promise<void>} serve
   */
  function stream (operation, serve) {
    return async (/** @type {any} */ call) => {
      // of a connection that is lost
      call.on('error', () => {})
      let entered = false
      try {
        if (streams >= MAX_STREAMS) throw new InkcastError('unavailable', 'too many streams are open; try again')
        metrics.grpc_streams.set(++streams)
        entered = true
        await serve(call, await whoCalls(call))
        if (stopping.signal.aborted) throw new InkcastError('draining')
        call.end()
        ended(operation)
      } catch (error) {
        ended(operation, error)
        if (!call.cancelled) call.emit('error', statusFrom(error))
      } finally {
        if (entered) metrics.grpc_streams.set(--streams)
      }
    }
  }

  const { Gateway } = /** @type {any} */ (loadPackageDefinition(definition)).inkcast.v1
  grpc.addService(Gateway.service, {
    ...Object.fromEntries(operations.map((entry) => [rpcOf(entry), unary(entry)])),
    PublishStream: stream('publishStream', (call, caller) => servePublishStream(call, {
      caller: caller.name,
      admit: (publication) => callers.admitPublication(caller, publication),
      refused: (count) => callers.refused(caller, count),
      publishLane: services.publishLane,
      clock,
      signal: stopping.signal,
      onInProgress: (change) => metrics.grpc_in_progress.set(inProgress += change)
    })),
    Events: stream('events', (call, caller) => {
      const admit = (/** @type {string} */ group) => callers.admit(caller, { operation: 'events', group })
      callers.check(caller, { operation: 'events' })
      return serveEvents(call, { open: openEvents, admit, signal: stopping.signal })
    })
  })

  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())
  // a server of its own: its port can be left before the calls end, and client certificates are optional
  const server = certificate === undefined
    ? net.createServer((socket) => injector.injectConnection(socket))
    : tls.createServer({
        ...certificate.serverOptions(),
        ALPNProtocols: ['h2']
      }, (socket) => {
        const ofClient = certificateOf(socket)
        const peer = `${socket.remoteAddress}:${socket.remotePort}`
        if (ofClient !== undefined) {
          shown.set(peer, ofClient)
          socket.once('close', () => shown.delete(peer))
        }
        injector.injectConnection(socket)
      })
  server.maxConnections = MAX_CONNECTIONS
  if (server instanceof tls.Server) certificate?.serve(server)

  return {
    /** @throws {Error} if the port is taken */
    async start () {
      await new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host: settings.host, port: settings.grpcPort }, () => resolve(undefined))
      })
      log.info({ host: settings.host, port: this.port() }, 'gRPC api listens')
    },

    /** No new connections; clients that check the health find another process. */
    async leave () {
      health.setStatus('', 'NOT_SERVING')
      health.setStatus(SERVICE, 'NOT_SERVING')
      await Promise.all([leavePort(/** @type {any} */ (server)), delay(TIMES.leave)])
    },

    /** Answers what was read, ends streams with `draining`, and closes all connections within 10 s. */
    async stop () {
      stopping.abort()
      if (server.listening) server.close()
      const late = setTimeout(() => grpc.forceShutdown(), TIMES.stop)
      await new Promise((resolve) => { grpc.tryShutdown(() => resolve(undefined)) })
      clearTimeout(late)
      injector.destroy()
    },

    /** @returns {number} the port it listens on */
    port: () => /** @type {import('node:net').AddressInfo} */ (server.address()).port
  }
}
