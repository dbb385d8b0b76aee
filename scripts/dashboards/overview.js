import { graph, highest, perSecond, processPanels, quantile, stat, total } from './panels.js'

/** @type {import('./panels.js').Dashboard} */
export const overview = {
  name: 'inkcast-overview',
  title: 'inkcast: overview',
  about: 'The whole cluster at a glance.',
  rows: {
    Now: [
      stat('Connections', 'Open connections of clients.', 'short', total('connections')),
      stat('Deliveries', 'Records written to clients, per second.', 'short', perSecond('deliveries_total')),
      stat('Handshakes', 'Clients that connected, per second.', 'short', perSecond('handshakes_total', 'result="ok"')),
      stat('End to end, p99', 'Age of a record when it is written to a client.', 's',
        quantile(0.99, 'stage_seconds', 'stage="produced_written"'), 1),
      stat('Kafka lag', 'Records that are not ingested yet.', 'short', `sum (${highest('kafka_lag', '', 'partition')})`, 10_000),
      stat('Resyncs', 'Documents that clients had to load again, per second.', 'short',
        perSecond('resumes_total', 'result="resync"'), 1)
    ],
    Clients: [
      graph('Connections', 'By transport. A sudden drop: a proxy or a deploy closed them.', 'short', [
        ['{{transport}}', total('connections', '', 'transport')]
      ]),
      graph('Handshakes', 'By result. Anything but ok that grows.', 'short', [
        ['{{result}}', perSecond('handshakes_total', '', 'result')]
      ]),
      graph('Deliveries', 'Records written to clients.', 'short', [
        ['{{codec}}', perSecond('deliveries_total', '', 'codec')]
      ])
    ],
    Records: [
      graph('Records', 'Published, by result. Error codes: a publisher writes bad records.', 'short', [
        ['{{result}}', perSecond('records_total', '', 'result')]
      ]),
      graph('Latency by stage, p99', 'The stage that grows is the one that is overloaded.', 's', [
        ['{{stage}}', quantile(0.99, 'stage_seconds', '', 'stage')]
      ]),
      graph('End to end', 'From produced to written.', 's', [
        ['p50', quantile(0.5, 'stage_seconds', 'stage="produced_written"')],
        ['p99', quantile(0.99, 'stage_seconds', 'stage="produced_written"')]
      ])
    ],
    Trouble: [
      graph('Slow clients', 'Connections that get records from the log only, and those that were closed.', 'short', [
        ['behind', total('connections_behind')],
        ['closed per second', perSecond('slow_connections_total')]
      ]),
      graph('Gaps', 'Repaired from the log, or answered with a resync.', 'short', [
        ['{{result}}', perSecond('feed_repairs_total', '', 'result')]
      ]),
      graph('Failures', 'Restarted processes, failed operations on Redis, lost log lines.', 'short', [
        ['restarts of {{role}}', perSecond('worker_restarts_total', '', 'role')],
        ['bus errors', perSecond('bus_errors_total')],
        ['dropped log lines', perSecond('log_lines_dropped_total')]
      ])
    ],
    'Gateway processes': processPanels('gateway')
  }
}
