/**
 * The part of the table of metrics that is about connections that read more slowly than records are published.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const SLOW_CONNECTION_METRICS = Object.freeze({
  slow_connections: {
    type: 'counter',
    labels: [],
    help: 'Slow connections closed because they were behind or read nothing for 60 s, because the packets in their queue that no log ' +
      'keeps had too many bytes, or because an MQTT client acknowledged nothing for 15 minutes while records waited.',
    worry: 'Grows: clients or their networks are too slow for what is published.'
  },
  connections_behind: {
    type: 'gauge',
    labels: [],
    help: 'Slow connections without live delivery, which get records from the log.',
    worry: 'More than a few: networks are too slow for what is published, or the queues of the worker are full.'
  },
  waiting_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Bytes queued for slow connections; a shared frame counts once per connection.',
    worry: 'Near 256 MB per worker (an eighth of its heap, if that is less): all slow connections fall behind.'
  },
  waiting_records: {
    type: 'gauge',
    labels: [],
    help: 'Packets queued for slow connections.',
    worry: 'Grows: clients or their networks are too slow.'
  },
  dropped_ephemerals: {
    type: 'counter',
    labels: [],
    help: 'Ephemeral records dropped for slow connections, or replaced by a newer signal of the same sender.',
    worry: 'Grows fast: networks are too slow for what is published.'
  },
  mqtt_records_too_large: {
    type: 'counter',
    labels: [],
    help: 'Records that an MQTT client did not get, because they are larger than the largest packet that it takes.',
    worry: 'Grows: such a client misses records. Its documents have larger ones than it is made for.'
  }
})
