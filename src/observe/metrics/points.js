import { channel, tracingChannel } from 'node:diagnostics_channel'

/**
 * The points of a record's way that the inspector and traces observe: channels of node:diagnostics_channel, so that no
 * part is handed an observer. A process may run several gateways: `by` of a message is the metrics of its sender, and
 * an observer gets those with its own. Without subscribers a point costs one read of `hasSubscribers`, and nothing for
 * each member of a document: an observer leaves its `trace` on the delivery.
 * Why: docs/internals/decisions/0113-inspector-and-traces.md
 *
 * @typedef {[import('node:diagnostics_channel').Channel, (message: any) => void][]} Handlers by point
 * @typedef {{ uid: string, id: string, client?: string }} Client a connection
 *
 * @typedef {object} Stage what traces leave on a record
 * @property {string} [traceparent]
 * @property {(details?: Record<string, any>) => void} end
 * @property {(error: unknown) => void} fail
 *
 * @typedef {object} DeliveryTrace what the inspector leaves on a delivery
 * @property {(connection: any, delivery: any) => void} delivering it is about to be queued for a connection
 * @property {(connection: any, fate: 'written' | 'queued' | 'withheld' | 'excepted') => void} tell queued: until its
 *   client reads; withheld: its backlog is full
 */

/**
 * Something has happened to a connection, a document or a refused publication:
 * `{ by, hop, event, connection?: Client, guids?: Iterable<string> }`; guids: documents that it concerns as well.
 */
export const happened = channel('inkcast:event')
/** A delivery was made, `{ by, delivery }`; it keeps a `trace` that is set. */
export const delivered = channel('inkcast:delivery')
/** A receipt was opened, `{ by, receipt, publication }`; it keeps a `stage` that is set. */
export const receiptOpened = channel('inkcast:receipt')
/** A batch was read from Kafka, `{ by, lanes, topic, partition }`; its records keep a `stage` that is set. */
export const batchRead = channel('inkcast:ingest')
/** A worker hands a record to its members: `{ by, publication, epoch?, offset?, ingestedAt?, tally, turnWrites }`. */
export const arriving = tracingChannel('inkcast:deliver')
/** The api hands over publications. See `runStep`. */
export const publishing = tracingChannel('inkcast:publish')
/** Entries go to the bus. See `runStep`. */
export const logging = tracingChannel('inkcast:log')
/** A client's message goes to the services. See `runStep`. */
export const sending = tracingChannel('inkcast:doc:send')

/**
 * A step of records, observed as `{ by, records, result?, error? }`. Observers may replace `records` at its start.
 *
 * @template {readonly any[]} R
 * @template T
 * @param {import('node:diagnostics_channel').TracingChannel} step
 * @param {object} by
 * @param {R} records
 * @param {(records: R) => Promise<T>} run
 * @returns {Promise<T>} of `run`
 */
export function runStep (step, by, records, run) {
  if (!step.start.hasSubscribers) return run(records)
  const call = { by, records }
  return step.tracePromise(() => run(call.records), call)
}

/**
 * @param {object} by the metrics of the observer's instance
 * @param {Handlers} handlers
 * @param {Pick<import('../../base/common/log.js').Log, 'error'>} log gets the errors of handlers: they stop no record
 * @returns {() => void} ends it
 */
export function observe (by, handlers, log) {
  const ends = handlers.map(([point, handle]) => {
    /** @param {any} message */
    const listener = (message) => {
      if (message.by !== by) return
      try {
        handle(message)
      } catch (error) {
        log.error({ err: error, point: point.name }, 'an observer failed')
      }
    }
    point.subscribe(listener)
    return () => { point.unsubscribe(listener) }
  })
  return () => { for (const end of ends) end() }
}
