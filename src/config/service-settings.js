import * as v from 'valibot'
import { DEFAULT_PREFIX } from './redis-prefix.js'
import {
  block, choice, clientTls, integer, listOf, pathOrUrl, redisPrefix, redisUrls, text
} from './setting.js'

export const redis = block('Redis', {
  REDIS_URL: {
    as: 'urls',
    type: redisUrls(),
    default: '',
    secret: true,
    describe:
      '`redis://` or `rediss://` URL of Redis 7 or later. For Redis Cluster: several URLs, comma separated. For Redis Sentinel: ' +
      '`redis+sentinel://host:port,host:port/name` or `rediss+sentinel://…` (docs/operations/redis.md). For a unix socket: `unix:///path`. ' +
      'Without this setting `npm start` runs a built-in store in place of Redis, for development: nothing survives its process. ' +
      'Required in production, unless `WORKERS=1`.'
  },
  REDIS_PREFIX: {
    as: 'prefix',
    type: redisPrefix(),
    default: DEFAULT_PREFIX,
    describe:
      'All keys and channels in Redis begin with it and a colon. Applications on the same Redis need one each; all processes of a ' +
      'cluster need the same ([Redis](operations/redis.md#several-applications-on-one-redis)).'
  },
  PUBLISH_WAIT: {
    as: 'publishWait',
    type: choice('none', 'replicas', 'fsync'),
    default: 'none',
    describe:
      'inkcast acknowledges a write to Redis (such as a publication without Kafka) when the memory of Redis has it (`none`), when a ' +
      'replica has it as well (`replicas`), or when the append-only file on disk has it (`fsync`, Redis 7.2 or later). Details: ' +
      'docs/durability.md.'
  }
})

const TOPICS = Object.freeze({
  downlink: 'documents.downlink', uplink: 'documents.uplink', 'dead-letter': 'documents.dead-letter'
})
/** @param {Record<string, string>} names by topic */
const topicsText = (names) => Object.entries(names).map((pair) => pair.join(':')).join()

const topics = v.pipe(
  listOf(
    (entry) => /^(downlink|uplink|dead-letter):[A-Za-z0-9._-]{1,249}$/.test(entry),
    'each must be downlink:<name>, uplink:<name> or dead-letter:<name>, with letters, digits, . _ - in the name'
  ),
  v.transform((entries) => entries.map((entry) => entry.split(':'))),
  v.check((pairs) => new Set(pairs.map(([purpose]) => purpose)).size === pairs.length, 'a topic is there twice'),
  v.transform((pairs) => ({ ...TOPICS, ...Object.fromEntries(pairs) })),
  v.check((names) => new Set(Object.values(names)).size === 3, 'must be three different topics'),
  v.transform(({ downlink, uplink, 'dead-letter': deadLetter }) => ({ downlink, uplink, deadLetter }))
)

/** kafkajs splits entries at their colons: a URL or an IPv6 address gives a wrong host, a host alone no port. */
const brokers = listOf(
  (entry) => /^[^\s:/@[\]]+:\d{1,5}$/.test(entry) && isPort(Number(entry.split(':')[1])),
  'each must be host:port, as kafka-1:9092, with a name or an IPv4 address'
)
/** @param {number} port */
const isPort = (port) => port > 0 && port < 65_536

export const kafka = block('Kafka', {
  KAFKA_BROKERS: {
    as: 'brokers',
    type: brokers,
    default: '',
    describe: 'Brokers as `host:port`, comma separated. Needs `REDIS_URL`.'
  },
  KAFKA_GROUP_ID: { as: 'groupId', type: text(), default: 'inkcast', describe: 'Consumer group of the ingest role.' },
  KAFKA_TOPICS: {
    as: 'topics',
    type: topics,
    default: topicsText(TOPICS),
    describe:
      'Names of the topics, comma separated: `downlink:<name>` for records to clients, `uplink:<name>` for records from clients, and ' +
      '`dead-letter:<name>` for records that cannot be delivered, with the reason. A topic without a name here keeps its default.'
  },
  KAFKA_VALUE_FRAMING: {
    as: 'valueFraming',
    type: choice('none', 'confluent-json'),
    default: 'none',
    describe:
      'Framing of JSON values in the downlink topic, for ingest and the api: `confluent-json` is that of a schema registry with JSON ' +
      'Schema (docs/kafka-topics.md).'
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
      'TLS to the brokers: `true`, or PEM files, read again for each connection: `ca:<path>`, the authorities that issue the brokers\' ' +
      'certificates (default: those of Node.js), and `cert:<path>,key:<path>`, the client certificate (mTLS).'
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
      'Where tokens for `oauthbearer` come from: a file, read again for each connection; a module of your own, whose name ends with ' +
      '`.js` or `.mjs` (docs/tls.md#tokens-of-managed-kafka); or the URL of a token endpoint (OAuth 2.0, client credentials). A module ' +
      'and an endpoint are asked again before a token expires. A `scope` in the query of the URL is requested as the scope of the token.'
  }
})
