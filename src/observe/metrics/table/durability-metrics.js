/**
 * The part of the table of metrics that is about PUBLISH_WAIT.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const DURABILITY_METRICS = Object.freeze({
  write_waits: {
    type: 'counter',
    labels: ['result'],
    help: 'Writes that had to be confirmed by a replica or the disk (`PUBLISH_WAIT`): `ok`; `unknown`: written and not confirmed in ' +
      'time, or Redis failed over (callers get `timeout`); `refused`: not written, because Redis confirms nothing (callers get ' +
      '`unavailable`).',
    worry: 'Anything but `ok`: replicas are missing or slow, or the disk is. `/ready` has the reason under `warnings`.'
  },
  write_waits_pending: {
    type: 'gauge',
    labels: [],
    help: 'Writes that wait for the confirmation of `PUBLISH_WAIT`, at most 50,000 per process and node of Redis.',
    worry: 'Growth: replicas or the disk are slow.'
  },
  write_wait_seconds: {
    type: 'histogram',
    labels: [],
    buckets: [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096],
    help: 'Time that a write has waited for the confirmation of `PUBLISH_WAIT`. With `fsync` and `appendfsync everysec` up to a second ' +
      'is normal.',
    worry: 'Growth: publishers wait for the same time.'
  }
})
