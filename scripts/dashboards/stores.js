import { graph, highest, perSecond, quantile, total } from './panels.js'

/** @type {import('./panels.js').Dashboard} */
export const redis = {
  name: 'inkcast-redis',
  title: 'inkcast: Redis',
  about: 'Redis as inkcast sees it. Figures of the server itself come from an exporter of your choice.',
  rows: {
    Clients: [
      graph('Commands', 'Sent by gateways, ingest and apis; scripts have the prefix inkcast_.', 'short', [
        ['{{command}}', perSecond('redis_commands_total', '', 'command')]
      ]),
      graph('Time to the reply', 'Of one command in 16. Above 16 ms Redis, the network or an event loop is slow.', 's', [
        ['p50', quantile(0.5, 'redis_command_seconds')],
        ['p99', quantile(0.99, 'redis_command_seconds')]
      ]),
      graph('Time to the reply, p99 by role', 'One role only: its event loop.', 's', [
        ['{{role}}', quantile(0.99, 'redis_command_seconds', '', 'role')]
      ]),
      graph('Failed commands', 'connection: none, lost, or no reply in time; otherwise the code of the reply.', 'short', [
        ['{{reason}}', perSecond('redis_command_errors_total', '', 'reason')]
      ]),
      graph('Pending commands', 'Sent and not answered. Growth: Redis does not keep up.', 'short', [
        ['{{instance}}', total('redis_commands_pending', '', 'instance')]
      ]),
      graph('Connections', 'Established, and lost ones that came back per second.', 'short', [
        ['{{connection}}', total('redis_connections', '', 'connection')],
        ['reconnects of {{connection}}', perSecond('redis_reconnects_total', '', 'connection')]
      ])
    ],
    Errors: [
      graph('Bus', 'Failed operations. Any growth: Redis is unavailable or overloaded.', 'short', [
        ['{{operation}}', perSecond('bus_errors_total', '', 'operation')]
      ]),
      graph('Presence', 'Failed operations; they are retried.', 'short', [
        ['{{operation}}', perSecond('presence_errors_total', '', 'operation')]
      ]),
      graph('Sessions', 'Cycles that could not be written; they are retried.', 'short', [
        ['errors', perSecond('session_errors_total')]
      ])
    ],
    'Pub/sub': [
      graph('Ingested to received, p99', 'Time in Redis and on the way to workers.', 's', [
        ['{{instance}}', quantile(0.99, 'stage_seconds', 'stage="ingested_received"', 'instance')]
      ]),
      graph('Lost messages', 'Found by the idle check or by storage. Without an outage: workers do not read fast enough.', 'short', [
        ['last records of a document', perSecond('silent_losses_total')],
        ['orders', perSecond('kept_orders_total')],
        ['presence, {{reason}}', perSecond('presence_repairs_total', '', 'reason')]
      ]),
      graph('Interruptions', 'Documents whose live delivery was interrupted: Redis closed a connection.', 'short', [
        ['documents', perSecond('bus_interruptions_total')]
      ])
    ],
    Backlog: [
      graph('Gaps', 'Repaired from the log, or answered with a resync.', 'short', [
        ['{{result}}', perSecond('feed_repairs_total', '', 'result')]
      ]),
      graph('Sessions not stored yet', 'Growth: Redis or Kafka is unavailable or too slow.', 'short', [
        ['{{instance}}', total('sessions_pending', '', 'instance')]
      ]),
      graph('Reads of logs', 'Bytes in memory for clients that come back. Near 64 MB per worker: they wait.', 'bytes', [
        ['{{instance}}', total('replay_bytes', '', 'instance')]
      ])
    ]
  }
}

/** @type {import('./panels.js').Dashboard} */
export const kafka = {
  name: 'inkcast-kafka',
  title: 'inkcast: Kafka',
  about: 'Kafka as inkcast sees it. Figures of the brokers come from an exporter of your choice.',
  rows: {
    Downlink: [
      graph('Lag by partition', 'Records that are not ingested yet.', 'short', [
        ['{{partition}}', highest('kafka_lag', '', 'partition')]
      ]),
      graph('Age of the newest record', 'When it was ingested. Above a second: late.', 's', [
        ['{{partition}}', highest('kafka_record_age_seconds', '', 'partition')]
      ]),
      graph('Canaries', 'From ingest through the partition and pub/sub back.', 's', [
        ['{{partition}}', highest('canary_age_seconds', '', 'partition')]
      ])
    ],
    Clients: [
      graph('Requests', 'Answered ones, by their name in the protocol.', 'short', [
        ['{{api}}', perSecond('kafka_requests_total', '', 'api')]
      ]),
      graph('Time to the response, p99', 'A Fetch without records takes 0.5 s. Produce above 0.25 s: brokers or disks are slow.', 's', [
        ['{{api}}', quantile(0.99, 'kafka_request_seconds', '', 'api')]
      ]),
      graph('Timeouts', 'Requests without a response in 8 s: a broker hangs, or a network loses packets.', 'short', [
        ['{{api}}', perSecond('kafka_request_timeouts_total', '', 'api')]
      ])
    ],
    Consumers: [
      graph('Silence', 'Time since Kafka responded to ingest. Above 15 s ingest does not reach Kafka.', 's', [
        ['{{instance}}', highest('kafka_silence_seconds', '', 'instance')]
      ]),
      graph('Restarts', 'Consumers that failed and were replaced.', 'short', [
        ['restarts', perSecond('kafka_consumer_restarts_total')]
      ]),
      graph('Lost ends', 'Records that were read, and that Kafka has lost: an unclean leader election.', 'short', [
        ['{{partition}}', perSecond('kafka_lost_ends_total', '', 'partition')]
      ]),
      graph('Produced to ingested', 'Time in Kafka and in ingest.', 's', [
        ['p50', quantile(0.5, 'stage_seconds', 'stage="produced_ingested"')],
        ['p99', quantile(0.99, 'stage_seconds', 'stage="produced_ingested"')]
      ])
    ],
    Uplink: [
      graph('Records to services', 'Anything but ok.', 'short', [
        ['{{operator}} {{result}}', perSecond('uplink_records_total', '', 'operator, result')]
      ]),
      graph('Not acknowledged', 'Near 10,000 per worker: Kafka is slow or unavailable.', 'short', [
        ['{{instance}}', total('uplink_pending', '', 'instance')]
      ])
    ]
  }
}
