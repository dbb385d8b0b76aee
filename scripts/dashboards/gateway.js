import { graph, lowest, perSecond, processPanels, quantile, total } from './panels.js'

/** @type {import('./panels.js').Dashboard} */
export const gateway = {
  name: 'inkcast-gateway',
  title: 'inkcast: gateway',
  about: 'Connections and deliveries of the gateway workers.',
  rows: {
    Connections: [
      graph('Connections by machine', 'Uneven for long: look at the balancer.', 'short', [
        ['{{instance}}', total('connections', '', 'instance')]
      ]),
      graph('Sockets', 'TCP connections to the port. Far above connections: clients that do not complete the handshake.', 'short', [
        ['{{instance}}', total('sockets', '', 'instance')]
      ]),
      graph('Refused', 'By limit. Any growth: raise the limit, add workers, or identify the clients.', 'short', [
        ['{{reason}}', perSecond('connections_refused_total', '', 'reason')]
      ]),
      graph('Handshakes', 'By result.', 'short', [['{{result}}', perSecond('handshakes_total', '', 'result')]]),
      graph('Clients that wait', 'For MAX_HANDSHAKES_PER_SECOND, or between open and CONNECT.', 'short', [
        ['handshake', total('handshakes_waiting')],
        ['not admitted', total('sessions_not_admitted')]
      ]),
      graph('Logins by the application', 'Questions to AUTH_CONNECT_URL: results, and those in progress and waiting. no_answer: it fails.',
        'short', [
          ['{{result}} per second', perSecond('connect_requests_total', '', 'result')],
          ['not asked: {{reason}}', perSecond('connect_unasked_total', '', 'reason')],
          ['in progress', total('connect_open')],
          ['waiting', total('connect_waiting')]
        ]),
      graph('Duration of a login', 'Of a question to AUTH_CONNECT_URL. Above a second: clients without a JWT wait.', 's', [
        ['p50', quantile(0.5, 'connect_seconds')],
        ['p99', quantile(0.99, 'connect_seconds')]
      ]),
      graph('Sessions cut', 'By limit. Growth: an attack, or clients that are too slow to connect.', 'short', [
        ['{{reason}}', perSecond('sessions_cut_total', '', 'reason')]
      ])
    ],
    Deliveries: [
      graph('Deliveries', 'By codec.', 'short', [['{{codec}}', perSecond('deliveries_total', '', 'codec')]]),
      graph('Bytes', 'Of frames written to clients.', 'Bps', [['written', perSecond('delivered_bytes_total')]]),
      graph('Size of a frame', 'Above 1,400 bytes a frame takes several packets.', 'bytes', [
        ['p50', quantile(0.5, 'frame_bytes')],
        ['p99', quantile(0.99, 'frame_bytes')]
      ]),
      graph('Redis to worker, worker to client, p99', 'ingested_received grows: Redis or the network; received_written: this worker.',
        's', [
          ['{{stage}}', quantile(0.99, 'stage_seconds', 'stage=~"ingested_received|received_written"', 'stage')]
        ]),
      graph('Documents', 'With members, per worker.', 'short', [
        ['open', total('documents')],
        ['with presence', total('presence_documents')]
      ]),
      graph('Events of clients', 'By result. rate_limited or bad_request: a client misbehaves.', 'short', [
        ['{{result}}', perSecond('client_events_total', '', 'result')]
      ])
    ],
    'Slow and lost clients': [
      graph('Processes that hang', 'That do not answer the launcher. Others take their new connections; after 10 s they are killed.',
        'short', [
          ['{{role}} hangs', total('hung_workers', '', 'role')],
          ['{{role}} killed per second', perSecond('hung_workers_killed_total', '', 'role')]
        ]),
      graph('Behind', 'Connections without live delivery, which get records from the log.', 'short', [
        ['{{instance}}', total('connections_behind', '', 'instance')]
      ]),
      graph('Queued bytes', 'For slow connections. Near 256 MB per worker: all of them fall behind.', 'bytes', [
        ['{{instance}}', total('waiting_bytes', '', 'instance')]
      ]),
      graph('Closed', 'Slow connections, and those that did not answer pings.', 'short', [
        ['slow', perSecond('slow_connections_total')],
        ['no answer to a ping', perSecond('expired_connections_total')]
      ]),
      graph('Heartbeat', 'Time from a ping to its answer.', 's', [
        ['p50', quantile(0.5, 'heartbeat_seconds')],
        ['p99', quantile(0.99, 'heartbeat_seconds')]
      ]),
      graph('Resumes', 'After a reconnect: recovered, or resync.', 'short', [
        ['{{result}}', perSecond('resumes_total', '', 'result')]
      ]),
      graph('Replay', 'Records from logs for clients that come back.', 'short', [
        ['records', perSecond('replayed_records_total')],
        ['pages {{source}}', perSecond('replay_pages_total', '', 'source')]
      ])
    ],
    'Presence, receipts, peers': [
      graph('Presence', 'Members, and lost ones within PRESENCE_GRACE.', 'short', [
        ['members', total('presence_members')],
        ['lapsing', total('presence_lapsing')]
      ]),
      graph('Receipts', 'By result, and those that are open.', 'short', [
        ['{{result}}', perSecond('receipts_total', '', 'result')],
        ['pending', total('receipts_pending')]
      ]),
      graph('Misrouted requests', 'Of long polling. failed: a worker could not reach another one.', 'short', [
        ['{{result}}', perSecond('stray_requests_total', '', 'result')]
      ]),
      graph('Record to browser', 'Until clients have acknowledged sampled records (RECEIPT_SAMPLE).', 's', [
        ['p50 since {{since}}', quantile(0.5, 'sampled_seconds', '', 'since')],
        ['p99 since {{since}}', quantile(0.99, 'sampled_seconds', '', 'since')]
      ]),
      graph('Sampled receipts', 'Clients by result, and records that found no room.', 'short', [
        ['{{result}}', perSecond('sampled_acknowledgements_total', '', 'result')],
        ['records left out', perSecond('sampled_records_total', 'result="left_out"')]
      ])
    ],
    Tenants: [
      graph('Connections by tenant', 'Of TENANTS only. At the budget, further clients are refused.', 'short', [
        ['{{tenant}}', total('tenant_connections', '', 'tenant')]
      ]),
      graph('Used by tenant', 'Connections, events and publications. Compare with the budgets in TENANTS.', 'short', [
        ['{{tenant}} {{budget}}', perSecond('tenant_admitted_total', '', 'tenant, budget')]
      ]),
      graph('Refused by tenant', 'Above a budget. Any growth: raise the budget, or find who floods.', 'short', [
        ['{{tenant}} {{budget}}', perSecond('tenant_refused_total', '', 'tenant, budget')]
      ])
    ],
    Certificates: [
      graph('Days left', 'Until a certificate expires. Below 14: renewal does not work.', 'short', [
        ['{{setting}} {{instance}}', lowest('tls_certificate_days_left', '', 'setting, instance')]
      ])
    ],
    Processes: processPanels('gateway')
  }
}
