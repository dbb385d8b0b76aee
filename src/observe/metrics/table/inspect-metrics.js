/**
 * The part of the table of metrics that is about the inspector and traces.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const INSPECT_METRICS = Object.freeze({
  inspect_watches: {
    type: 'gauge',
    labels: [],
    aggregator: 'max',
    help: 'Open watches of the inspector, on all machines; at most 20.',
    worry: 'Above 0 while no page and no command watches.'
  },
  inspect_events: {
    type: 'counter',
    labels: ['result'],
    help: 'Events for the inspector: `sent`, or `left_out` above 1,000 a second for one watch, or because Redis was unavailable.',
    worry: '`left_out`: watch something smaller.'
  },
  trace_stages: {
    type: 'counter',
    labels: ['stage', 'result'],
    help: 'Stages of records that are traced: `traced`, or `left_out` above 100 per second in one process.',
    worry: '`left_out` grows: traces have holes. Sample less.'
  }
})
