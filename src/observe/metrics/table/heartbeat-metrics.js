import { SECONDS } from './buckets.js'

/**
 * The part of the table of metrics that is about the heartbeat of connections.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const HEARTBEAT_METRICS = Object.freeze({
  heartbeats: {
    type: 'counter',
    labels: [],
    help: 'Pings sent.',
    worry:
      'Stands still while there are connections: a defect.'
  },
  late_heartbeats: {
    type: 'counter',
    labels: [],
    help: 'Pings answered after more than a quarter of the timeout; the connection is then pinged every second.',
    worry: 'Grows faster than usual: a network, or this process, is overloaded.'
  },
  expired_connections: {
    type: 'counter',
    labels: [],
    help: 'Connections closed because they sent nothing within the timeout after a ping.',
    worry: 'Many at once: a network, or a proxy in between, has failed.'
  },
  heartbeat_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'Time from a ping to its answer; for long polling this includes the HTTP requests.',
    worry: 'If it grows for all connections, the process is overloaded; if for some, their networks are slow.'
  }
})
