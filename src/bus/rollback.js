import { newEpoch } from '../wire/position.js'
import { logOf } from '../wire/publication.js'
import { documentLog, documentMeta } from '../redis/keys.js'
import { META_TTL } from './redis-publish.js'

/**
 * Detects that Redis has lost the last records of a document's log, and begins another epoch for the document.
 *
 * Redis writes to its replica and to its disk shortly after it has replied. After a failover or a restart a log may
 * therefore end before records that workers have already delivered, and assign the same offsets to other records:
 *
 *     master              log of the document   what workers know
 *     publish a, b, c     e1: 1 a, 2 b, 3 c     live up to e1:3, client X has all three
 *     failover            e1: 1 a               b and c were not replicated
 *     publish d           e1: 1 a, 2 d          X has seen e1:2, so its worker would drop d as a duplicate
 *
 * Each worker therefore remembers two positions of each document that it has subscribed: the last offset received live,
 * and the furthest end of the log that it has read. Either of these observations proves the loss:
 *
 * - an offset is received live a second time (above: e1:2 with d);
 * - the end of the log lies before a known offset (above, before d: the log ends at e1:1, e1:3 was received live).
 *
 * The worker then calls reset.lua: it drops the log and assigns epoch e2 to the document. From then on positions of
 * e1 return the gap `epoch`, so each client of the document resynchronizes instead of missing d.
 *
 * An offset received live for the first time, at or before an end that was read, proves nothing: the record may have
 * been in flight while the end was read. In this case the worker reads the end again.
 *
 * Reasons and losses that stay undetected: docs/decisions/0022-epoch-after-a-loss.md
 *
 * @typedef {import('../wire/position.js').Position} Position
 *
 * @typedef {object} KnownEnd
 * @property {string} epoch of the last live record; '' before the first one
 * @property {number} offset of the last live record
 * @property {Position} read the last end that was read, the furthest of its epoch; replaced, never changed
 * @property {boolean} unsure `read` is beyond the live records, and no live record has followed: the next one may have
 *   been in flight, or has an offset that is assigned a second time
 */

/**
 * @param {object} dependencies
 * @param {Pick<import('../redis/client.js').RedisConnection, 'scripts'>} dependencies.redis
 * @param {(guid: string) => Promise<Position | null | undefined>} dependencies.readEnd reads the end of a log, resets
 *   the document first if necessary
 * @param {(guid: string) => void} dependencies.onReset the members of the document must be compared with its log
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../common/log.js').Log} dependencies.log
 * @param {import('../wire/position.js').EpochSource} dependencies.random
 */
export function createRollback ({ redis: { scripts }, readEnd, onReset, metrics, log, random }) {
  /** Subscribed documents; bounded by the number of feeds. @type {Map<string, KnownEnd>} */
  const subscribed = new Map()
  /** Documents that are being reset because of a live record. @type {Set<string>} */
  const resetting = new Set()

  /**
   * Begins another epoch, because this one has assigned an offset twice, or has lost an assigned one.
   * @param {string} guid
   * @param {string} epoch
   */
  async function reset (guid, epoch) {
    metrics.bus_errors.inc({ operation: 'rollback' })
    const done = await scripts.reset([documentLog(guid), documentMeta(guid)], [epoch, newEpoch(random), META_TTL])
    if (done === 1) log.warn({ guid }, 'redis has lost the last records of a document: new epoch, its clients resync')
  }

  /** @param {string} guid @param {string} epoch that assigned an offset twice */
  function resetOnce (guid, epoch) {
    if (resetting.has(guid)) return
    resetting.add(guid)
    reset(guid, epoch)
      .then(
        () => onReset(guid),
        () => {}
      ) // after a failure the next record proves the loss again
      .finally(() => resetting.delete(guid))
  }

  /**
   * Reads the end of a log, which resets the document if records are lost. That end is not noted: if records are
   * appended faster than live delivery receives them, each look would cause the next one.
   * @param {string} guid
   * @param {string} epoch of the log if nothing is lost
   */
  function look (guid, epoch) {
    readEnd(guid).then(
      (end) => {
        if (end?.epoch !== epoch) onReset(guid)
      },
      () => {
        // the next record repeats the look
        const known = subscribed.get(guid)
        if (known !== undefined) known.unsure = true
      }
    )
  }

  return {
    reset,

    /** @returns {IterableIterator<string>} documents that are subscribed */
    guids: () => subscribed.keys(),

    /** @param {string} guid @returns {KnownEnd} identifies this subscription; the next one keeps the known positions */
    subscribe (guid) {
      const subscription = { ...(subscribed.get(guid) ?? nothingKnown()) }
      subscribed.set(guid, subscription)
      return subscription
    },

    /**
     * @param {string} guid
     * @param {KnownEnd} [subscription] only this one; default: the current one
     * @returns {boolean} whether the document was subscribed (by it) until now
     */
    unsubscribe: (guid, subscription = subscribed.get(guid)) =>
      subscription !== undefined && subscribed.get(guid) === subscription && subscribed.delete(guid),

    clear () { subscribed.clear() },

    /**
     * Called for every live record: one comparison for a record in order.
     * @param {import('./contract.js').BusRecord} record
     * @returns {boolean} whether to deliver it
     */
    accepts ({ publication, epoch, offset }) {
      const guid = logOf(publication) ?? ''
      const known = subscribed.get(guid)
      if (known === undefined) return false
      if (offset === 0) return true
      if (epoch === known.epoch && offset <= known.offset) {
        resetOnce(guid, epoch)
        return false
      }
      known.epoch = epoch
      known.offset = offset
      if (known.unsure) {
        known.unsure = false
        if (epoch === known.read.epoch && offset <= known.read.offset) look(guid, epoch)
      }
      return true
    },

    /**
     * @param {string} guid
     * @returns {KnownEnd | undefined} a copy, to be taken before an end is read: live records that arrive meanwhile may
     *   be newer than the reply
     */
    knownOf (guid) {
      const known = subscribed.get(guid)
      return known && { ...known }
    },

    /** @param {string} guid @param {Position | null | undefined} end that was read */
    note (guid, end) {
      const known = subscribed.get(guid)
      if (known !== undefined && end != null) noteRead(known, end)
    }
  }
}

/** @returns {KnownEnd} */
const nothingKnown = () => ({ epoch: '', offset: 0, read: { epoch: '', offset: 0 }, unsure: false })

/**
 * @param {Position} position
 * @param {Position} other
 * @returns {boolean} whether both are of one log, and `other` is later
 */
const isBefore = (position, other) => position.epoch === other.epoch && position.offset < other.offset

/**
 * @param {Position} end of a log
 * @param {KnownEnd | undefined} known as it was before the end was read
 * @returns {boolean} whether the log has lost records
 */
export const hasLost = (end, known) => known !== undefined && (isBefore(end, known) || isBefore(end, known.read))

/** @param {KnownEnd} known @param {Position} end that was read */
function noteRead (known, end) {
  const { epoch, offset } = known.read
  if (end.epoch === epoch && end.offset <= offset) return
  known.read = { epoch: end.epoch, offset: end.offset }
  known.unsure = end.epoch !== known.epoch || end.offset > known.offset
}
