/**
 * Metrics of what goes to the business services; part of the table of metrics.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const UPLINK_METRICS = Object.freeze({
  uplink_records: {
    type: 'counter',
    labels: ['operator', 'result'],
    help: 'Records for the business services, by operator and result: `ok` or an error code.',
    worry: 'Anything but `ok`.'
  },
  uplink_pending: {
    type: 'gauge',
    labels: [],
    help: 'Records sent to the uplink and not acknowledged yet.',
    worry: 'Near its limit of 10,000 per worker (with Kafka also 32 MB): Kafka, or without it Redis, is slow or unavailable.'
  },
  uplink_stream_records: {
    type: 'gauge',
    labels: [],
    help: 'Records in the uplink\'s stream that not all services have read, without Kafka.',
    worry: 'Growth: a service is slow or fails. New messages are refused at 25,000 records or 32 MB in one of the 8 parts, and after 5 ' +
      'minutes without a successful request of the webhook.'
  },
  uplink_stream_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Bytes of the records in the uplink\'s stream.',
    worry: 'Growth: as for the records.'
  },
  webhook_requests: {
    type: 'counter',
    labels: ['result'],
    help: 'Requests to UPLINK_URL, by `ok`, HTTP status, or `no_answer`.',
    worry: 'Anything but `ok`: events wait. 400, 413, 415 and 422 mean that the service refuses events for good.'
  },
  webhook_events: {
    type: 'counter',
    labels: ['operator', 'result'],
    help: 'Events that the service has accepted (`ok`) or refused for good (`refused`).',
    worry: 'Any `refused`: they are set apart for administrators.'
  },
  webhook_publications: {
    type: 'counter',
    labels: ['result'],
    help: 'Publications in answers of the webhook, by `ok` or error code; `retry` counts failed tries.',
    worry: 'An error code: the service answers with something that cannot be published.'
  },
  webhook_seconds: {
    type: 'histogram',
    labels: [],
    buckets: [0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096, 16.384],
    help: 'Duration of a request to UPLINK_URL.',
    worry: 'Above a second: messages of a document wait for the answer to the previous batch.'
  }
})
