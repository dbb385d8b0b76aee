import { z } from 'zod'
import { block, choice, flag, integer, list, text, url } from './setting.js'

export const redis = block('Redis', {
  REDIS_URL: {
    as: 'urls',
    type: list().pipe(z.array(url('redis:', 'rediss:'))),
    default: '',
    secret: true,
    describe:
      '`redis://` or `rediss://` URL of Redis 7 or later; several, comma separated, for Redis Cluster. Without it inkcast runs embedded: one process, in memory.'
  }
})

export const kafka = block('Kafka', {
  KAFKA_BROKERS: {
    as: 'brokers',
    type: list(),
    default: '',
    describe: 'Brokers as `host:port`, comma separated. Needs `REDIS_URL`.'
  },
  KAFKA_GROUP_ID: { as: 'groupId', type: text(), default: 'inkcast', describe: 'Consumer group of the ingest role.' },
  KAFKA_DOWNLINK_TOPIC: {
    as: 'downlinkTopic',
    type: text(),
    default: 'documents.downlink',
    describe: 'Topic for records to clients.'
  },
  KAFKA_UPLINK_TOPIC: {
    as: 'uplinkTopic',
    type: text(),
    default: 'documents.uplink',
    describe: 'Topic for records from clients.'
  },
  KAFKA_DEAD_LETTER_TOPIC: {
    as: 'deadLetterTopic',
    type: text(),
    default: 'documents.dead-letter',
    describe: 'Topic for records that cannot be delivered, with the reason.'
  },
  KAFKA_TOPIC_PARTITIONS: {
    as: 'partitions',
    type: integer(0, 10_000),
    default: '12',
    describe: 'Partitions of topics that inkcast creates at the start; 0: never create topics.'
  },
  KAFKA_TOPIC_REPLICATION: {
    as: 'replication',
    type: integer(-1, 100),
    default: '-1',
    describe: 'Replicas of topics that inkcast creates; -1: the broker\'s default.'
  },
  KAFKA_SSL: { as: 'ssl', type: flag(), default: 'false', describe: 'TLS to the brokers.' },
  KAFKA_SASL_MECHANISM: {
    as: 'saslMechanism',
    type: choice('plain', 'scram-sha-256', 'scram-sha-512'),
    describe: 'SASL mechanism for the brokers.'
  },
  KAFKA_SASL_USERNAME: { as: 'saslUsername', type: text(), describe: 'User name for the brokers.' },
  KAFKA_SASL_PASSWORD: { as: 'saslPassword', type: text(), secret: true, describe: 'Password for the brokers.' }
})
