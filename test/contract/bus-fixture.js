import { randomBytes, randomInt } from 'node:crypto'
import { waitFor } from '../helpers/wait.js'

/**
 * Shared by the parts of the bus contract: two workers and a publisher, the inboxes of the workers, and helpers.
 *
 * @typedef {import('../../src/log/bus/contract.js').Bus} Bus
 * @typedef {import('../../src/log/bus/contract.js').BusHandlers} BusHandlers
 * @typedef {import('../../src/log/bus/contract.js').BusRecord} BusRecord
 * @typedef {import('../../src/wire/publication.js').Publication} Publication
 *
 * @typedef {object} PairOptions
 * @property {[BusHandlers, BusHandlers]} handlers
 * @property {[number, number]} workers
 * @property {import('../../src/log/bus/contract.js').HistoryLimits} history may be changed later
 * @property {import('../../src/log/bus/contract.js').Idempotency} [idempotency]
 *
 * @typedef {object} Pair started buses
 * @property {Bus} first
 * @property {Bus} second
 * @property {Bus} publisher has neither worker number nor handlers
 * @property {() => Promise<void>} stop
 *
 * @typedef {(options: PairOptions) => Promise<Pair>} CreatePair
 *
 * @typedef {object} Inbox
 * @property {BusRecord[]} records
 * @property {Publication[]} directs
 * @property {{ uid: string, orders: import('../../src/log/bus/orders.js').Order[] }[]} orders
 * @property {string[][]} reconnects
 * @property {(record: BusRecord) => void} onRecord may be replaced
 * @property {(direct: Publication) => unknown} onDirect may be replaced; of an order 3 connections
 * @property {(guids: string[]) => void} onReconnect may be replaced
 *
 * @typedef {Pair & { one: Inbox, two: Inbox }} OpenPair
 * @typedef {ReturnType<typeof createFixture>} Fixture
 */

/** @param {CreatePair} createPair */
export function createFixture (createPair) {
  // random, because other tests may use the same Redis; gateways of other tests have the lowest ones
  const workers = /** @type {[number, number]} */ ([randomInt(1000, 2000), randomInt(2000, 4000)])
  /** @type {OpenPair | undefined} */
  let opened

  return {
    workers,

    /** The pair shared by most tests. @returns {OpenPair} */
    get pair () {
      if (opened === undefined) throw new Error('the pair is created before the first test')
      return opened
    },

    async start () { opened = await this.open({ size: 1000, ttl: 60 }) },
    async stop () { await opened?.stop() },

    /**
     * @param {import('../../src/log/bus/contract.js').HistoryLimits} history may be changed later
     * @param {import('../../src/log/bus/contract.js').Idempotency} [idempotency]
     * @returns {Promise<OpenPair>}
     */
    async open (history, idempotency) {
      const one = createInbox()
      const two = createInbox()
      return {
        ...(await createPair({ handlers: [handlersOf(one), handlersOf(two)], workers, history, idempotency })),
        one,
        two
      }
    },

    /** Resolves when all earlier publications are delivered. @param {string} guid subscribed on both */
    async flush (guid) {
      const mark = fresh('mark')
      const { publisher, one, two } = this.pair
      await publisher.publish([entry(guid, mark, { ephemeral: true })])
      await waitFor(() => [one, two].every((box) => texts(of(box, guid)).includes(mark)), { message: 'the mark' })
    }
  }
}

/** @returns {Inbox} */
export function createInbox () {
  /** @type {Inbox} */
  const box = {
    records: [],
    directs: [],
    orders: [],
    reconnects: [],
    onRecord: (record) => { box.records.push(record) },
    onDirect: (direct) => {
      box.directs.push(direct)
      return 3
    },
    onReconnect: (guids) => { box.reconnects.push(guids) }
  }
  return box
}

/** @param {Inbox} box @returns {BusHandlers} */
export function handlersOf (box) {
  return {
    onRecord: (record) => box.onRecord(record),
    onDirect: (direct) => box.onDirect(direct),
    onOrders: (uid, orders) => { box.orders.push({ uid, orders }) },
    onReconnect: (guids) => box.onReconnect(guids)
  }
}

/** @param {string} [label] @returns {string} a name used by no other test */
export const fresh = (label = 'doc') => `${label}-${randomBytes(8).toString('hex')}`

/** @param {Partial<Publication>} [fields] @returns {Publication} */
export function publication (fields = {}) {
  return {
    operator: 'broadcast',
    event: 'message',
    except: [],
    ephemeral: false,
    receipt: false,
    traceId: randomBytes(16).toString('hex'),
    timestamp: 1_700_000_000_000,
    contentType: 'application/json',
    value: Buffer.from('{}'),
    ...fields
  }
}

/** @param {string} guid @param {number | string} text @param {Partial<Publication>} [fields] */
export const entry = (guid, text, fields) => ({
  publication: publication({ guid, value: Buffer.from(JSON.stringify(text)), ...fields })
})

/** @param {Inbox} box @param {string} guid */
export const of = (box, guid) => box.records.filter((record) => record.publication.guid === guid)

/** @param {Inbox} box @param {string} guid @param {number} count */
export const arrived = (box, guid, count) =>
  waitFor(() => of(box, guid).length >= count, { message: () => `${count} records, there are ${of(box, guid).length}` })

/** @param {BusRecord[]} records */
export const texts = (records) => records.map((record) => JSON.parse(record.publication.value.toString()))

/** @param {BusRecord[]} records */
export const offsets = (records) => records.map((record) => record.offset)

/** @param {number} length @param {number} [from] */
export const range = (length, from = 0) => Array.from({ length }, (_, i) => i + from)

/** Removes undefined fields, which are not transmitted. @param {unknown} value */
export const plain = (value) => JSON.parse(JSON.stringify(value))
