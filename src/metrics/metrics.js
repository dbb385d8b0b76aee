import { Gauge, Registry } from 'prom-client'
import { VERSION } from '../process/version.js'
import { API_METRICS } from './table/api-metrics.js'
import { begunSeries } from './table/begun-counters.js'
import { CONNECTION_METRICS } from './table/connection-metrics.js'
import { DURABILITY_METRICS } from './table/durability-metrics.js'
import { INSPECT_METRICS } from './table/inspect-metrics.js'
import { KAFKA_METRICS } from './table/kafka-metrics.js'
import { LAUNCHER_METRICS } from './table/launcher-metrics.js'
import { collectProcessMetrics } from './process-metrics.js'
import { REDIS_METRICS } from './table/redis-metrics.js'
import { TalliedCounter } from './tallied-counter.js'
import { TalliedHistogram } from './tallied-histogram.js'
import { UPLINK_METRICS } from './table/uplink-metrics.js'

/**
 * Every metric of inkcast in one table; docs/metrics.md is generated from it. `worry` describes a bad value. Metrics
 * are merged over processes by sum, except where `aggregator` is set.
 *
 * @typedef {import('./table/metric-entry.js').MetricEntry} MetricEntry
 */

const SECONDS = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096, 16.384]
// one network packet carries 1,400 bytes
const BYTES = [128, 256, 512, 1024, 1400, 4096, 16384, 65536, 262144, 1048576]

