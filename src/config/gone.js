/**
 * Settings that are gone, with what to do instead. One that is still set is an error, because its value would have no
 * effect. docs/upgrade.md has a row for each.
 * @type {Readonly<Record<string, string>>}
 */
export const GONE = {
  TLS_MIN_VERSION: 'for TLS 1.3 only, set the option --tls-min-v1.3 of Node.js',
  INSTANCE_ID: 'workers are recognized by the host name, and a killed container by PEER_HOST and PEER_PORT',
  TRACES_PER_SECOND: 'a process traces at most 100 stages per second, and none without an SDK of OpenTelemetry',
  TLS_CERT_FILE: 'use TLS_FILES=cert:<path>,key:<path>',
  TLS_KEY_FILE: 'use TLS_FILES=cert:<path>,key:<path>',
  API_TLS_CERT_FILE: 'use API_TLS_FILES=cert:<path>,key:<path>',
  API_TLS_KEY_FILE: 'use API_TLS_FILES=cert:<path>,key:<path>',
  API_TLS_CLIENT_CA_FILE: 'use API_TLS_FILES=cert:<path>,key:<path>,ca:<path>',
  ADMIN_TLS_CERT_FILE: 'use ADMIN_TLS_FILES=cert:<path>,key:<path>',
  ADMIN_TLS_KEY_FILE: 'use ADMIN_TLS_FILES=cert:<path>,key:<path>',
  ADMIN_TLS_CLIENT_CA_FILE: 'use ADMIN_TLS_FILES=cert:<path>,key:<path>,ca:<path>',
  PEER_TLS_CERT_FILE: 'use PEER_TLS_FILES=cert:<path>,key:<path>,ca:<path>',
  PEER_TLS_KEY_FILE: 'use PEER_TLS_FILES=cert:<path>,key:<path>,ca:<path>',
  PEER_TLS_CA_FILE: 'use PEER_TLS_FILES=cert:<path>,key:<path>,ca:<path>',
  KAFKA_SSL_CA_FILE: 'use KAFKA_SSL=ca:<path>',
  KAFKA_SSL_CERT_FILE: 'use KAFKA_SSL=cert:<path>,key:<path>',
  KAFKA_SSL_KEY_FILE: 'use KAFKA_SSL=cert:<path>,key:<path>',
  KAFKA_SASL_OAUTHBEARER_TOKEN_FILE: 'use KAFKA_SASL_TOKEN_SOURCE=<path>',
  KAFKA_SASL_OAUTHBEARER_TOKEN_URL: 'use KAFKA_SASL_TOKEN_SOURCE=<url>',
  KAFKA_SASL_OAUTHBEARER_SCOPE: 'use KAFKA_SASL_TOKEN_SOURCE=<url>?scope=<scope>',
  DEMO_DOCUMENTS_URL: 'use EXTENSION_DEMO_DOCUMENTS_URL, which the demo page reads with the same value',
  TRUST_PROXY: 'use TRUSTED_PROXIES, which takes the same values',
  MAX_JOINS_PER_SECOND: 'use OPERATION_RATES=doc:join=…',
  MAX_SIGNALS_PER_SECOND: 'use OPERATION_RATES=doc:signal=…',
  TLS_OCSP_FILE: 'no response is stapled',
  HANG_TIMEOUT: 'a process that does not answer for 10 s is killed, unless it has a debugger',
  MAX_WAITING_RECORDS: 'use MAX_WAITING_BYTES, which counts 256 bytes for each queued record besides its frame',
  MAX_WAITING_RECORDS_TOTAL: 'each queued record counts 256 bytes in the bound of all queues',
  MAX_WAITING_BYTES_TOTAL: 'it is derived from the heap of a worker',
  MAX_REPLAY_BYTES: 'it is derived from the heap of a worker',
  MAX_PENDING_RECEIPTS: 'it is derived from the heap of a worker',
  HEARTBEAT_MIN: 'use NETWORK=min:max:timeout',
  HEARTBEAT_MAX: 'use NETWORK=min:max:timeout',
  HEARTBEAT_TIMEOUT: 'use NETWORK=min:max:timeout',
  AGENT_CAPACITY: 'a machine has the lowest weight with 20,000 connections for each worker, or MAX_CONNECTIONS if that is less',
  PUBLISH_WAIT_TIMEOUT: 'a write has 3 s to be confirmed',
  KAFKA_TOPIC_REPLICATION: 'set default.replication.factor of the brokers, or create the topics before the first start'
}
