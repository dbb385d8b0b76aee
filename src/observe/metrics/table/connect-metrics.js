/**
 * The part of the table of metrics that is about questions to the application (AUTH_CONNECT_URL).
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const CONNECT_METRICS = Object.freeze({
  connect_requests: {
    type: 'counter',
    labels: ['result'],
    help: 'Questions to AUTH_CONNECT_URL about clients: `ok`, `refused` by the application, `invalid` (a field of the answer is wrong), ' +
      'an HTTP status, or `no_answer`.',
    worry: '`invalid`, a status or `no_answer`: clients without a JWT cannot connect.'
  },
  connect_unasked: {
    type: 'counter',
    labels: ['reason'],
    help: 'Clients about which the application was not asked: `cached` (the answer was known), `shared` (the same question was in ' +
      'progress), or `refused` (no turn in time, or the application fails).',
    worry: '`refused`: the application is too slow or fails.'
  },
  connect_open: {
    type: 'gauge',
    labels: [],
    help: 'Questions to AUTH_CONNECT_URL in progress.',
    worry: 'At 50 per worker for long: further questions wait.'
  },
  connect_waiting: {
    type: 'gauge',
    labels: [],
    help: 'Questions to AUTH_CONNECT_URL that wait for their turn.',
    worry: 'Above 0 for long: the application is slow. A question that waits for 4 s is refused.'
  },
  connect_seconds: {
    type: 'histogram',
    labels: [],
    buckets: [0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096],
    help: 'Duration of a question to AUTH_CONNECT_URL.',
    worry: 'Above a second: 50 clients in this time are all that a worker admits without a JWT.'
  }
})
