/**
 * The part of the table of metrics that is about callers of the api, and settings that change without a restart.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const API_METRICS = Object.freeze({
  api_requests: {
    type: 'counter',
    labels: ['operation', 'status'],
    help: 'Requests of the api by operation and HTTP status.',
    worry: 'Status 5xx.'
  },
  api_calls: {
    type: 'counter',
    labels: ['caller', 'result'],
    help: 'Operations and publications by caller of the api (each publication of a batch or stream counts): `admitted`, `forbidden`, ' +
      '`rate_limited`, `unauthorized` or `token_expired` (the credential ended while a stream was open). Requests without a valid ' +
      'credential are in `api_requests` only (status 401).',
    worry: '`forbidden`: the caller needs a right in `API_CALLERS_FILE`, or its token was stolen. `rate_limited`: its rate is too low, ' +
      'or it runs wild.'
  },
  api_request_seconds: {
    type: 'histogram',
    labels: ['operation', 'caller', 'protocol'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    help: 'Duration of a request of the api, by operation, name of the caller, and `http` or `grpc`; streams are not measured. ' +
      '`unknown` stands for a caller without a valid credential, and for an operation that does not exist.',
    worry: 'p99 above 0.5: Redis or Kafka is slow. One caller only: its requests are large, or it sends too many at once.'
  },
  grpc_calls: {
    type: 'counter',
    labels: ['operation', 'code'],
    help: 'Calls of the gRPC api that have ended, by operation and `ok` or error code; a stream counts once.',
    worry: '`unavailable`, `timeout` or `internal`.'
  },
  grpc_streams: {
    type: 'gauge',
    labels: [],
    help: 'Open streams of the gRPC api (`PublishStream`, `Events`, reflection), at most 100 of each caller in each api process.',
    worry: 'Growth without an end: a service opens streams and does not close them.'
  },
  grpc_in_progress: {
    type: 'gauge',
    labels: [],
    help: 'Publications of `PublishStream` without a result yet, at most about 1,024 for each stream.',
    worry: 'At the maximum for long: Kafka or Redis is slow, and the streams wait.'
  },
  settings_file_wrong: {
    type: 'gauge',
    labels: ['setting'],
    aggregator: 'max',
    help: '1 while a file that a setting names, and that may change without a restart, is wrong. The last correct one stays in force.',
    worry: '1: the log says what is wrong. A restart would fail.'
  },
  settings_file_loads: {
    type: 'counter',
    labels: ['setting', 'result'],
    help: 'Loads of the files that `settings_file_wrong` is about, at the start and after each change: `loaded` or `wrong`.',
    worry: 'Any growth of `wrong`.'
  },
  tls_certificate_days_left: {
    type: 'gauge',
    labels: ['setting'],
    aggregator: 'min',
    help: 'Days until the first certificate in the chain of a setting expires; of all processes the smallest value.',
    worry: 'Below 14: renewal does not work, or the renewed files do not reach inkcast. Negative: expired.'
  }
})