/** @satisfies {Record<string, MetricEntry>} */
export const METRICS = Object.freeze({
  build_info: {
    type: 'gauge',
    labels: ['version', 'node'],
    aggregator: 'max',
    help: 'Always 1; the labels are the versions of inkcast and Node of the processes of a role.',
    worry: 'Several versions for longer than a deploy: some machines or processes were not upgraded.'
  },
  ...CONNECTION_METRICS,
  sessions_not_admitted: {
    type: 'gauge',
    labels: [],
    help: 'Engine.IO sessions whose client is not admitted yet.',
    worry:
      'Near twice `MAX_HANDSHAKES_PER_SECOND` per worker: the oldest ones are closed for new ones, so clients that send CONNECT slowly are locked out.'
  },
  sessions_cut: {
    type: 'counter',
    labels: ['reason'],
    help: 'Engine.IO sessions closed by a limit. Before admission: `late` (after 10 s), `sessions` (too many sessions), `flood` (too much data). At any time: `bytes` (too many bytes of incomplete messages).',
    worry: 'Growth: an attack, or clients that are too slow to connect.'
  },
  unfinished_bytes: {
    type: 'gauge',
    labels: ['clients'],
    help: 'Buffered bytes of incomplete messages; for `new` clients, which are not admitted yet, also of request headers.',
    worry: '`admitted` near 64 MB per worker: the oldest unfinished message is dropped, with its connection.'
  },
  slow_connections: {
    type: 'counter',
    labels: [],
    help: 'Slow connections closed after `SLOW_TIMEOUT`, or because the packets in their queue that no log keeps had too many bytes.',
    worry: 'Grows: clients or their networks are too slow for what is published.'
  },
  connections_behind: {
    type: 'gauge',
    labels: [],
    help: 'Slow connections without live delivery, which get records from the log.',
    worry: 'More than a few: networks are too slow for what is published, or `MAX_WAITING_BYTES_TOTAL` is reached.'
  },
  waiting_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Bytes queued for slow connections; a shared frame counts once per connection.',
    worry: 'Near `MAX_WAITING_BYTES_TOTAL` per worker.'
  },
  waiting_records: {
    type: 'gauge',
    labels: [],
    help: 'Packets queued for slow connections.',
    worry: 'Near `MAX_WAITING_RECORDS_TOTAL` per worker.'
  },
  dropped_ephemerals: {
    type: 'counter',
    labels: [],
    help: 'Ephemeral records dropped for slow connections, or replaced by a newer signal of the same sender.',
    worry: 'Grows fast: networks are too slow for what is published.'
  },
  heartbeats: {
    type: 'counter',
    labels: [],
    help: 'Pings sent.',
    worry:
      'Stands still while there are connections. 0: the self-test at the start failed and Engine.IO\'s own heartbeat is in use; the log says why.'
  },
  late_heartbeats: {
    type: 'counter',
    labels: [],
    help: 'Pings answered after more than a quarter of the timeout; the connection is then pinged every second.',
    worry: 'Grows faster than usual: a network, or this process, is overloaded.'
  },
  expired_connections: {
    type: 'counter',
    labels: [],
    help: 'Connections closed because they sent nothing within the timeout after a ping.',
    worry: 'Many at once: a network, or a proxy in between, has failed.'
  },
  heartbeat_seconds: {
    type: 'histogram',
    formerly: 'heartbeat_milliseconds',
    labels: [],
    buckets: SECONDS,
    help: 'Time from a ping to its answer; for long polling this includes the HTTP requests.',
    worry: 'If it grows for all connections, the process is overloaded; if for some, their networks are slow.'
  },
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
    help: 'Records published by a process, by operator and result: `ok`, `duplicate`, `passed_over` (a record without a log, such as a kick or a message to users, that ingest skips: it was carried out before, or this is unknown and the record is older than 5 minutes) or an error code. Ingest counts what comes from Kafka (error codes: dead letters), gateways count signals, and without Kafka also what clients send; without Kafka the api counts what it publishes.',
    worry: 'Error codes that grow: a publisher writes bad records.'
  },
  stage_seconds: {
    type: 'histogram',
    formerly: 'stage_milliseconds',
    labels: ['stage'],
    buckets: SECONDS,
    help: 'Time between two stages of a record: `produced_ingested`, `ingested_received`, `received_written`; and of the whole way, `produced_written`.',
    worry: 'The stage that grows is the one that is overloaded.'
  },
  client_events: {
    type: 'counter',
    labels: ['event', 'result'],
    help: 'Events of clients by result: `ok` or an error code.',
    worry: '`rate_limited` or `bad_request` that grow: a client misbehaves.'
  },
  extension_seconds: {
    type: 'histogram',
    formerly: 'extension_milliseconds',
    labels: ['extension', 'part'],
    buckets: SECONDS,
    help: 'Time of each call of an extension\'s listener or middleware: `blocking`, until it returns; `total`, until its promise is settled.',
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
    help: 'Messages of emitters and classic Socket.IO servers (`EMITTER_KEY`) that a worker received: `handled`; `ignored`, for a namespace or room that it does not have, or a request that expects an answer; `failed`, malformed.',
    worry: '`failed` grows: the sender uses another format, or another application uses the same key.'
  },
  feed_repairs: {
    type: 'counter',
    labels: ['result'],
    help: 'Gaps in the live stream of a document: `repaired` from the log, or `resync` sent to clients.',
    worry: '`resync` that grows: the history is too short for the outages.'
  },
  silent_losses: {
    type: 'counter',
    labels: [],
    help: 'Documents whose newest records were lost on the way to a worker, without a later record that shows the gap. Workers detect this by comparing idle documents with their logs, and then deliver the records.',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  resumes: {
    type: 'counter',
    labels: ['result'],
    help: 'Documents that a client opened with a position, as after a reconnect: `recovered`, it has all missed records, or `resync`, it must load the document again.',
    worry: '`resync` that grows: the history is too short for the outages of clients.'
  },
  replayed_records: {
    type: 'counter',
    labels: [],
    help: 'Records sent from the log to clients that reconnected.',
    worry: 'Far above deliveries: clients reconnect all the time.'
  },
  replay_pages: {
    type: 'counter',
    labels: ['source'],
    help: 'Pages of records for clients that reconnect or catch up: `read` from the log, or `shared` with another client.',
    worry: '`read` grows nearly as fast as `replayed_records` while many clients reconnect: they share no reads.'
  },
  replay_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Bytes of records read from logs, for clients that reconnect (kept for a second) or catch up.',
    worry: 'Near `MAX_REPLAY_BYTES` per worker: clients wait for missed records.'
  },
  bus_errors: {
    type: 'counter',
    labels: ['operation'],
    help: 'Failed operations on the bus. `decode`: malformed messages; `deliver`: a defect; `rollback`: Redis has lost records that a worker had delivered, or knew of.',
    worry: 'Any growth: Redis is unavailable or overloaded.'
  },
  bus_interruptions: {
    type: 'counter',
    labels: [],
    help: 'Documents whose live delivery was interrupted and restored; each one is then compared with its log.',
    worry:
      'Grows without a restart of Redis: it closes connections that do not read fast enough (`client-output-buffer-limit pubsub`).'
  },
  kept_orders: {
    type: 'counter',
    labels: [],
    help: 'Orders, such as a kick or a revoke, that a worker did not get over Redis pub/sub, but read from storage and carried out.',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  closed_grants: {
    type: 'counter',
    labels: [],
    help: 'Documents not opened because the grant was revoked after its token was issued.',
    worry: 'Fast growth: clients retry without a new token, or tokens have no `iat`.'
  },
  receipts: {
    type: 'counter',
    labels: ['result'],
    help: 'Clients that got a record with `x-receipt`, by result: `acknowledged`, `missing` (not in time), `unasked` (too many were pending); `stray`: acknowledgements that were not requested, too late or repeated. `unreported`: clients that are missing in the receipts.',
    worry: '`unasked`: raise `MAX_PENDING_RECEIPTS`. `unreported`: Redis or Kafka is unavailable.'
  },
  receipts_pending: {
    type: 'gauge',
    labels: [],
    help: 'Clients of records whose receipt is not closed yet.',
    worry: 'Near `MAX_PENDING_RECEIPTS` per worker.'
  },
  presence_members: {
    type: 'gauge',
    labels: [],
    help: 'Connections that take part in the presence of a document. A connection counts once per document; lost connections do not count.',
    worry: 'Growth without growth of connections.'
  },
  presence_documents: {
    type: 'gauge',
    labels: [],
    help: 'Documents with present members on a worker, summed over workers.',
    worry: 'Growth without growth of connections.'
  },
  presence_lapsing: {
    type: 'gauge',
    labels: [],
    help: 'Lost connections that still count as present, within `PRESENCE_GRACE`.',
    worry: 'Near the number of members: a network or a proxy has failed.'
  },
  presence_messages: {
    type: 'counter',
    labels: ['kind'],
    help: '`doc:presence` events written to connections: `diff`, `count` (too many members for a list), `list` (the whole list, after missed changes).',
    worry: '`list` that grows: see `presence_repairs`.'
  },
  presence_repairs: {
    type: 'counter',
    labels: ['reason'],
    help: 'Lists of members that were read again because diffs were missed: detected by a `gap`, by the idle check (`silent`), or after an outage of Redis pub/sub (`interrupted`).',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  presence_errors: {
    type: 'counter',
    labels: ['operation'],
    help: 'Failed operations on the presence store; they are retried.',
    worry: 'Any growth: Redis is unavailable or overloaded.'
  },
  sessions_pending: {
    type: 'gauge',
    labels: [],
    help: 'Users, members and documents with a change that is not in the session store yet, or not reported to the business services yet.',
    worry:
      'Growth: Redis or Kafka is unavailable or too slow. Nothing is lost: the backlog is bounded by the open sessions, and reported afterwards.'
  },
  session_errors: {
    type: 'counter',
    labels: [],
    help: 'Cycles in which sessions could not be written to the store; they are retried.',
    worry: 'Any growth: Redis is unavailable or overloaded.'
  },
  ...UPLINK_METRICS,
  ...API_METRICS,
  ...DURABILITY_METRICS,
  ...REDIS_METRICS,
  ...KAFKA_METRICS,
  ...INSPECT_METRICS,
  stray_requests: {
    type: 'counter',
    labels: ['result'],
    help: 'Requests for a session of another worker: `handed_over`, `forwarded`, `unknown` owner or `failed`; `refused`: requests to the listener for other machines without a valid proof.',
    worry:
      '`failed` that grows. `refused`: foreign clients in the private network, or clocks of machines more than 30 s apart.'
  },
  worker_restarts: {
    type: 'counter',
    labels: ['role'],
    help: 'Processes that ended unexpectedly and were restarted.',
    worry: 'Any growth.'
  },
  ...LAUNCHER_METRICS,
  log_lines_dropped: {
    type: 'counter',
    labels: ['reason'],
    help: 'Log lines that were not written: `repeated` (more than 20 with the same text in 10 s; the last one says how many), `full` (no program reads standard output, and 8 MB are queued).',
    worry: '`full`: the program that reads standard output is stuck. `repeated`: read the log, something fails all the time.'
  },
  event_loop_lag_seconds: {
    type: 'gauge',
    formerly: 'event_loop_lag_milliseconds',
    labels: ['quantile'],
    aggregator: 'max',
    help: 'Event loop delay of the slowest process over the last 10 s: p50, p99, max.',
    worry: 'p99 above 0.1: the process is overloaded.'
  },
  event_loop_delay_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'Event loop delay of all processes, measured every 50 ms, and every 250 ms at rest. Unlike the quantiles, it can be added up over machines.',
    worry: 'More than 1 % above 0.128: processes are overloaded.'
  }
})

