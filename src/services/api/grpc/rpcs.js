import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { MAX_PUBLICATIONS } from '../operations/batch.js'
import { operations } from '../operations/index.js'
import { OperationRunner } from '../operations/run.js'
import { serveEvents } from './event-stream.js'
import { callFrom, responseFrom } from './messages.js'
import { rpcOf } from './names.js'
import { PublishStream } from './publish-stream.js'

const require = createRequire(import.meta.url)
const { loadSync } = require('@grpc/proto-loader')

/**
 * @typedef {import('../callers/caller.js').Caller} Caller
 * @typedef {import('./call.js').Endpoint} Endpoint
 */

export const PROTO = fileURLToPath(new URL('inkcast.proto', import.meta.url))
export const SERVICE = 'inkcast.v1.Gateway'
/** Of the field `publications` in both messages that have it. */
const PUBLICATIONS = Object.freeze({ field: 1, max: MAX_PUBLICATIONS })

/**
 * The rpcs of the service: the operations of the table, and two streams.
 *
 * @param {Pick<import('../../../observe/services.js').Services, 'clock' | 'random'> &
 *   { metrics: Pick<import('../../../observe/metrics/metrics.js').Metrics, 'grpc_in_progress'> }} services
 * @param {object} parts
 * @param {import('../callers/callers.js').Callers} parts.callers
 * @param {import('../operations/operation.js').Backend} parts.backend
 * @param {import('./event-stream.js').OpenEvents} parts.openEvents
 * @param {Pick<import('./streams.js').OpenStreams, 'share'>} parts.streams
 * @param {number} parts.maxRecordBytes
 * @param {number} parts.timeout of an operation, ms
 * @returns {[path: string, endpoint: Endpoint][]}
 */
export function gatewayEndpoints ({ clock, random, metrics }, parts) {
  const { callers, backend, openEvents, streams, maxRecordBytes } = parts
  const runner = new OperationRunner({ ...parts, clock, random })
  let inProgress = 0

  /** @param {import('../operations/operation.js').Operation} entry @returns {Omit<Endpoint, 'method'>} */
  const unary = (entry) => ({
    operation: entry.operation,
    list: typeof entry.body === 'object' && entry.body.batch ? PUBLICATIONS : undefined,
    async answer (request, caller, permit) {
      const given = { ...callFrom(entry, request), answerHeader () {} }
      return responseFrom(entry, await runner.run(entry, given, /** @type {Caller} */ (caller), permit))
    }
  })

  /** @type {Record<string, Omit<Endpoint, 'method'>>} */
  const rpcs = {
    ...Object.fromEntries(operations.map((entry) => [rpcOf(entry), unary(entry)])),
    PublishStream: {
      operation: 'publishStream',
      streams: true,
      list: PUBLICATIONS,
      serve: (call, { caller, signal }) => new PublishStream(call, signal, {
        account: {
          caller: caller.name,
          admit: (publication) => callers.admitPublication(caller, publication, maxRecordBytes),
          refused: (count) => callers.rates.refused(caller.name, count),
          owes: () => callers.rates.owes(caller.name)
        },
        publishLane: backend.publishLane,
        maxBytes: () => streams.share,
        onInProgress: (change) => metrics.grpc_in_progress.set(inProgress += change),
        clock,
        random
      }).serve()
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
  const { [SERVICE]: methods } = /** @type {any} */ (loadSync(PROTO, { longs: Number }))
  return Object.entries(rpcs).map(([rpc, endpoint]) => [methods[rpc].path, { ...endpoint, method: methods[rpc] }])
}
