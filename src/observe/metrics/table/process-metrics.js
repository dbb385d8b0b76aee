import { SECONDS } from './buckets.js'

/**
 * The part of the table of metrics that is about the process itself.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const PROCESS_METRICS = Object.freeze({
  build_info: {
    type: 'gauge',
    labels: ['version', 'node'],
    aggregator: 'max',
    help: 'Always 1; the labels are the versions of inkcast and Node of the processes of a role.',
    worry: 'Several versions for longer than a deploy: some machines or processes were not upgraded.'
  },
  log_lines_dropped: {
    type: 'counter',
    labels: ['reason'],
    help: 'Log lines that were not written: `repeated` (more than 20 with the same text in 10 s; the last one says how many), `full` ' +
      '(no program reads standard output, and 8 MB are queued).',
    worry: '`full`: the program that reads standard output is stuck. `repeated`: read the log, something fails all the time.'
  },
  event_loop_lag_seconds: {
    type: 'gauge',
    labels: ['quantile'],
    aggregator: 'max',
    help: 'Event loop delay of the slowest process over the last 10 s: p50, p99, max.',
    worry: 'p99 above 0.1: the process is overloaded.'
  },
  event_loop_delay_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'Event loop delay of all processes, measured every 50 ms, and every 250 ms at rest. Unlike the quantiles, it can be added up ' +
      'over machines.',
    worry: 'More than 1 % above 0.128: processes are overloaded.'
  }
})