/**
 * @template {MetricEntry['type']} T
 * @typedef {T extends 'counter' ? TalliedCounter : T extends 'gauge' ? Gauge : TalliedHistogram} Metric
 */

/** @typedef {ReturnType<typeof createMetrics>} Metrics */

/**
 * The metrics of one process, by their name in the table.
 * @param {object} [options]
 * @param {string} [options.role] a label of every series, so that the same series of two roles stay apart
 * @param {boolean} [options.processMetrics] also Node's own (CPU, memory, garbage collection); default true
 */
export function createMetrics ({ role = 'embedded', processMetrics = true } = {}) {
  const registry = new Registry()
  registry.setDefaultLabels({ role })
  const loop = processMetrics ? collectProcessMetrics(registry) : undefined
  /** @type {Record<string, unknown>} */
  const metrics = {}
  for (const [name, entry] of Object.entries(/** @type {Record<string, MetricEntry>} */ (METRICS))) {
    const options = {
      name: `inkcast_${name}${entry.type === 'counter' ? '_total' : ''}`,
      help: entry.help,
      labelNames: entry.labels ?? [],
      registers: [registry],
      aggregator: entry.aggregator ?? 'sum'
    }
    if (entry.type === 'counter') metrics[name] = new TalliedCounter(options)
    else if (entry.type === 'gauge') metrics[name] = new Gauge(options)
    else metrics[name] = new TalliedHistogram({ ...options, buckets: entry.buckets ?? [] })
  }
  for (const [name, labels] of begunSeries(role)) /** @type {TalliedCounter} */ (metrics[name]).inc(labels, 0)
  /** @type {(() => void)[]} */
  const collectors = []
  const buildInfo = /** @type {Gauge} */ (metrics.build_info)
  buildInfo.set({ version: VERSION, node: process.versions.node }, 1)
  return {
    registry,
    /** The event loop's gauges of Node; undefined without `processMetrics`. */
    loop,
    /**
     * For values that are read or summed when metrics are collected.
     * @param {() => void} collector called before each collection
     */
    onCollect (collector) { collectors.push(collector) },
    /**
     * @param {readonly string[]} [names] only these, in the exposition format; without the label `role`
     * @returns {Promise<import('prom-client').MetricObject[]>} metrics of this process, to be merged with those of
     *   other processes; default: all
     */
    async collect (names) {
      for (const collector of collectors) collector()
      if (names === undefined) return /** @type {any} */ (await registry.getMetricsAsJSON())
      return Promise.all(names.flatMap((name) => registry.getSingleMetric(name)?.get() ?? []))
    },
    .../** @type {{ [K in keyof typeof METRICS]: Metric<(typeof METRICS)[K]['type']> }} */ (metrics)
  }
}
