import { isIP } from 'node:net'
import { z } from 'zod'
import { block, choice, flag, integer, list, milliseconds, port, text, url } from './setting.js'

const production =
  (/** @type {string} */ value, /** @type {string} */ otherwise) => (/** @type {{ production: boolean }} */ context) =>
    context.production ? value : otherwise

const tiers = list().pipe(
  z.array(
    z
      .string()
      .regex(/^[^:]{1,64}(:\d{1,9}){3}$/, 'each must be name:min:max:timeout, ms')
      .transform((entry) => {
        const [name, ...figures] = entry.split(':')
        const [min, max, timeout] = figures.map(Number)
        return { name, min, max, timeout }
      })
  )
)

/** @param {string} entry */
function isNetwork (entry) {
  const [address, prefix, more] = entry.split('/')
  const family = isIP(address)
  return (
    family !== 0 &&
    more === undefined &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)))
  )
}

export const gateway = block('Gateway', {
  HOST: {
    as: 'host',
    type: text(),
    derived: production('0.0.0.0', '127.0.0.1'),
    defaultText: '`127.0.0.1`; `0.0.0.0` in production',
    describe: 'Address that clients connect to.'
  },
  PORT: { as: 'port', type: port(), default: '3000', describe: 'Port that clients connect to.' },
  WORKERS: {
    as: 'workers',
    type: integer(1, 1024),
    derived: ({ cores }) => String(cores),
    defaultText: 'number of cores',
    describe: 'Gateway workers that `cluster.js` forks.'
  },
  ALLOWED_ORIGINS: {
    as: 'allowedOrigins',
    type: list(),
    default: '',
    describe:
      'Origins whose pages may connect, comma separated (`https://app.example.com`), `*` for any. Default: pages of the gateway\'s own origin; in development also pages of this machine (`http://localhost:5173`).'
  },
  TLS_CERT_FILE: {
    as: 'tlsCertFile',
    type: text(),
    describe: 'PEM certificate chain; with `TLS_KEY_FILE` the gateway speaks TLS itself.'
  },
  TLS_KEY_FILE: { as: 'tlsKeyFile', type: text(), describe: 'PEM private key of `TLS_CERT_FILE`.' },
  TRUSTED_PROXIES: {
    as: 'trustedProxies',
    type: list().pipe(z.array(z.string().refine(isNetwork, 'each must be an address or a network, as 10.0.0.0/8'))),
    default: '',
    describe:
      'Addresses and networks of proxies whose `X-Forwarded-For` is believed, comma separated, for `MAX_CONNECTIONS_PER_ADDRESS`: the last address in it that is none of theirs is the client\'s. Default: the header is not looked at.'
  },
  PEER_HOST: {
    as: 'peerHost',
    type: text(),
    describe:
      'Address under which the workers of other machines reach those of this one, for long polling behind a load balancer without sticky sessions. Not set: requests of other machines\' sessions are not exchanged.'
  },
  PEER_PORT: {
    as: 'peerPort',
    type: port(),
    default: '0',
    describe:
      'First port of `PEER_HOST`; one per gateway worker and as many more for those that are being replaced. 0: any free ones.'
  },
  DEMO_DOCUMENTS_URL: {
    as: 'demoDocumentsUrl',
    type: url('http:', 'https:'),
    default: 'http://localhost:4000',
    describe:
      'Where the demo page, which is there in development only, gets its documents when there is Kafka: the service in `examples/document-service`.'
  },
  DRAIN_TIMEOUT: {
    as: 'drainTimeout',
    type: milliseconds(0, 3_600_000),
    default: '30000',
    describe: 'Longest time a process takes to stop on SIGTERM, ms.'
  }
})

