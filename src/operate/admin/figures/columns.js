/**
 * The figures of the status page, and the metrics they are read from.
 *
 * @typedef {object} Source
 * @property {string} metric its name in the table of metrics
 * @property {number} [times] factor, as 1000 for ms from seconds; default: 1
 * @property {(labels: Record<string, any>, process: string) => boolean} [of] which of its series count
 * @property {'sum' | 'max'} [merge] over the processes of the machine; default: sum
 */

/** @param {(result: string) => boolean} test @returns {(labels: Record<string, any>) => boolean} */
const result = (test) => (labels) => test(labels.result)
const DELIVERED = new Set(['ok', 'duplicate', 'passed_over'])

/** Values at the time of the sample. @satisfies {Record<string, Source>} */
export const GAUGES = Object.freeze({
  connections: { metric: 'connections' },
  sockets: { metric: 'sockets' },
  documents: { metric: 'documents' },
  behind: { metric: 'connections_behind' },
  queuedBytes: { metric: 'waiting_bytes' },
  handshakesWaiting: { metric: 'handshakes_waiting' },
  loopP99: { metric: 'event_loop_lag_seconds', times: 1000, of: ({ quantile }) => quantile === 'p99', merge: 'max' },
  memory: { metric: 'process_resident_memory_bytes' },
  lag: { metric: 'kafka_lag' }
})

/** Counts, of which a sample has those since the sample before it. @satisfies {Record<string, Source>} */
export const COUNTS = Object.freeze({
  deliveries: { metric: 'deliveries' },
  deliveredBytes: { metric: 'delivered_bytes' },
  handshakes: { metric: 'handshakes', of: result((result) => result === 'ok') },
  refused: { metric: 'handshakes', of: result((result) => result !== 'ok') },
  records: { metric: 'records', of: result((result) => result === 'ok') },
  cpuSeconds: { metric: 'process_cpu_seconds' },
  repaired: { metric: 'feed_repairs', of: result((result) => result === 'repaired') },
  silentLosses: { metric: 'silent_losses' },
  resumes: { metric: 'resumes', of: result((result) => result === 'recovered') },
  resyncs: { metric: 'resumes', of: result((result) => result === 'resync') },
  liveResyncs: { metric: 'feed_repairs', of: result((result) => result === 'resync') },
  slow: { metric: 'slow_connections' },
  droppedEphemerals: { metric: 'dropped_ephemerals' },
  expired: { metric: 'expired_connections' },
  deadLetters: {
    metric: 'records',
    of: ({ result }, process) => process.startsWith('ingest-') && !DELIVERED.has(result)
  },
  busErrors: { metric: 'bus_errors' },
  restarts: { metric: 'worker_restarts' }
})

/** Stages of a record, in the order of its way. */
export const STAGES = /** @type {const} */ (['produced_ingested', 'ingested_received', 'received_written', 'produced_written'])
/** The histogram of the stages, in seconds. */
export const STAGE_METRIC = 'stage_seconds'

/** Values by partition of the downlink topic. @type {Record<'lag' | 'age' | 'canaryAge' | 'lostEnds', Source>} */
export const PARTITION_METRICS = Object.freeze({
  lag: { metric: 'kafka_lag' },
  age: { metric: 'kafka_record_age_seconds', times: 1000 },
  canaryAge: { metric: 'canary_age_seconds', times: 1000 },
  lostEnds: { metric: 'kafka_lost_ends' }
})
