/**
 * The part of the table of metrics that is about Kafka.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const KAFKA_METRICS = Object.freeze({
  kafka_lag: {
    type: 'gauge',
    labels: ['partition'],
    aggregator: 'max',
    help: 'Records of a downlink partition that are not ingested yet.',
    worry: 'Growth: ingest is too slow or stuck.'
  },
  kafka_record_age_seconds: {
    type: 'gauge',
    labels: ['partition'],
    aggregator: 'max',
    help: 'Age of the newest ingested record of a partition when it was ingested.',
    worry: 'Above a second.'
  },
  canary_age_seconds: {
    type: 'gauge',
    labels: ['partition'],
    aggregator: 'max',
    help: 'Time of a canary (health-check record) from ingest through a downlink partition, the consumer and Redis pub/sub back to ' +
      'ingest; for a canary that is not back yet, its age, also if Kafka did not accept it. Absent for partitions that no ingest ' +
      'process reads.',
    worry: 'Above a second: records are late. Above 15: records do not come through; the consumer is replaced if Kafka and Redis respond.'
  },
  kafka_silence_seconds: {
    type: 'gauge',
    labels: [],
    aggregator: 'max',
    help: 'Time since Kafka last responded to the consumer of ingest, also while the consumer is replaced or waits to join its group. ' +
      'Usually below 1: Kafka responds to a `Fetch` within 0.5.',
    worry: 'Above 15: ingest does not reach Kafka.'
  },
  kafka_lost_ends: {
    type: 'counter',
    labels: ['partition'],
    help: 'How often a downlink partition has lost records that ingest had already read, detected by leader epochs. Records written in ' +
      'their place are delivered as new ones.',
    worry: 'Any growth: an unclean leader election, or a broker that lost power. Producers may have to publish again.'
  },
  kafka_requests: {
    type: 'counter',
    labels: ['api'],
    help: 'Requests to Kafka that were answered, by their name in the protocol, as `Fetch`, `Produce`, `OffsetCommit`.',
    worry: '`JoinGroup` that grows all the time: consumers do not stay in their group.'
  },
  kafka_request_seconds: {
    type: 'histogram',
    labels: ['api'],
    buckets: [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096, 8.192],
    help: 'Time from a request to Kafka to its response. A `Fetch` without records takes 0.5, and `JoinGroup` as long as a rebalance.',
    worry: '`Produce` or `OffsetCommit` above 0.256: brokers, their disks or replicas are slow.'
  },
  kafka_request_timeouts: {
    type: 'counter',
    labels: ['api'],
    help: 'Requests that Kafka did not answer within 8 s; they are retried.',
    worry: 'Any growth: a broker hangs, or a network loses packets.'
  },
  kafka_consumer_restarts: {
    type: 'counter',
    labels: [],
    help: 'Kafka consumers that failed and were replaced.',
    worry: 'Any growth while Kafka is available; the log has the reason.'
  }
})
