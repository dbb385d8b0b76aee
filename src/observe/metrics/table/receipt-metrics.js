import { SECONDS } from './buckets.js'

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
  },
  sampled_records: {
    type: 'counter',
    labels: ['result'],
    help: 'Records that `RECEIPT_SAMPLE` has chosen, in each worker: `asked`, or `left_out` (sampled receipts have half of the bound of ' +
      'pending acknowledgements).',
    worry: '`left_out`: a smaller share is enough.'
  },
  sampled_acknowledgements: {
    type: 'counter',
    labels: ['result'],
    help: 'Clients that were asked to acknowledge a sampled record: `acknowledged`, or `unanswered` within `RECEIPT_TIMEOUT` (also those ' +
      'that have disconnected).',
    worry: 'A growing share of `unanswered`: pages are frozen or lose their connections.'
  },
  sampled_seconds: {
    type: 'histogram',
    labels: ['since'],
    buckets: SECONDS,
    help: 'Time until a client has acknowledged a sampled record: since the record was `produced` (its timestamp), and since the gateway ' +
      'has `written` it (the network and the page, there and back).',
    worry: '`written` grows while `received_written` does not: networks or pages are slow.'
  }
})
