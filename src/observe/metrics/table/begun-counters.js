import { OPERATORS } from '../../../wire/operators.js'

/**
 * The series of counters that begin at 0, by the name of the counter: all combinations of these label values.
 * Prometheus sees no increase in a series that begins at 1, so an alert with `increase` or `rate` would miss the first
 * event. `kafka_lost_ends` begins when a partition is assigned (src/ingest/ingest.js), and `api_requests` with its
 * operations (src/services/api/http/server.js).
 *
 * @typedef {object} BegunCounter
 * @property {readonly string[]} [roles] of the processes that count it; default: all
 * @property {Readonly<Record<string, readonly string[]>>} values by label
 */

const GATEWAYS = ['gateway', 'embedded']
const WEBHOOK_SENDERS = ['api', 'embedded']
/** Roles of processes that are watched and restarted. */
const WATCHED = ['gateway', 'ingest', 'api']
const UPLINK_OPERATORS = ['message', 'online', 'offline', 'joined', 'left', 'vacated', 'receipt']

/**
 * Exported for tests: they compare it with the alert rules, the metrics and the code that counts.
 * @type {Readonly<Record<string, BegunCounter>>}
 */
export const BEGUN_COUNTERS = Object.freeze({
  connections_refused: {
    roles: GATEWAYS,
    values: { reason: ['worker', 'user', 'address', 'overload', 'descriptors'] }
  },
  handshakes: {
    roles: GATEWAYS,
    values: {
      result: [
        'ok', 'refused', 'origin_refused', 'unauthorized', 'token_expired', 'forbidden', 'banned', 'bad_request',
        'bad_value', 'too_many_connections', 'too_many_documents', 'unavailable', 'timeout', 'draining', 'internal'
      ],
      listener: ['socketio']
    }
  },
  connect_requests: {
    roles: GATEWAYS,
    values: { result: ['ok', 'refused', 'invalid', 'no_answer', '401', '403', '404', '500', '502', '503', '504'] }
  },
  connect_unasked: { roles: GATEWAYS, values: { reason: ['cached', 'shared', 'refused'] } },
  resumes: { roles: GATEWAYS, values: { result: ['recovered', 'resync'] } },
  feed_repairs: { roles: GATEWAYS, values: { result: ['repaired', 'resync'] } },
  stray_requests: {
    roles: GATEWAYS,
    values: { result: ['handed_over', 'forwarded', 'unknown', 'failed', 'refused'] }
  },
  // dead letters; others than ingest count records of clients and the api, about which there is no alert
  records: {
    roles: ['ingest'],
    values: {
      operator: [...OPERATORS, 'unknown'],
      result: [
        'bad_header', 'unknown_operator', 'missing_target', 'bad_target', 'reserved_event', 'bad_content_type',
        'value_too_large', 'bad_utf8', 'bad_value', 'internal'
      ]
    }
  },
  bus_errors: {
    roles: ['gateway', 'ingest', 'api', 'embedded'],
    values: {
      operation: [
        'publish', 'subscribe', 'unsubscribe', 'history', 'positions', 'cut', 'queued', 'add_user', 'remove_user',
        'renew_user', 'addUser', 'removeUser', 'orders', 'decode', 'deliver', 'rollback', 'claim_device',
        'replace_device', 'session'
      ]
    }
  },
  uplink_records: {
    roles: GATEWAYS,
    values: {
      operator: UPLINK_OPERATORS,
      result: ['ok', 'unavailable', 'timeout', 'value_too_large', 'bad_request', 'internal']
    }
  },
  webhook_requests: {
    roles: WEBHOOK_SENDERS,
    // statuses that services and proxies often answer; others begin with the first one
    values: {
      result: [
        'ok', 'no_answer', '400', '401', '403', '404', '413', '415', '422', '429', '500', '502', '503', '504'
      ]
    }
  },
  webhook_events: { roles: WEBHOOK_SENDERS, values: { operator: UPLINK_OPERATORS, result: ['ok', 'refused'] } },
  worker_restarts: { roles: ['launcher'], values: { role: WATCHED } },
  // under PM2 an api process watches
  worker_hangs: { roles: ['launcher', 'api'], values: { role: WATCHED } },
  log_lines_dropped: { values: { reason: ['repeated', 'full'] } }
})

/**
 * @param {string} role of a process
 * @returns {[name: string, labels: Record<string, string>][]} the series that begin at 0 there
 */
export function begunSeries (role) {
  return Object.entries(BEGUN_COUNTERS)
    .filter(([, { roles }]) => roles?.includes(role) ?? true)
    .flatMap(([name, { values }]) =>
      combinations(values).map((labels) => /** @type {[string, Record<string, string>]} */ ([name, labels])))
}

/** @param {BegunCounter['values']} values @returns {Record<string, string>[]} */
function combinations (values) {
  /** @type {Record<string, string>[]} */
  let found = [{}]
  for (const [label, all] of Object.entries(values))
    found = found.flatMap((labels) => all.map((value) => ({ ...labels, [label]: value })))
  return found
}
