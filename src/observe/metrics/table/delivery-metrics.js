import { BYTES, SECONDS } from './buckets.js'

/**
 * The part of the table of metrics that is about records on their way to clients.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const DELIVERY_METRICS = Object.freeze({
  documents: {
    type: 'gauge',
    labels: [],
    help: 'Documents with members on a worker, summed over workers.',
    worry: 'Growth without growth of connections.'
  },
  deliveries: {
    type: 'counter',
    labels: ['codec'],
    help: 'Records written to a connection.',
    worry: 'No growth while records come in.'
  },
  delivered_bytes: {
    type: 'counter',
    labels: [],
    help: 'Bytes of frames written to connections.',
    worry: 'Near the capacity of the network.'
  },
  frame_bytes: {
    type: 'histogram',
    labels: [],
    buckets: BYTES,
    help: 'Size of a record\'s frame.',
    worry: 'Mostly above 1,400: frames no longer fit one network packet.'
  },
  records: {
    type: 'counter',
    labels: ['operator', 'result'],
    help: 'Records published by a process, by operator and result: `ok`, `duplicate`, `passed_over` (a record without a log, such as a ' +
      'kick or a message to users, that ingest skips: it was carried out before, or this is unknown and the record is older than 5 ' +
      'minutes) or an error code. Ingest counts what comes from Kafka (error codes: dead letters), gateways count signals, and without ' +
      'Kafka also what clients send; without Kafka the api counts what it publishes.',
    worry: 'Error codes that grow: a publisher writes bad records.'
  },
  stage_seconds: {
    type: 'histogram',
    labels: ['stage'],
    buckets: SECONDS,
    help: 'Time between two stages of a record: `produced_ingested`, `ingested_received`, `received_written`; and of the whole way, ' +
      '`produced_written`.',
    worry: 'The stage that grows is the one that is overloaded.'
  }
})
