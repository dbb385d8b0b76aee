/**
 * One metric of the table of metrics.
 *
 * @typedef {object} MetricEntry
 * @property {'counter' | 'gauge' | 'histogram'} type
 * @property {string} help
 * @property {string} worry describes a bad value
 * @property {string[]} [labels]
 * @property {number[]} [buckets]
 * @property {'sum' | 'max' | 'min' | 'average'} [aggregator] how the values of processes are merged;
 *   default: sum
 */

export {}
