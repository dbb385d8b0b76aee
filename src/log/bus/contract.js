import { laneOf } from '../../wire/publication.js'

/**
 * The document bus: carries publications from the process that accepts them to the workers that have members for them,
 * and keeps the log of each document.
 *
 * The log is the truth and live delivery only the fast path: `onRecord` may miss records (a lost connection to Redis),
 * but never reorders or invents them; offsets show a gap and `history` fills it. Handlers are never called
 * synchronously from within a call of the bus, but possibly before its promise resolves.
 *
 * @typedef {import('../../wire/publication.js').Publication} Publication
 * @typedef {import('../../wire/position.js').Position} Position
 */

/**
 * A publication to publish. An entry with an `origin` is published once, however often publish is called with it: a log
 * remembers the newest origin of each source (origin.js), and an entry that is not newer is a duplicate. An idempotency
 * key that the log has seen within `ttl` also makes an entry a duplicate, with or without an origin. Ephemeral
 * publications and publications without a document have no log and are not deduplicated.
 *
 * @typedef {object} PublishEntry
 * @property {Publication} publication
 * @property {import('./origin.js').Origin} [origin] for a Kafka record: its partition, leader epoch and offset. The
 *   number of sources of a document is the number of partitions that its key was in; the log remembers each
 * @property {QueuePlace} [queue] for an edit that a client has queued: published once, as with an origin; the log
 *   remembers the last number of each queue for `QUEUE_MARK_TTL`
 *
 * @typedef {{ id: string, uid?: string }} QueueId of a client's queue, and the user that it belongs to: absent for an
 *   anonymous one
 * @typedef {QueueId & { number: number }} QueuePlace of an edit in a client's queue; numbers begin at 1
 */

/**
 * @typedef {object} HistoryLimits of one document
 * @property {number} size records kept
 * @property {number} ttl time that they are kept after the last one, s
 * @property {number} [bytes] bytes of values kept; the newest record is always kept. 0 or undefined: no limit
 * @property {boolean} [keys] false: keys of publications have no effect. Default: of each key only the newest record
 *   is kept
 *
 * @typedef {(guid: string) => HistoryLimits} HistoryOf called for each publication: the limits may change
 */

/**
 * @typedef {object} Published
 * @property {Position | null} position its position in the document's log; null for a publication that is not kept. For
 *   a duplicate: the log's end
 * @property {boolean} duplicate the log had it already, so it was not published again
 * @property {CarriedOut} [carriedOut] of an order only
 */

/**
 * The connections for which an order was carried out, as reported to the publisher.
 * @typedef {object} CarriedOut
 * @property {number} connections that were disconnected, or that had the document open (for `join`: that have it open)
 * @property {number} workers with at least one of these connections
 */

/**
 * A publication as a worker receives it.
 * @typedef {object} BusRecord
 * @property {string} epoch '' if it has no place in a log
 * @property {number} offset 0 if it has no place in a log
 * @property {Publication} publication its value must not be changed
 * @property {number} [after] offset of the record before it in the log, if that is not `offset` - 1: newer records of
 *   their keys have replaced those between. Only on records from `history`
 * @property {true} [lost] records between it and the one before may be missing: Redis has lost data before this record
 *   was published. Only on records from `history`
 * @property {number} ingestedAt ms since 1970
 * @property {string} [receiptId] names the receipt of this record to all workers that it reaches; only if a receipt is
 *   requested and there may be several workers
 */

/**
 * @typedef {object} History
 * @property {Position} position the end of the log at the time of reading
 * @property {BusRecord[]} records in order, the first right after `since`; at most `limit`. Only records that were
 *   replaced by newer ones of their key are left out (`after`); the last one of the log never is
 * @property {null | 'epoch' | 'trimmed'} gap why records after `since` are missing: another log began, or the log was
 *   trimmed beyond `since`; then `records` is empty. A `since` past the end is 'epoch' too: it cannot be a position of
 *   this log
 */

/**
 * @typedef {object} BusHandlers
 * @property {(record: BusRecord) => void} onRecord a broadcast of a subscribed document; kept records in the order of
 *   their offsets
 * @property {(publication: Publication, receiptId?: string, at?: number) => unknown} onDirect user, socket and everyone
 *   publications and orders (`isOrder`) for this worker; `receiptId` as in BusRecord. Orders have no value (except
 *   `close` and `leave`), and are delivered even after an interruption of live delivery, with the time `at` when they
 *   were accepted, ms since 1970. For an order it returns the number of connections, or a promise of it, which must not
 *   reject
 * @property {(uid: string, orders: import('./orders.js').Order[]) => void} onOrders the orders of the last seven days
 *   about a user of this worker: with `addUser`, before it resolves, and with each renewal of the user; not called for
 *   an empty list
 * @property {() => void} [onOrdersDropped] orders for this worker were lost while its lease had ended: its connections
 *   must begin again, which read what lasts
 * @property {(guids: string[]) => void} onReconnect live delivery of these documents was interrupted and works again:
 *   compare with the ends of their logs, because records of the interruption are missing (`positions` may still reject
 *   with `unavailable` for a moment). Publications for users, connections and everyone may be lost as well; missed
 *   kicks and revokes were delivered before this call
 */

