import { block, integer, milliseconds } from './setting.js'

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
