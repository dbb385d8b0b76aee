/**
 * The part of the table of metrics that is about receipts.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const RECEIPT_METRICS = Object.freeze({
  receipts: {
    type: 'counter',
    labels: ['result'],
    help: 'Clients that got a record with `x-receipt`, by result: `acknowledged`, `missing` (not in time), `unasked` (too many were ' +
      'pending); `stray`: acknowledgements that were not requested, too late or repeated. `unreported`: clients that are missing in the ' +
      'receipts.',
    worry: '`unasked`: 100,000 pending in a worker, or what 1/32 of its heap has room for. `unreported`: Redis or Kafka is unavailable.'
  },
  receipts_pending: {
    type: 'gauge',
    labels: [],
    help: 'Clients of records whose receipt is not closed yet.',
    worry: 'Near 100,000 per worker: further records ask for no acknowledgements.'
  }
})
