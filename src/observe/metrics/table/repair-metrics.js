/**
 * The part of the table of metrics that is about what was missed and sent again, and failures of the bus.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const REPAIR_METRICS = Object.freeze({
  feed_repairs: {
    type: 'counter',
    labels: ['result'],
    help: 'Gaps in the live stream of a document: `repaired` from the log, or `resync` sent to clients.',
    worry: '`resync` that grows: the history is too short for the outages.'
  },
  silent_losses: {
    type: 'counter',
    labels: [],
    help: 'Documents whose newest records were lost on the way to a worker, without a later record that shows the gap. Workers detect ' +
      'this by comparing idle documents with their logs, and then deliver the records.',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  resumes: {
    type: 'counter',
    labels: ['result'],
    help: 'Documents that a client opened with a position, as after a reconnect: `recovered`, it has all missed records, or `resync`, ' +
      'it must load the document again.',
    worry: '`resync` that grows: the history is too short for the outages of clients.'
  },
  replayed_records: {
    type: 'counter',
    labels: [],
    help: 'Records sent from the log to clients that reconnected, or joined with `last`.',
    worry: 'Far above deliveries: clients reconnect all the time.'
  },
  replay_pages: {
    type: 'counter',
    labels: ['source'],
    help: 'Pages of records for clients that reconnect or catch up: `read` from the log, or `shared` with another client.',
    worry: '`read` grows nearly as fast as `replayed_records` while many clients reconnect: they share no reads.'
  },
  replay_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Bytes of records read from logs, for clients that reconnect (kept for a second) or catch up.',
    worry: 'Near 64 MB per worker (1/32 of its heap, if that is less): clients wait for missed records.'
  },
  bus_errors: {
    type: 'counter',
    labels: ['operation'],
    help: 'Failed operations on the bus. `decode`: malformed messages; `deliver`: a defect; `rollback`: a worker has found that Redis ' +
      'may have lost records of a document.',
    worry: 'Any growth: Redis is unavailable or overloaded.'
  },
  bus_interruptions: {
    type: 'counter',
    labels: [],
    help: 'Documents whose live delivery was interrupted and restored; each one is then compared with its log.',
    worry:
      'Grows without a restart of Redis: it closes connections that do not read fast enough (`client-output-buffer-limit pubsub`).'
  },
  kept_orders: {
    type: 'counter',
    labels: [],
    help: 'Orders, such as a kick or a revoke, that a worker did not get over Redis pub/sub, but read from storage and carried out.',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  }
})
