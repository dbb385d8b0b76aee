import { SECONDS } from './buckets.js'

/**
 * The part of the table of metrics that is about events of clients, extensions, and emitters.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const EXTENSION_METRICS = Object.freeze({
  client_events: {
    type: 'counter',
    labels: ['event', 'result'],
    help: 'Events of clients by result: `ok` or an error code.',
    worry: '`rate_limited` or `bad_request` that grow: a client misbehaves.'
  },
  documents_written: {
    type: 'counter',
    labels: [],
    help: 'Documents to which clients have sent a message, counted for each connection once while it has the document open. Each one ' +
      'may leave a key in Redis for 30 days.',
    worry: 'Growth over 30 days × 250 bytes is much of the memory of Redis: some clients send to very many documents.'
  },
  extension_seconds: {
    type: 'histogram',
    labels: ['extension', 'part'],
    buckets: SECONDS,
    help: 'Time of each call of an extension\'s listener or middleware: `blocking`, until it returns; `total`, until its promise is ' +
      'settled.',
    worry: '`blocking` above 0.01: nothing else runs on the worker meanwhile.'
  },
  extension_errors: {
    type: 'counter',
    labels: ['extension'],
    help: 'Errors that an extension threw, or did not catch.',
    worry: 'Any growth: the log has the error.'
  },
  emitter_messages: {
    type: 'counter',
    labels: ['result'],
    help: 'Messages of emitters and classic Socket.IO servers (`EMITTER_KEY`) that a worker received: `handled`; `ignored`, for a ' +
      'namespace or room that it does not have, or a request that expects an answer; `failed`, malformed.',
    worry: '`failed` grows: the sender uses another format, or another application uses the same key.'
  }
})
