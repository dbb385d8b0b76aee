/**
 * The part of the table of metrics that is about the clients of Redis.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const REDIS_METRICS = Object.freeze({
  redis_commands: {
    type: 'counter',
    labels: ['command'],
    help: 'Commands sent to Redis, also those in pipelines. A script of inkcast counts under its own name, which begins with `inkcast_`.',
    worry: 'Growth without growth of records or handshakes.'
  },
  redis_command_errors: {
    type: 'counter',
    labels: ['reason'],
    help: 'Commands that failed: `connection` (none, lost, or no reply within 2 s), the code of the reply (`OOM`, `READONLY`, ' +
      '`LOADING`, `NOPERM`), or `other`. They are retried where that is safe.',
    worry: '`connection`: Redis or the network is down. `OOM`: raise `maxmemory`. `READONLY`: a replica is used as a master. `NOPERM`: ' +
      'rights of inkcast\'s user.'
  },
  redis_command_seconds: {
    type: 'histogram',
    labels: [],
    buckets: [0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048],
    help: 'Time from a command to its reply, measured for one command in 16, and never for `WAIT` and `WAITAOF`, which wait by design. ' +
      'It includes the time that the reply waits for the event loop.',
    worry: 'p99 above 0.016: Redis or the network is slow; in one process only: its event loop.'
  },
  redis_commands_pending: {
    type: 'gauge',
    labels: [],
    help: 'Commands that were sent and are not answered yet.',
    worry: 'Growth: Redis does not keep up.'
  },
  redis_connections: {
    type: 'gauge',
    labels: ['connection'],
    help: 'Established connections: `commands` and `subscriber`, one per process, with Redis Cluster one per node in use.',
    worry: 'A drop: see `redis_reconnects`.'
  },
  redis_reconnects: {
    type: 'counter',
    labels: ['connection'],
    help: 'Connections that were lost and are established again: `commands`, `subscriber`, `rooms` (classic pub/sub).',
    worry: 'Grows without a restart of Redis: it closes connections (`client-output-buffer-limit pubsub`, `timeout`), or a network does.'
  }
})
