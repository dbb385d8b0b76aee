/**
 * The part of the table of metrics that is about processes that ended or hang.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const LAUNCHER_METRICS = Object.freeze({
  worker_restarts: {
    type: 'counter',
    labels: ['role'],
    help: 'Processes that ended unexpectedly and were restarted.',
    worry: 'Any growth.'
  },
  hung_workers: {
    type: 'gauge',
    labels: ['role'],
    help: 'Processes that have not answered the launcher (under PM2: the api) for 1.5 s or longer, although they could have used a CPU. ' +
      'Other workers take their new connections.',
    worry: 'Above 0: the launcher\'s log says why.'
  },
  worker_hangs: {
    type: 'counter',
    labels: ['role'],
    help: 'How often a process began to count in `hung_workers`.',
    worry: 'Growth: something blocks the event loop for seconds, mostly an extension.'
  },
  hung_workers_killed: {
    type: 'counter',
    labels: ['role'],
    help: 'Processes that were killed because they hung for 10 s.',
    worry: 'Any growth: their clients had to reconnect.'
  }
})
