import { Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { TalliedCounter } from './tallied-counter.js'
import { TalliedHistogram } from './tallied-histogram.js'

/**
 * Every metric of inkcast in one table; docs/metrics.md is generated from it. `worry` says what a bad value looks
 * like. Metrics are merged over processes by sum, except where `aggregator` says otherwise.
 *
 * @typedef {object} MetricEntry
 * @property {'counter' | 'gauge' | 'histogram'} type
 * @property {string} help
 * @property {string} worry
 * @property {string[]} [labels]
 * @property {number[]} [buckets]
 * @property {'sum' | 'max' | 'min' | 'average'} [aggregator]
 */

const MILLISECONDS = [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384]
// 1,400 bytes is what one network packet carries
const BYTES = [128, 256, 512, 1024, 1400, 4096, 16384, 65536, 262144, 1048576]

/** @satisfies {Record<string, MetricEntry>} */
export const METRICS = Object.freeze({
  connections: {
    type: 'gauge',
    labels: ['transport'],
    help: 'Open connections.',
    worry: 'A sudden fall: a proxy or a deploy cut them off.'
  },
  sockets: {
    type: 'gauge',
    labels: [],
    help: 'TCP connections to the gateway\'s port, also those without a session.',
    worry: 'Near `MAX_CONNECTIONS` per worker. Far above `connections`: clients that do not go on, or an attack.'
  },
  connections_refused: {
    type: 'counter',
    labels: ['reason'],
    help: 'Connections refused because there are too many, by what is full: `worker` (`MAX_CONNECTIONS`), `user`, `address`; `descriptors`: closed without an answer, because even answering would take what is reserved.',
    worry: 'Any growth: raise the limit (and `ulimit -n`), add workers, or find out who it is.'
  },
  handshakes: {
    type: 'counter',
    labels: ['result'],
    help: 'Handshakes by result: `ok`, an error code, `origin_refused` (403, the page may not connect, see `ALLOWED_ORIGINS`), or `refused` (503, beyond `MAX_HANDSHAKES_PER_SECOND`, or because there are too many connections).',
    worry: 'Anything but `ok` that grows.'
  },
  handshakes_waiting: {
    type: 'gauge',
    labels: [],
    help: 'Clients that wait because more came than `MAX_HANDSHAKES_PER_SECOND`.',
    worry: 'Above 0 for long: more clients come back than the workers may take.'
  },
  sessions_not_admitted: {
    type: 'gauge',
    labels: [],
    help: 'Sessions that have begun and whose client is not admitted yet.',
    worry:
      'Near twice `MAX_HANDSHAKES_PER_SECOND` per worker: the oldest are ended for the newest, so clients that are slow to send CONNECT do not get in.'
  },
  sessions_cut: {
    type: 'counter',
    labels: ['reason'],
    help: 'Sessions ended because of what they kept here. Not admitted: `late` (after 10 s), `sessions` (too many of them), `flood` (too much was sent). Any: `bytes` (too much has come of messages that are not whole).',
    worry: 'Grows: somebody attacks, or clients are too slow to connect.'
  },
  unfinished_bytes: {
    type: 'gauge',
    labels: ['clients'],
    help: 'Bytes that are kept of messages of which not everything has come; of `new` clients, who are not admitted yet, also of heads of requests.',
    worry: '`admitted` near 64 MB per worker: the oldest unfinished message is dropped, with its connection.'
  },
  slow_connections: {
    type: 'counter',
    labels: [],
    help: 'Connections closed because they took too little for too long, or what is for them alone was too much.',
    worry: 'Grows: clients or their networks are too slow for what is published.'
  },
  connections_behind: {
    type: 'gauge',
    labels: [],
    help: 'Connections that take too little: they get nothing live, and what they missed from the log.',
    worry: 'More than a few: networks are too slow for what is published, or `MAX_WAITING_BYTES_TOTAL` is reached.'
  },
  waiting_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Bytes that wait for connections that did not take everything at once; a frame counts for each.',
    worry: 'Near `MAX_WAITING_BYTES_TOTAL` per worker.'
  },
  waiting_records: {
    type: 'gauge',
    labels: [],
    help: 'Packets that wait for such connections.',
    worry: 'Near `MAX_WAITING_RECORDS_TOTAL` per worker.'
  },
  dropped_ephemerals: {
    type: 'counter',
    labels: [],
    help: 'Ephemeral records that a connection did not get because too much waited for it, or because there was a newer signal of the same sender.',
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
    help: 'Pings that were answered, but took more than a quarter of the time-out; such a connection is probed every second.',
    worry: 'Grows faster than usual: a network, or this process, is overloaded.'
  },
  expired_connections: {
    type: 'counter',
    labels: [],
    help: 'Connections closed because nothing came from them within the time-out after a ping.',
    worry: 'Many at once: a network or a proxy between has failed.'
  },
  heartbeat_milliseconds: {
    type: 'histogram',
    labels: [],
    buckets: MILLISECONDS,
    help: 'Time from a ping to its answer; for long polling with a request for each.',
    worry: 'Grows for all: this process is overloaded; for some: their networks.'
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
    worry: 'Stands still while records come in.'
  },
  delivered_bytes: {
    type: 'counter',
    labels: [],
    help: 'Bytes of frames written to connections.',
    worry: 'Near what the network carries.'
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
    help: 'Records by operator and result: `ok`, `duplicate`, `passed_over` (a kick, a message to users or another record without a log that was carried out before, or is more than 5 minutes old where that is not known) or the error code of a dead letter.',
    worry: 'Error codes that grow: a publisher writes bad records.'
  },
  stage_milliseconds: {
    type: 'histogram',
    labels: ['stage'],
    buckets: MILLISECONDS,
    help: 'Time between stages of a record: `produced_ingested`, `ingested_received`, `received_written`; and from end to end, `produced_written`.',
    worry: 'The stage that grows is the one that is overloaded.'
  },
  client_events: {
    type: 'counter',
    labels: ['event', 'result'],
    help: 'Events of clients by result: `ok` or an error code.',
    worry: '`rate_limited` or `bad_request` that grow: a client misbehaves.'
  },
  feed_repairs: {
    type: 'counter',
    labels: ['result'],
    help: 'Gaps in the live stream of a document: `repaired` from the log, or `resync` told to clients.',
    worry: '`resync` that grows: the history is too short for the outages there are.'
  },
  silent_losses: {
    type: 'counter',
    labels: [],
    help: 'Documents whose last records were lost on the way to a worker while nothing followed them; found by comparing idle documents with their logs, and delivered then.',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  replayed_records: {
    type: 'counter',
    labels: [],
    help: 'Records sent from the log to clients that came back.',
    worry: 'Far above deliveries: clients reconnect all the time.'
  },
  replay_pages: {
    type: 'counter',
    labels: ['source'],
    help: 'Pages of records for clients that came back or catch up: `read` from the log, or `shared` with somebody who had it read.',
    worry: '`read` close to replayed records while many come back: they share nothing.'
  },
  replay_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Bytes of the records read from logs for clients that come back, within the last second, or catch up.',
    worry: 'Near `MAX_REPLAY_BYTES` per worker: clients wait for what they missed.'
  },
  bus_errors: {
    type: 'counter',
    labels: ['operation'],
    help: 'Failed operations on the bus. `decode`: messages that are none of ours; `deliver`: a defect; `rollback`: Redis has lost records that a worker had delivered, or knew of.',
    worry: 'Any growth: Redis is away or overloaded.'
  },
  bus_interruptions: {
    type: 'counter',
    labels: [],
    help: 'Documents whose live delivery was interrupted and is there again; each is compared with its log then.',
    worry:
      'Grows without a restart of Redis: it closes connections that do not read fast enough (`client-output-buffer-limit pubsub`).'
  },
  kept_orders: {
    type: 'counter',
    labels: [],
    help: 'Kicks and revokes that a worker did not hear over Redis pub/sub, read from where they are kept and carried out.',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  closed_grants: {
    type: 'counter',
    labels: [],
    help: 'Documents not opened because the grant was revoked after its token was issued.',
    worry: 'Grows fast: clients ask again and again, or tokens have no `iat`.'
  },
  receipts: {
    type: 'counter',
    labels: ['result'],
    help: 'Clients that got a record with `x-receipt`, by what came of it: `acknowledged`, `missing` (not in time), `unasked` (too many were pending); `stray`: acknowledgements that nobody asked for, came late or twice. `unreported`: clients whose part is in no summary.',
    worry: '`unasked`: raise `MAX_PENDING_RECEIPTS`. `unreported`: Redis or Kafka are away.'
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
    help: 'Connections that take part in the presence of a document, once for each, without those that were lost.',
    worry: 'Growth without growth of connections.'
  },
  presence_documents: {
    type: 'gauge',
    labels: [],
    help: 'Documents in which somebody is present on a worker, summed over workers.',
    worry: 'Growth without growth of connections.'
  },
  presence_lapsing: {
    type: 'gauge',
    labels: [],
    help: 'Connections that were lost and are present for `PRESENCE_GRACE` all the same.',
    worry: 'Near the number of members: a network or a proxy has failed.'
  },
  presence_messages: {
    type: 'counter',
    labels: ['kind'],
    help: '`doc:presence` events written to connections: `diff`, `count` (too many members to tell of each), `list` (instead of what was missed).',
    worry: '`list` that grows: see `presence_repairs`.'
  },
  presence_repairs: {
    type: 'counter',
    labels: ['reason'],
    help: 'Lists of members that were read again because diffs were missed: a `gap` showed, nothing followed (`silent`), or Redis pub/sub was away (`interrupted`).',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  presence_errors: {
    type: 'counter',
    labels: ['operation'],
    help: 'Failed operations on the presence store. What was not done is done later.',
    worry: 'Any growth: Redis is away or overloaded.'
  },
  sessions_pending: {
    type: 'gauge',
    labels: [],
    help: 'Users, members and documents whose change is not in the session store yet, or of which the business services are still to be told.',
    worry:
      'Grows: Redis or Kafka are away or too slow. Nothing is lost: it is bounded by what is open, and told afterwards.'
  },
  session_errors: {
    type: 'counter',
    labels: [],
    help: 'Rounds in which sessions could not be brought to the store; it is tried again.',
    worry: 'Any growth: Redis is away or overloaded.'
  },
  uplink_records: {
    type: 'counter',
    labels: ['operator', 'result'],
    help: 'Records sent towards the business services.',
    worry: 'Anything but `ok`.'
  },
  uplink_pending: {
    type: 'gauge',
    labels: [],
    help: 'Records on their way to the uplink that are not acknowledged yet.',
    worry: 'Near its bound of 10,000 per worker: Kafka is slow or away.'
  },
  api_requests: {
    type: 'counter',
    labels: ['operation', 'status'],
    help: 'Requests of the api by operation and HTTP status.',
    worry: 'Status 5xx.'
  },
  kafka_lag: {
    type: 'gauge',
    labels: ['partition'],
    aggregator: 'max',
    help: 'Records of a downlink partition that are not ingested yet.',
    worry: 'Grows: ingest is too slow or stands still.'
  },
  kafka_record_age_milliseconds: {
    type: 'gauge',
    labels: ['partition'],
    aggregator: 'max',
    help: 'Age of the newest ingested record of a partition when it was ingested.',
    worry: 'Above a second.'
  },
  canary_age_milliseconds: {
    type: 'gauge',
    labels: ['partition'],
    aggregator: 'max',
    help: 'How long a canary took from ingest through a downlink partition, the consumer and pub/sub back to ingest; of one that is not back, its age so far.',
    worry: 'Above a second: records come late. Above 15,000 the consumer is replaced.'
  },
  kafka_lost_ends: {
    type: 'counter',
    labels: ['partition'],
    help: 'How often a downlink partition turned out to have lost records that were read already, by its leader epochs. What was written in their place is read; documents take it as new.',
    worry: 'Any growth: an unclean leader election, or a broker that lost power. Producers may have to publish again.'
  },
  kafka_consumer_restarts: {
    type: 'counter',
    labels: [],
    help: 'Kafka consumers that failed and were replaced.',
    worry: 'Any growth while Kafka is there; the log says why.'
  },
  stray_requests: {
    type: 'counter',
    labels: ['result'],
    help: 'Requests whose session lives in another worker: `handed_over`, `forwarded`, `unknown` owner or `failed`; `refused`: came to the listener for other machines without their proof.',
    worry:
      '`failed` that grows. `refused`: strangers in the private network, or clocks of machines that are more than 30 s apart.'
  },
  worker_restarts: {
    type: 'counter',
    labels: ['role'],
    help: 'Processes that ended unexpectedly and were started again.',
    worry: 'Any growth.'
  },
  event_loop_lag_milliseconds: {
    type: 'gauge',
    labels: ['quantile'],
    aggregator: 'max',
    help: 'Event loop delay of the slowest process over the last 10 s: p50, p99, max.',
    worry: 'p99 above 100: the process is overloaded.'
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
  // src/process/event-loop.js looks more closely
  if (processMetrics)
    collectDefaultMetrics({ register: registry, prefix: 'inkcast_', eventLoopMonitoringPrecision: 500 })
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
  /** @type {(() => void)[]} */
  const collectors = []
  return {
    registry,
    /**
     * For figures that are read, or added up, when metrics are collected.
     * @param {() => void} collector called before each collection
     */
    onCollect (collector) { collectors.push(collector) },
    /**
     * @returns {Promise<import('prom-client').MetricObject[]>} all metrics of this process, to be merged with those of
     *   others
     */
    async collect () {
      for (const collector of collectors) collector()
      return /** @type {any} */ (await registry.getMetricsAsJSON())
    },
    .../** @type {{ [K in keyof typeof METRICS]: Metric<(typeof METRICS)[K]['type']> }} */ (metrics)
  }
}
