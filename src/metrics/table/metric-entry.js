/**
 * One metric of the table in metrics.js.
 *
 * @typedef {object} MetricEntry
 * @property {'counter' | 'gauge' | 'histogram'} type
 * @property {string} help
 * @property {string} worry
 * @property {string} [formerly] name in ms of a metric in seconds (src/metrics/former-names.js)
 * @property {string[]} [labels]
 * @property {number[]} [buckets]
 * @property {'sum' | 'max' | 'min' | 'average'} [aggregator]
 */

export {}