export const limits = block('Limits', {
  MAX_RECORD_BYTES: {
    as: 'maxRecordBytes',
    type: integer(1, 64 * 2 ** 20),
    default: '1048576',
    describe: 'Largest value of a record or an event of a client, bytes.'
  },
  MAX_DOCUMENTS_PER_CONNECTION: {
    as: 'maxDocumentsPerConnection',
    type: integer(1, 1_000_000),
    default: '100',
    describe: 'Documents that one connection may have open.'
  },
  MAX_EVENTS_PER_SECOND: {
    as: 'maxEventsPerSecond',
    type: integer(1, 1_000_000),
    default: '100',
    describe: 'Events that one connection may send per second; twice that in a burst.'
  },
  MAX_BYTES_PER_SECOND: {
    as: 'maxBytesPerSecond',
    type: integer(1024, 2 ** 40),
    default: '1048576',
    describe: 'Bytes that one connection may send per second; `MAX_RECORD_BYTES` more in a burst.'
  },
  MAX_WAITING_BYTES: {
    as: 'maxWaitingBytes',
    type: integer(1024, 2 ** 40),
    default: '1048576',
    describe:
      'Bytes that may wait for a connection that takes too little; from then on it is behind, and gets records of documents from the log once it takes them. Ephemeral records are left out from 65536 on.'
  },
  MAX_WAITING_RECORDS: {
    as: 'maxWaitingRecords',
    type: integer(1, 1_000_000),
    default: '4096',
    describe: 'Records that may wait for a connection, likewise.'
  },
  MAX_WAITING_BYTES_TOTAL: {
    as: 'maxWaitingBytesTotal',
    type: integer(1024, 2 ** 40),
    default: '268435456',
    describe:
      'Bytes that may wait for all connections of a gateway worker; from then on each for which more than 65536 wait is behind. A frame counts for each connection that waits for it.'
  },
  MAX_WAITING_RECORDS_TOTAL: {
    as: 'maxWaitingRecordsTotal',
    type: integer(1, 1_000_000_000),
    default: '1000000',
    describe: 'Records that may wait for all connections of a gateway worker, likewise.'
  },
  SLOW_TIMEOUT: {
    as: 'slowTimeout',
    type: milliseconds(1000, 3_600_000),
    default: '60000',
    describe:
      'How long a connection may be behind, or take nothing of what waits for it, before it is closed, to come back and resume, ms.'
  },
  RECEIPT_TIMEOUT: {
    as: 'receiptTimeout',
    type: milliseconds(1000, 600_000),
    default: '10000',
    describe: 'How long a client may take to acknowledge a record with `x-receipt`, ms.'
  },
  MAX_PENDING_RECEIPTS: {
    as: 'maxPendingReceipts',
    type: integer(0, 10_000_000),
    default: '100000',
    describe:
      'Clients per gateway worker that are asked for an acknowledgement at the same time; a record that comes when there are as many asks nobody. 0: nobody is ever asked.'
  },
  MAX_HANDSHAKES_PER_SECOND: {
    as: 'maxHandshakesPerSecond',
    type: integer(1, 1_000_000),
    default: '2000',
    describe:
      'Clients that a gateway worker begins with per second; that many at once, as many more wait for a second at most, others are refused with 503 and come back.'
  },
  MAX_CONNECTIONS: {
    as: 'maxConnections',
    type: integer(1, 10_000_000),
    derived: ({ connections }) => String(connections),
    defaultText: 'open files that the process may have (`ulimit -n`), less 5 % and 64',
    describe:
      'TCP connections to the port of one gateway worker; clients beyond it are refused with 503 and `Retry-After`. The rest of the descriptors is for Redis, Kafka, the api and the admin port.'
  },
  MAX_CONNECTIONS_PER_USER: {
    as: 'maxConnectionsPerUser',
    type: integer(0, 10_000_000),
    default: '1000',
    describe:
      'Connections of one user to one gateway worker; more are refused with `too_many_connections`. 0: any number.'
  },
  MAX_CONNECTIONS_PER_ADDRESS: {
    as: 'maxConnectionsPerAddress',
    type: integer(0, 10_000_000),
    default: '0',
    describe:
      'Sessions from one address (IPv6: one /64) on one gateway worker; more are refused with 503 and `Retry-After`. Behind a proxy all clients have its address: set `TRUSTED_PROXIES` first. Companies and mobile networks share addresses, so allow hundreds. 0: any number.'
  },
  MAX_REPLAY_BYTES: {
    as: 'maxReplayBytes',
    type: integer(2 ** 20, 2 ** 40),
    default: '67108864',
    describe:
      'Bytes of records that a gateway worker reads from logs for clients that come back (and keeps for a second) or catch up; when there are as many, others wait. What is read already may exceed it.'
  }
})

