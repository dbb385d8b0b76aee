import { z } from 'zod'
import { block, choice, flag, integer, list, milliseconds, port, text, url } from './setting.js'

const production = (/** @type {string} */ value, /** @type {string} */ otherwise) => (/** @type {{ production: boolean }} */ context) => context.production ? value : otherwise

export const gateway = block('Gateway', {
  HOST: { as: 'host', type: text(), derived: production('0.0.0.0', '127.0.0.1'), defaultText: '`127.0.0.1`; `0.0.0.0` in production', describe: 'Address that clients connect to.' },
  PORT: { as: 'port', type: port(), default: '3000', describe: 'Port that clients connect to.' },
  WORKERS: { as: 'workers', type: integer(1, 1024), derived: ({ cores }) => String(cores), defaultText: 'number of cores', describe: 'Gateway workers that `cluster.js` forks.' },
  ALLOWED_ORIGINS: { as: 'allowedOrigins', type: list(), default: '', describe: 'Origins whose pages may connect, comma separated, `*` for any. Default: only pages of the same origin.' },
  TLS_CERT_FILE: { as: 'tlsCertFile', type: text(), describe: 'PEM certificate chain; with `TLS_KEY_FILE` the gateway speaks TLS itself.' },
  TLS_KEY_FILE: { as: 'tlsKeyFile', type: text(), describe: 'PEM private key of `TLS_CERT_FILE`.' },
  PEER_HOST: { as: 'peerHost', type: text(), describe: 'Address under which the workers of other machines reach those of this one, for long polling behind a load balancer without sticky sessions. Not set: requests of other machines\' sessions are not exchanged.' },
  PEER_PORT: { as: 'peerPort', type: port(), default: '0', describe: 'First port of `PEER_HOST`; one per gateway worker and as many more for those that are being replaced. 0: any free ones.' },
  DRAIN_TIMEOUT: { as: 'drainTimeout', type: milliseconds(0, 3_600_000), default: '30000', describe: 'Longest time a process takes to stop on SIGTERM, ms.' }
})

export const limits = block('Limits', {
  MAX_RECORD_BYTES: { as: 'maxRecordBytes', type: integer(1, 64 * 2 ** 20), default: '1048576', describe: 'Largest value of a record or an event of a client, bytes.' },
  MAX_DOCUMENTS_PER_CONNECTION: { as: 'maxDocumentsPerConnection', type: integer(1, 1_000_000), default: '100', describe: 'Documents that one connection may have open.' },
  MAX_EVENTS_PER_SECOND: { as: 'maxEventsPerSecond', type: integer(1, 1_000_000), default: '100', describe: 'Events that one connection may send per second; twice that in a burst.' },
  MAX_BYTES_PER_SECOND: { as: 'maxBytesPerSecond', type: integer(1024, 2 ** 40), default: '1048576', describe: 'Bytes that one connection may send per second; `MAX_RECORD_BYTES` more in a burst.' }
})

export const heartbeat = block('Heartbeat', {
  HEARTBEAT_MIN: { as: 'min', type: milliseconds(1000, 600_000), default: '5000', describe: 'Shortest time between two pings, ms.' },
  HEARTBEAT_MAX: { as: 'max', type: milliseconds(1000, 600_000), default: '25000', describe: 'Longest time between two pings, ms; clients are told this one.' },
  HEARTBEAT_TIMEOUT: { as: 'timeout', type: milliseconds(1000, 600_000), default: '20000', describe: 'How long a ping may stay unanswered, ms.' }
})

export const history = block('History', {
  HISTORY_SIZE: { as: 'size', type: integer(1, 1_000_000), default: '1000', describe: 'Records kept per document, for clients that come back.' },
  HISTORY_TTL: { as: 'ttl', type: integer(1, 30 * 86_400), default: '600', describe: 'How long the records of a document are kept after its last one, s.' }
})

