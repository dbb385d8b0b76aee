import { laneOf } from '../wire/publication.js'

/**
 * The document bus: what carries publications from whoever accepts them to the workers that have members for them,
 * and keeps the log of each document. Two implementations, `createMemoryBus` (embedded mode) and `createRedisBus`,
 * pass the same suite (test/contract/bus.js).
 *
 * The log is the truth and live delivery only the fast path: `onRecord` may miss records (a lost connection to Redis),
 * never reorder or invent them; offsets show a gap and `history` fills it. Handlers are never called from within a call
 * of the bus, but may be before its promise resolves.
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {import('../wire/position.js').Position} Position
 */

/**
 * What to publish. With `origin`, it is published once however often it is offered: a log remembers the newest origin
 * of each source (origin.js), and what is not newer is a duplicate. So is, for some time, what has an idempotency key
 * that the log has taken before, with or without an origin. Ephemeral publications and those that are not for a
 * document have no log and are not deduplicated.
 *
 * @typedef {object} Entry
 * @property {Publication} publication
 * @property {import('./origin.js').Origin} [origin] for a Kafka record: its partition, leader epoch and offset. A
 *   document has as few sources as its key had partitions; each is remembered
 */

/**
 * @typedef {object} Published
 * @property {Position | null} position where it stands in the document's log; null if it is not kept. For a duplicate:
 *   the log's end
 * @property {boolean} duplicate it was in the log already and was not published again
 */

/**
 * A publication as a worker gets it.
 * @typedef {object} BusRecord
 * @property {string} epoch '' if it has no place in a log
 * @property {number} offset 0 if it has no place in a log
 * @property {Publication} publication its value must not be changed
 * @property {number} ingestedAt ms since 1970
 * @property {string} [receiptId] names the receipt of this record to all workers that it reaches; only where a receipt
 *   is asked for and there may be several workers
 */

/**
 * @typedef {object} History
 * @property {Position} position the end of the log at the time of reading
 * @property {BusRecord[]} records in order, without a hole, the first right after `since`; at most `limit`
 * @property {null | 'epoch' | 'trimmed'} gap why the records after `since` are not all there any more: another log
 *   began, or the log reaches no longer back that far; then `records` is empty. A `since` past the end is 'epoch' too:
 *   such a position cannot come from this log
 */

/**
 * @typedef {object} BusHandlers
 * @property {(record: BusRecord) => void} onRecord a broadcast of a subscribed document, kept ones in the order of
 *   their offsets
 * @property {(publication: Publication, receiptId?: string, at?: number) => void} onDirect user, socket, kick, revoke
 *   and everyone publications for this worker; `receiptId` as in BusRecord. Kicks and revokes come without their value,
 *   and do come, also where live delivery was interrupted, with the time `at` which they were taken, ms since 1970
 * @property {(uid: string, orders: import('./orders.js').Order[]) => void} onOrders what was ordered about a user of
 *   this worker within seven days: with `addUser`, before it resolves, and with each renewal of it; not called where
 *   there is nothing
 * @property {(guids: string[]) => void} onReconnect live delivery of these documents was interrupted and is there
 *   again: compare with the ends of their logs, for whatever passed meanwhile was missed (`positions` may still say
 *   unavailable for a moment). Publications for users, connections and everyone may have been missed as well; kicks and
 *   revokes were told before
 */

/**
 * @typedef {object} Bus
 * @property {(handlers?: BusHandlers) => Promise<void>} start resolves when publications reach this process; without
 *   handlers it only publishes
 * @property {() => Promise<void>} stop
 * @property {(entries: Entry[]) => Promise<Published[]>} publish entries must all be of one lane (`laneOf`, else a
 *   TypeError); they are appended and delivered in their order, and a later one never without the earlier ones. Between
 *   calls the order holds for whoever waits for the first. Rejects with a retryable InkcastError: `unavailable` if it
 *   was not done, `timeout` if its outcome is unknown (offer the same entries again: those with an origin are there
 *   once, others may be there twice then), `internal` if the backend refused it as such. Never takes long: 3 s where
 *   the backend hangs. A kick or revoke is published when each worker concerned has it that is not known to have ended;
 *   `unavailable` for one that does not listen for 2.5 s, which carries it out when it does
 * @property {(guid: string) => Promise<Position>} subscribe resolves, when records of the document are delivered live
 *   from now on, with the end of its log (read after the subscription, so nothing lies between). A document without a
 *   log gets one. Subscriptions are a set, not a count; with `unsubscribe` the last call holds, whatever the order of
 *   the answers, and a call that it overtook may reject with `unavailable`. After a rejection it is as if nobody had
 *   asked
 * @property {(guid: string) => Promise<void>} unsubscribe nothing of the document is delivered from the call on
 * @property {(guid: string, since: Position, limit: number) => Promise<History>} history
 * @property {(guids: string[]) => Promise<(Position | null | undefined)[]>} positions ends of logs, in one round trip
 *   where possible; null where there is no log; undefined where the part of the backend that has it does not answer.
 *   Rejects when none of them does
 * @property {(uid: string) => Promise<void>} addUser publications for the user (user, revoke, kick) reach this worker
 *   from now on, until removeUser; a set, not a count. What was ordered before comes by `onOrders`. After a rejection
 *   it is as if nobody had asked
 * @property {(uid: string) => Promise<void>} removeUser never rejects
 */

/**
 * @typedef {object} Idempotency
 * @property {number} ttl s after the first request, whatever came since
 * @property {number} keys per document; the oldest is forgotten first
 */

/**
 * How long idempotency keys are known: publishers retry within seconds, or within minutes after a restart.
 * @type {Readonly<Idempotency>}
 */
export const IDEMPOTENCY = Object.freeze({ ttl: 900, keys: 10_000 })

/**
 * The target of a batch, which is the same for all of it: a bus keeps the order within a lane only.
 *
 * @param {Entry[]} entries at least one
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