export const delivery = block('Delivery', {
  DELIVERY_LATENCY_BUDGET: {
    as: 'latencyBudget',
    type: milliseconds(0, 1000),
    default: '0',
    describe:
      'How long a record may wait for others that the same client gets, so that they leave in one write, ms. 0: only for those of the same turn of the event loop.'
  },
  COMPRESS_FROM: {
    as: 'compressFrom',
    type: integer(0, 64 * 2 ** 20),
    default: '0',
    describe:
      'Records whose frames have at least so many bytes are compressed, once for all clients that take it (permessage-deflate). 0: none are.'
  }
})

export const heartbeat = block('Heartbeat', {
  HEARTBEAT_MIN: {
    as: 'min',
    type: milliseconds(1000, 600_000),
    default: '5000',
    describe: 'Silence of a new connection before it is pinged, ms; grows with each two answers in time.'
  },
  HEARTBEAT_MAX: {
    as: 'max',
    type: milliseconds(1000, 600_000),
    default: '25000',
    describe:
      'Longest time between two pings, ms; clients are told this one. Longer means fewer packets, and that dead connections are found later.'
  },
  HEARTBEAT_TIMEOUT: {
    as: 'timeout',
    type: milliseconds(1000, 600_000),
    default: '20000',
    describe: 'How long a ping may stay unanswered, ms; clients are told this one as well.'
  },
  HEARTBEAT_TIERS: {
    as: 'tiers',
    type: tiers,
    default: '',
    describe:
      'Other figures for connections whose token has a `tier`, as `name:min:max:timeout`, comma separated: `editors:2000:10000:5000`. None may be larger than those that clients are told.'
  }
})

export const history = block('History', {
  HISTORY_SIZE: {
    as: 'size',
    type: integer(1, 1_000_000),
    default: '1000',
    describe: 'Records kept per document, for clients that come back.'
  },
  HISTORY_TTL: {
    as: 'ttl',
    type: integer(1, 30 * 86_400),
    default: '600',
    describe: 'How long the records of a document are kept after its last one, s.'
  }
})

export const presence = block('Presence', {
  PRESENCE_MAX_MEMBERS: {
    as: 'maxMembers',
    type: integer(0, 100_000),
    default: '500',
    describe:
      'Members of a document up to which each is told of the others; where there are more, they are told their number only. 0: always.'
  },
  PRESENCE_MAX_STATE_BYTES: {
    as: 'maxStateBytes',
    type: integer(2, 2 ** 20),
    default: '2048',
    describe: 'Largest presence state of a connection in a document, bytes of JSON.'
  },
  PRESENCE_GRACE: {
    as: 'grace',
    type: milliseconds(0, 600_000),
    default: '5000',
    describe:
      'How long a connection that was lost is still counted as present, and its user as online, so that who reconnects has neither left nor joined, ms; the same for all processes. A worker that stops waits as long for those who go elsewhere.'
  }
})