export const auth = block('Authentication', {
  AUTH_JWT_SECRET: { as: 'secret', type: z.string().min(32, 'must have at least 32 characters (RFC 7518, 3.2)'), secret: true, describe: 'Shared secret of HS256, HS384 or HS512 tokens.' },
  AUTH_JWT_PUBLIC_KEY_FILE: { as: 'publicKeyFile', type: text(), describe: 'PEM public key of RS256, PS256, ES256 or EdDSA tokens.' },
  AUTH_JWKS_URL: { as: 'jwksUrl', type: url('https:', 'http:'), describe: 'Key set of the token issuer; fetched again when a token names an unknown key.' },
  AUTH_ALLOW_ANONYMOUS: { as: 'allowAnonymous', type: flag(), defaultText: '`true` if no key is set and not in production', describe: 'Connections without a token; each gets a user id of its own that starts with `anonymous:`.' },
  AUTH_ACCESS_URL: { as: 'accessUrl', type: url('https:', 'http:'), describe: 'Asked (POST) whether a user may open a document when the token has no `documents` claim. Default: every document may be read and written.' }
})

export const api = block('API', {
  API_HOST: { as: 'host', type: text(), default: '127.0.0.1', describe: 'Address of the api for business services.' },
  API_PORT: { as: 'port', type: port(), default: '3001', describe: 'Port of the HTTP api.' },
  GRPC_PORT: { as: 'grpcPort', type: port(), default: '50051', describe: 'Port of the gRPC api.' },
  API_TOKENS: { as: 'tokens', type: list(), secret: true, default: '', describe: 'Callers as `name:token`, comma separated; each sends `Authorization: Bearer <token>`. Required in production; otherwise, when none is set, callers on this machine need none.' }
})

export const admin = block('Administration', {
  ADMIN_HOST: { as: 'host', type: text(), default: '127.0.0.1', describe: 'Address of `/metrics`, `/live` and `/ready`.' },
  ADMIN_PORT: { as: 'port', type: port(), default: '9100', describe: 'Port of `/metrics`, `/live` and `/ready`.' },
  AGENT_PORT: { as: 'agentPort', type: port(), describe: 'Port on `ADMIN_HOST` where HAProxy\'s `agent-check` learns how loaded this machine is. Not set: there is none.' },
  AGENT_CAPACITY: { as: 'agentCapacity', type: integer(1, 10_000_000), default: '20000', describe: 'Connections per gateway worker at which the agent calls this machine full.' },
  LOG_LEVEL: { as: 'logLevel', type: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), default: 'info', describe: 'Least severe level that is logged.' }
})

export const redis = block('Redis', {
  REDIS_URL: { as: 'urls', type: list().pipe(z.array(url('redis:', 'rediss:'))), default: '', secret: true, describe: '`redis://` or `rediss://` URL of Redis 7 or later; several, comma separated, for Redis Cluster. Without it inkcast runs embedded: one process, in memory.' }
})

export const kafka = block('Kafka', {
  KAFKA_BROKERS: { as: 'brokers', type: list(), default: '', describe: 'Brokers as `host:port`, comma separated. Needs `REDIS_URL`.' },
  KAFKA_GROUP_ID: { as: 'groupId', type: text(), default: 'inkcast', describe: 'Consumer group of the ingest role.' },
  KAFKA_DOWNLINK_TOPIC: { as: 'downlinkTopic', type: text(), default: 'documents.downlink', describe: 'Records towards clients.' },
  KAFKA_UPLINK_TOPIC: { as: 'uplinkTopic', type: text(), default: 'documents.uplink', describe: 'Records from clients.' },
  KAFKA_DEAD_LETTER_TOPIC: { as: 'deadLetterTopic', type: text(), default: 'documents.dead-letter', describe: 'Records that cannot be delivered, with the reason.' },
  KAFKA_TOPIC_PARTITIONS: { as: 'partitions', type: integer(0, 10_000), default: '12', describe: 'Partitions of a topic that is missing at the start; 0: never create topics.' },
  KAFKA_TOPIC_REPLICATION: { as: 'replication', type: integer(-1, 100), default: '-1', describe: 'Replicas of a topic that is missing at the start; -1: the broker\'s default.' },
  KAFKA_SSL: { as: 'ssl', type: flag(), default: 'false', describe: 'TLS to the brokers.' },
  KAFKA_SASL_MECHANISM: { as: 'saslMechanism', type: choice('plain', 'scram-sha-256', 'scram-sha-512'), describe: 'How to log in to the brokers.' },
  KAFKA_SASL_USERNAME: { as: 'saslUsername', type: text(), describe: 'User name for the brokers.' },
  KAFKA_SASL_PASSWORD: { as: 'saslPassword', type: text(), secret: true, describe: 'Password for the brokers.' }
})

/** All blocks, by their name in the config object, in the order of the table. */
export const BLOCKS = { gateway, limits, heartbeat, history, auth, api, admin, redis, kafka }
