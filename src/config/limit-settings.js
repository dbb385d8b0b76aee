import * as v from 'valibot'
import { string } from '../base/common/schema.js'
import { block, described, integer, list, milliseconds, share } from './setting.js'
import { readTenants } from './tenants.js'

/** Events that may have a rate of their own. */
const RATED = ['doc:join', 'doc:leave', 'doc:send', 'doc:signal', 'doc:members', 'doc:history', 'doc:state', 'auth:refresh']
/** `doc:history=5` */
const RATE = /^([a-z]+:[a-z]+)=(\d{1,6}(?:\.\d{1,3})?)$/

const [LEAST, MOST] = [1, 1_000_000]

const eventRates = described(
  // toLocaleString would load ICU: 8 MB and 14 ms in each process
  `${LEAST} to 1,000,000, then rates of single events`,
  v.pipe(
    list(),
    v.check(
      ([all]) => /^\d{1,7}$/.test(all) && Number(all) >= LEAST && Number(all) <= MOST,
      `must begin with a whole number from ${LEAST} to ${MOST}`
    ),
    v.check(
      ([, ...single]) => single.every((entry) => {
        const [, event, perSecond] = RATE.exec(entry) ?? []
        return RATED.includes(event) && Number(perSecond) > 0
      }),
      `after the first, each entry must be event=rate, as doc:history=5, with one of ${RATED.join(', ')}`
    ),
    v.transform(([all, ...single]) => ({
      all: Number(all),
      single: single.map((entry) => {
        const [, event, perSecond] = /** @type {RegExpExecArray} */ (RATE.exec(entry))
        return { event, perSecond: Number(perSecond) }
      })
    }))
  )
)

const tenants = described('JSON', v.pipe(
  string(),
  v.check((text) => readTenants(text).problem === undefined, ({ input }) => readTenants(input).problem ?? ''),
  v.transform((text) => readTenants(text).tenants)
))

export const limits = block('Limits', {
  MAX_RECORD_BYTES: {
    as: 'maxRecordBytes',
    type: integer(1, 64 * 2 ** 20),
    default: '1048576',
    describe: 'Maximum size of the value of a record, or of a client\'s event, bytes.'
  },
  MAX_DOCUMENTS_PER_CONNECTION: {
    as: 'maxDocumentsPerConnection',
    type: integer(1, 1_000_000),
    default: '100',
    describe: 'Documents that one connection may have open.'
  },
  MAX_EVENTS_PER_SECOND: {
    as: 'eventRates',
    type: eventRates,
    default: '100',
    describe:
      'Events that one connection may send per second. A burst may have twice this number. After a comma may follow limits of single ' +
      'events, which also count for the first number: `100,doc:join=20,doc:signal=50`. A burst of `doc:join` may have at least ' +
      '`MAX_DOCUMENTS_PER_CONNECTION`, and documents in the handshake do not count. Operations of the api have `rates` in ' +
      '`API_CALLERS_FILE` (docs/callers.md).'
  },
  MAX_BYTES_PER_SECOND: {
    as: 'maxBytesPerSecond',
    type: integer(1024, 2 ** 40),
    default: '1048576',
    describe:
      'Bytes that one user may send to one gateway worker per second, over all connections together. A burst may have ' +
      '`MAX_RECORD_BYTES` more.'
  },
  MAX_WAITING_BYTES: {
    as: 'maxWaitingBytes',
    type: integer(1024, 2 ** 40),
    default: '1048576',
    describe:
      'Above this number of queued bytes (256 for each record, and its frame) a slow connection is *behind*: it gets further records of ' +
      'documents from the log, when it reads again. Already above 65,536 queued bytes it gets no ephemeral records; of the signals it ' +
      'gets the newest ones later.'
  },
  RECEIPT_TIMEOUT: {
    as: 'receiptTimeout',
    type: milliseconds(1000, 600_000),
    default: '10000',
    describe: 'Maximum time for a client to acknowledge a record with `x-receipt`, ms.'
  },
  RECEIPT_SAMPLE: {
    as: 'receiptSample',
    type: share(),
    default: '0',
    describe:
      'Share of the records without `x-receipt` whose way to the browser is measured: inkcast-client acknowledges them by itself ' +
      '(docs/tracing.md#from-record-to-browser).'
  },
  MAX_HANDSHAKES_PER_SECOND: {
    as: 'maxHandshakesPerSecond',
    type: integer(1, 1_000_000),
    default: '2000',
    describe:
      'New clients that a gateway worker accepts per second, also in a burst. The same number of further clients waits for up to a ' +
      'second. All others get 503 and try again.'
  },
  MAX_CONNECTIONS: {
    as: 'maxConnections',
    type: integer(1, 10_000_000),
    derived: ({ connections }) => String(connections),
    defaultText: 'limit of open files (`ulimit -n`), minus 5 % and 64',
    describe:
      'Maximum TCP connections to the port of one gateway worker. Above it new clients get 503 with `Retry-After`. The default leaves ' +
      'descriptors for Redis, Kafka and other ports; set the number that you plan for one worker (docs/how-to/sizing.md).'
  },
  MAX_CONNECTIONS_PER_USER: {
    as: 'maxConnectionsPerUser',
    type: integer(0, 10_000_000),
    default: '50',
    describe:
      'Connections of one user to one gateway worker. Further ones are refused with `too_many_connections`. Set more for an account ' +
      'that many people or devices share. 0: no limit.'
  },
  MAX_CONNECTIONS_PER_ADDRESS: {
    as: 'maxConnectionsPerAddress',
    type: integer(0, 10_000_000),
    default: '500',
    describe:
      'Sessions from one address (IPv6: one /64) on one gateway worker. Further ones get 503 with `Retry-After`. Behind a proxy all ' +
      'clients have the proxy\'s address: set `TRUSTED_PROXIES`. Until then, private and loopback addresses do not count. Companies ' +
      'and mobile networks share addresses, so allow hundreds. 0: no limit.'
  },
  TENANTS: {
    as: 'tenants',
    type: tenants,
    describe:
      'Applications that share this cluster, each with documents, users and callers of its own, and budgets for all processes together: ' +
      '`connections`, `events` of clients per second, `publications` of callers per second ([tenants](tenants.md)).'
  }
})