export const auth = block('Authentication', {
  AUTH_JWT_SECRET: {
    as: 'secret',
    type: z.string().min(32, 'must have at least 32 characters (RFC 7518, 3.2)'),
    secret: true,
    describe: 'Shared secret of HS256, HS384 or HS512 tokens.'
  },
  AUTH_JWT_PUBLIC_KEY_FILE: {
    as: 'publicKeyFile',
    type: text(),
    describe: 'PEM public key of RS256, PS256, ES256 or EdDSA tokens.'
  },
  AUTH_JWKS_URL: {
    as: 'jwksUrl',
    type: url('https:', 'http:'),
    describe: 'Key set of the token issuer; fetched again when a token names an unknown key.'
  },
  AUTH_ALLOW_ANONYMOUS: {
    as: 'allowAnonymous',
    type: flag(),
    defaultText: '`true` if no key is set and not in production',
    describe: 'Connections without a token; each gets a user id of its own that starts with `anonymous:`.'
  },
  AUTH_ACCESS_URL: {
    as: 'accessUrl',
    type: url('https:', 'http:'),
    describe:
      'Asked (POST) whether a user may open a document when the token has no `documents` claim. Default: every document may be read and written.'
  }
})

export const api = block('API', {
  API_HOST: { as: 'host', type: text(), default: '127.0.0.1', describe: 'Address of the api for business services.' },
  API_PORT: { as: 'port', type: port(), default: '3001', describe: 'Port of the HTTP api.' },
  GRPC_PORT: {
    as: 'grpcPort',
    type: port(),
    default: '50051',
    describe: 'Kept for a gRPC api; nothing listens there.'
  },
  API_TOKENS: {
    as: 'tokens',
    type: list(),
    secret: true,
    default: '',
    describe:
      'Callers as `name:token`, comma separated; each sends `Authorization: Bearer <token>`. Required in production; otherwise, when none is set, callers on this machine need none.'
  }
})

export const admin = block('Administration', {
  ADMIN_HOST: {
    as: 'host',
    type: text(),
    default: '127.0.0.1',
    describe: 'Address of `/metrics`, `/live` and `/ready`.'
  },
  ADMIN_PORT: { as: 'port', type: port(), default: '9100', describe: 'Port of `/metrics`, `/live` and `/ready`.' },
  AGENT_PORT: {
    as: 'agentPort',
    type: port(),
    describe:
      'Port on `ADMIN_HOST` where HAProxy\'s `agent-check` learns how loaded this machine is. Not set: there is none.'
  },
  AGENT_CAPACITY: {
    as: 'agentCapacity',
    type: integer(1, 10_000_000),
    default: '20000',
    describe: 'Connections per gateway worker at which the agent calls this machine full.'
  },
  LOG_LEVEL: {
    as: 'logLevel',
    type: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    describe: 'Least severe level that is logged.'
  }
})

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
    describe: 'Records towards clients.'
  },
  KAFKA_UPLINK_TOPIC: {
    as: 'uplinkTopic',
    type: text(),
    default: 'documents.uplink',
    describe: 'Records from clients.'
  },
  KAFKA_DEAD_LETTER_TOPIC: {
    as: 'deadLetterTopic',
    type: text(),
    default: 'documents.dead-letter',
    describe: 'Records that cannot be delivered, with the reason.'
  },
  KAFKA_TOPIC_PARTITIONS: {
    as: 'partitions',
    type: integer(0, 10_000),
    default: '12',
    describe: 'Partitions of a topic that is missing at the start; 0: never create topics.'
  },
  KAFKA_TOPIC_REPLICATION: {
    as: 'replication',
    type: integer(-1, 100),
    default: '-1',
    describe: 'Replicas of a topic that is missing at the start; -1: the broker\'s default.'
  },
  KAFKA_SSL: { as: 'ssl', type: flag(), default: 'false', describe: 'TLS to the brokers.' },
  KAFKA_SASL_MECHANISM: {
    as: 'saslMechanism',
    type: choice('plain', 'scram-sha-256', 'scram-sha-512'),
    describe: 'How to log in to the brokers.'
  },
  KAFKA_SASL_USERNAME: { as: 'saslUsername', type: text(), describe: 'User name for the brokers.' },
  KAFKA_SASL_PASSWORD: { as: 'saslPassword', type: text(), secret: true, describe: 'Password for the brokers.' }
})

/** All blocks, by their name in the config object, in the order of the table. */
export const BLOCKS = { gateway, limits, delivery, heartbeat, history, presence, auth, api, admin, redis, kafka }