/**
 * @typedef {object} Bus
 * @property {(handlers?: BusHandlers) => Promise<void>} start resolves when publications reach this process; without
 *   handlers the bus only publishes
 * @property {() => Promise<void>} stop
 * @property {(entries: PublishEntry[]) => Promise<Published[]>} publish entries must all be of one lane (`laneOf`,
 *   otherwise a TypeError); they are appended and delivered in their order, and a later one never without the
 *   earlier ones. Two calls keep their order if the second one starts after the first one has resolved. Rejects with a
 *   retryable InkcastError: `unavailable` if nothing was published, `timeout` if the outcome is unknown (retry with the
 *   same entries: the log takes entries with an origin once, others possibly twice), `internal` if the backend refused
 *   the entries. Takes 3 s at most when the backend hangs. An order (`isOrder`) is published when each worker concerned
 *   has carried it out, except workers known to have ended; `unavailable` if a worker does not do so for 2.5 s: it
 *   carries the order out when it responds again
 * @property {(guid: string) => Promise<Position>} subscribe resolves as soon as records of the document are delivered
 *   live, with the end of its log (read after the subscription, so there is no gap between them). A document without a
 *   record has a position as well, with the offset 0; its first record continues it. Subscriptions are a set, not a
 *   count. Of `subscribe` and `unsubscribe` the last call decides, regardless of the order of replies; an earlier call
 *   may reject with `unavailable`. A rejected call has no effect
 * @property {(guid: string) => Promise<void>} unsubscribe ends delivery of the document's records with the call
 * @property {(guid: string, since: Position, limit: number) => Promise<History>} history
 * @property {(guid: string, count: number, limit: number) => Promise<History>} newest the first `limit` of the newest
 *   `count` records, as `history` returns them from a position right before the first one. Fewer where the log has no
 *   more, after a loss of data, and where large records (4 MB together) have keys. The gap is null
 * @property {(guid: string, upTo: Position) => Promise<{ position: Position, removed: number } | null>} cut removes
 *   the records up to a position, and resolves with the end of the log and the number removed; null if the position is
 *   none of this log
 * @property {(guid: string, queue: QueueId) => Promise<number>} queuedUpTo the last number of a client's queue that was
 *   accepted, 0 if none is known
 * @property {(guid: string, place: QueuePlace) => Promise<void>} noteQueued
 * @property {(guids: string[]) => Promise<(Position | null | undefined)[]>} positions ends of logs, in one round trip
 *   if possible; for a document without a record the position that `subscribe` gives, or null; undefined if the part of
 *   the backend that has the log does not respond. Rejects if every part fails to respond
 * @property {(uid: string) => Promise<void>} addUser publications for the user (user, revoke, kick) reach this worker
 *   from now on, until removeUser; a set, not a count. Earlier orders are delivered by `onOrders`. A rejected call has
 *   no effect
 * @property {(uid: string) => Promise<void>} removeUser never rejects
 */

/**
 * @typedef {object} Idempotency
 * @property {number} ttl s after the first request with the key; later requests do not extend it
 * @property {number} keys per document; the oldest is dropped first
 */

/**
 * Lifetime of idempotency keys: publishers retry within seconds, or within minutes after a restart.
 * @type {Readonly<Idempotency>}
 */
export const IDEMPOTENCY = Object.freeze({ ttl: 900, keys: 10_000 })

/**
 * Where neither `history` nor `historyOf` is given: the defaults of HISTORY_….
 * @type {Readonly<HistoryLimits>}
 */
export const HISTORY = Object.freeze({ size: 1000, ttl: 600 })

/** Queues that are remembered of a user in a document; a page has one for each browser. */
export const MAX_QUEUES = 256
/** How long the last number of a client's queue is remembered, s: a browser may be offline that long. */
export const QUEUE_MARK_TTL = 30 * 86_400

/**
 * Checks that a batch has one target: a bus keeps the order within a lane only.
 *
 * @param {PublishEntry[]} entries at least one
 * @returns {Publication} the first one: its target is the target of all
 * @throws {TypeError} entries of several lanes, a mistake of the caller
 */
export function oneLane (entries) {
  const first = entries[0].publication
  if (entries.length > 1) {
    const lane = laneOf(first)
    for (const { publication } of entries) {
      if (laneOf(publication) !== lane) throw new TypeError('publish: entries of several lanes in one batch')
    }
  }
  return first
}
