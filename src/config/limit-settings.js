import { z } from 'zod'
import { block, integer, list, milliseconds } from './setting.js'

/** Events that may have a rate of their own; doc:join and doc:signal have settings. */
const RATED = ['doc:leave', 'doc:send', 'doc:members', 'doc:history', 'doc:state', 'auth:refresh']
/** `doc:history=5` */
const RATE = /^([a-z]+:[a-z]+)=(\d{1,6}(?:\.\d{1,3})?)$/

const operationRates = list().pipe(
  z
    .array(
      z.string().refine((entry) => {
        const [, event, perSecond] = RATE.exec(entry) ?? []
        return RATED.includes(event) && Number(perSecond) > 0
      }, `each must be event=rate, as doc:history=5, with one of ${RATED.join(', ')}`)
    )
    .transform((entries) =>
      entries.map((entry) => {
        const [, event, perSecond] = /** @type {RegExpExecArray} */ (RATE.exec(entry))
        return { event, perSecond: Number(perSecond) }
      })
    )
)

export const limits = block('Limits', {
  MAX_RECORD_BYTES: {
    as: 'maxRecordBytes',
    type: integer(1, 64 * 2 ** 20),
    default: '1048576',
    describe: 'Maximum value of a record, or of a client\'s event, bytes.'
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
  MAX_JOINS_PER_SECOND: {
    as: 'maxJoinsPerSecond',
    type: integer(0, 1_000_000),
    default: '0',
    describe:
      '`doc:join` events that one connection may send per second, of all its events; at once twice that, and as many as it may have documents. Documents of the handshake do not count. 0: as all events.'
  },
  MAX_SIGNALS_PER_SECOND: {
    as: 'maxSignalsPerSecond',
    type: integer(0, 1_000_000),
    default: '0',
    describe:
      '`doc:signal` events that one connection may send per second, of all its events; twice that in a burst. 0: as all events.'
  },
  OPERATION_RATES: {
    as: 'operationRates',
    type: operationRates,
    default: '',
    describe:
      'Rates per second of other events of one connection, comma separated, as `doc:history=5,doc:members=2`; twice that in a burst. For operations of the api: `rates` in `API_CALLERS_FILE` (docs/callers.md).'
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
      'Maximum bytes queued for a slow connection; above this it is *behind*: it gets records of documents from the log when it reads again. Above 65536 it gets no ephemeral records.'
  },
  MAX_WAITING_RECORDS: {
    as: 'maxWaitingRecords',
    type: integer(1, 1_000_000),
    default: '4096',
    describe: 'Maximum records queued for a slow connection, with the same effect.'
  },
  MAX_WAITING_BYTES_TOTAL: {
    as: 'maxWaitingBytesTotal',
    type: integer(1024, 2 ** 40),
    default: '268435456',
    describe:
      'Maximum bytes queued for all connections of a gateway worker; above this each connection with more than 65536 queued bytes is behind. A shared frame counts once per connection.'
  },
  MAX_WAITING_RECORDS_TOTAL: {
    as: 'maxWaitingRecordsTotal',
    type: integer(1, 1_000_000_000),
    default: '1000000',
    describe: 'Maximum records queued for all connections of a gateway worker, with the same effect.'
  },
  SLOW_TIMEOUT: {
    as: 'slowTimeout',
    type: milliseconds(1000, 3_600_000),
    default: '60000',
    describe:
      'Time after which a connection is closed that stays behind, or reads nothing of its queue, ms. The client reconnects and resumes.'
  },
  RECEIPT_TIMEOUT: {
    as: 'receiptTimeout',
    type: milliseconds(1000, 600_000),
    default: '10000',
    describe: 'Maximum time for a client to acknowledge a record with `x-receipt`, ms.'
  },
  MAX_PENDING_RECEIPTS: {
    as: 'maxPendingReceipts',
    type: integer(0, 10_000_000),
    default: '100000',
    describe:
      'Maximum pending acknowledgements per gateway worker; when the limit is reached, further records ask for no acknowledgements. 0: never ask.'
  },
  MAX_HANDSHAKES_PER_SECOND: {
    as: 'maxHandshakesPerSecond',
    type: integer(1, 1_000_000),
    default: '2000',
    describe:
      'New clients per gateway worker and second, and the maximum burst; the same number waits for at most a second. Further clients are refused with 503 and reconnect.'
  },
  OVERLOAD_LAG: {
    as: 'overloadLag',
    type: milliseconds(0, 60_000),
    default: '1000',
    describe:
      'A gateway worker whose event loop is later than this, ms (or whose memory is full), refuses new clients, and after 5 s also sends anonymous clients away, 1 % of all connections at a time, with `overloaded` (docs/operations.md, Overload). 0: it does neither.'
  },
  MAX_CONNECTIONS: {
    as: 'maxConnections',
    type: integer(1, 10_000_000),
    derived: ({ connections }) => String(connections),
    defaultText: 'limit of open files (`ulimit -n`), minus 5 % and 64',
    describe:
      'TCP connections to the port of one gateway worker; above this clients are refused with 503 and `Retry-After`. The other descriptors are reserved for Redis, Kafka, the api and the admin port.'
  },
  MAX_CONNECTIONS_PER_USER: {
    as: 'maxConnectionsPerUser',
    type: integer(0, 10_000_000),
    default: '1000',
    describe:
      'Connections of one user to one gateway worker; further ones are refused with `too_many_connections`. 0: no limit.'
  },
  MAX_CONNECTIONS_PER_ADDRESS: {
    as: 'maxConnectionsPerAddress',
    type: integer(0, 10_000_000),
    default: '0',
    describe:
      'Sessions from one address (IPv6: one /64) on one gateway worker; further ones are refused with 503 and `Retry-After`. Behind a proxy all clients have the proxy\'s address: set `TRUSTED_PROXIES` first. Companies and mobile networks share addresses, so allow hundreds. 0: no limit.'
  },
  MAX_REPLAY_BYTES: {
    as: 'maxReplayBytes',
    type: integer(2 ** 20, 2 ** 40),
    default: '67108864',
    describe:
      'Maximum bytes of records that a gateway worker reads from logs at a time, for clients that reconnect (kept for a second) or catch up; further reads wait. Reads in progress may exceed it.'
  }
})
