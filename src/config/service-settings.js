import { block, choice, clientTls, integer, list, pathOrUrl, redisUrls, text } from './setting.js'

export const redis = block('Redis', {
  REDIS_URL: {
    as: 'urls',
    type: redisUrls(),
    default: '',
    secret: true,
    describe:
      '`redis://` or `rediss://` URL of Redis 7 or later. For Redis Cluster: several URLs, comma separated. For Redis Sentinel: `redis+sentinel://host:port,host:port/name` or `rediss+sentinel://…` (docs/operations.md). Without this setting inkcast runs embedded, also in production: one process, in memory.'
  },
  PUBLISH_WAIT: {
    as: 'publishWait',
    type: choice('none', 'replicas', 'fsync'),
    default: 'none',
    describe:
      'inkcast acknowledges a write to Redis (such as a publication without Kafka) when the memory of Redis has it (`none`), when a replica has it as well (`replicas`), or when the append-only file on disk has it (`fsync`, Redis 7.2 or later). Details: docs/durability.md.'
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
  KAFKA_SSL: {
    as: 'ssl',
    type: clientTls(),
    default: 'false',
    describe:
      'TLS to the brokers: `true`, or PEM files, read again for each connection: `ca:<path>`, the authorities that issue the brokers\' certificates (default: those of Node.js), and `cert:<path>,key:<path>`, the client certificate (mTLS).'
  },
  KAFKA_SASL_MECHANISM: {
    as: 'saslMechanism',
    type: choice('plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'),
    describe: 'SASL mechanism for the brokers: `plain`, `scram-sha-256`, `scram-sha-512` or `oauthbearer`.'
  },
  KAFKA_SASL_USERNAME: {
    as: 'saslUsername', type: text(), describe: 'User name for the brokers; with a token URL the client id.'
  },
  KAFKA_SASL_PASSWORD: {
    as: 'saslPassword',
    type: text(),
    secret: true,
    describe: 'Password for the brokers; with a token URL the client secret.'
  },
  KAFKA_SASL_TOKEN_SOURCE: {
    as: 'saslTokenSource',
    type: pathOrUrl('https:', 'http:'),
    describe:
      'Where tokens for `oauthbearer` come from: a file, read again for each connection, or the URL of a token endpoint (OAuth 2.0, client credentials), asked again before a token expires. A `scope` in the query of the URL is requested as the scope of the token.'
  }
})
