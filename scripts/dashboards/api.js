import { graph, highest, perSecond, processPanels, quantile, stat, total } from './panels.js'

/** @type {import('./panels.js').Dashboard} */
export const api = {
  name: 'inkcast-api',
  title: 'inkcast: api and webhooks',
  about: 'Requests of services, and events for them.',
  rows: {
    Now: [
      stat('Requests', 'HTTP, per second.', 'short', perSecond('api_requests_total')),
      stat('Errors', 'Status 5xx, per second.', 'short', perSecond('api_requests_total', 'status=~"5.."'), 1),
      stat('gRPC streams', 'Open ones. Each caller may have 100 per process.', 'short', total('grpc_streams')),
      stat('Wrong files', 'Files of settings that are wrong; the last correct ones stay in force.', 'short',
        total('settings_file_wrong'), 1)
    ],
    Requests: [
      graph('By operation', 'HTTP.', 'short', [['{{operation}}', perSecond('api_requests_total', '', 'operation')]]),
      graph('By status', '5xx: Redis or Kafka is unavailable, or a defect.', 'short', [
        ['{{status}}', perSecond('api_requests_total', '', 'status')]
      ]),
      graph('By caller', 'Operations and publications. forbidden, rate_limited: look at the caller.', 'short', [
        ['{{caller}} {{result}}', perSecond('api_calls_total', '', 'caller, result')]
      ]),
      graph('Duration by operation, p99', 'HTTP and gRPC. Above 0.5 s Redis or Kafka is slow.', 's', [
        ['{{operation}} {{protocol}}', quantile(0.99, 'api_request_seconds', '', 'operation, protocol')]
      ]),
      graph('Duration by caller, p99', 'One caller only: its requests are large, or too many at once.', 's', [
        ['{{caller}}', quantile(0.99, 'api_request_seconds', '', 'caller')]
      ]),
      graph('gRPC', 'Ended calls by operation and code.', 'short', [
        ['{{operation}} {{code}}', perSecond('grpc_calls_total', '', 'operation, code')]
      ]),
      graph('gRPC in progress', 'Publications of streams without a result. At the maximum for long: Kafka or Redis is slow.', 'short', [
        ['{{instance}}', total('grpc_in_progress', '', 'instance')]
      ]),
      graph('Files of settings', 'Loads of files that change without a restart.', 'short', [
        ['{{setting}} {{result}}', perSecond('settings_file_loads_total', '', 'setting, result')]
      ])
    ],
    Uplink: [
      graph('Records to services', 'Anything but ok: services do not get what clients send.', 'short', [
        ['{{operator}} {{result}}', perSecond('uplink_records_total', '', 'operator, result')]
      ]),
      graph('Webhook requests', 'Anything but ok: events wait.', 'short', [
        ['{{result}}', perSecond('webhook_requests_total', '', 'result')]
      ]),
      graph('Webhook, duration', 'Of a request to UPLINK_URL.', 's', [
        ['p50', quantile(0.5, 'webhook_seconds')],
        ['p99', quantile(0.99, 'webhook_seconds')]
      ]),
      graph('Uplink stream', 'Records that not all services have read (without Kafka).', 'short', [
        ['records', highest('uplink_stream_records')]
      ]),
      graph('Not acknowledged', 'Records to the uplink in progress. Near 10,000 per worker: Kafka is slow.', 'short', [
        ['{{instance}}', total('uplink_pending', '', 'instance')]
      ]),
      graph('Webhook events', 'refused: kept apart, for people.', 'short', [
        ['{{result}}', perSecond('webhook_events_total', '', 'result')]
      ])
    ],
    Processes: processPanels('api')
  }
}
