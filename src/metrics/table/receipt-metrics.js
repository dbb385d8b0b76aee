/**
 * The part of the table of metrics that is about receipts.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const RECEIPT_METRICS = Object.freeze({
  receipts: {
    type: 'counter',
    labels: ['result'],
    help: 'Clients that got a record with `x-receipt`, by result: `acknowledged`, `missing` (not in time), `unasked` (too many were pending); `stray`: acknowledgements that were not requested, too late or repeated. `unreported`: clients that are missing in the receipts.',
    worry: '`unasked`: raise `MAX_PENDING_RECEIPTS`. `unreported`: Redis or Kafka is unavailable.'
  },
  receipts_pending: {
    type: 'gauge',
    labels: [],
    help: 'Clients of records whose receipt is not closed yet.',
    worry: 'Near `MAX_PENDING_RECEIPTS` per worker.'
  }
})
