import { documentLog, documentMeta, documentNewest } from '../../redis/keys.js'
import { emptyEpochBeside } from '../../redis/empty-epoch.js'
import { groupBySlot, slotIn } from '../../redis/hash-slot.js'
import { decodeEnvelope } from '../../wire/envelope.js'
import { newEpoch } from '../../wire/position.js'

/**
 * Reads the logs of documents in Redis: their ends, and the records after a position.
 *
 * @typedef {import('../../wire/position.js').Position} Position
 */

/** Maximum size of a reply of `history`, bytes; the position of the reply shows whether there is more. */
const HISTORY_BYTES = 4 * 2 ** 20
/** After a restart of Redis, how long to wait until healing of a document from Kafka begins, and until it ends, s. */
const HEAL_WITHIN = { begin: 15, end: 120 }
/** Maximum number of ends of logs per call. */
const ENDS_PER_CALL = 500

/**
 * @param {object} dependencies
 * @param {import('../../redis/client.js').RedisConnection} dependencies.redis
 * @param {(guid: string) => number} dependencies.metaTtlOf s
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../wire/position.js').EpochSource} dependencies.random
 */
export function createRedisLogs ({ redis, metaTtlOf, metrics, random }) {
  const { scripts } = redis

  /** @param {string} guid @returns {Promise<Position>} end of the log, which has an epoch also without a record */
  async function open (guid) {
    const keys = [documentLog(guid), documentMeta(guid), emptyEpochBeside(redis, documentMeta(guid))]
    const [epoch, offset, lost] = await redis.afterMove(keys[1], (move) =>
      scripts.open(keys, [newEpoch(random), metaTtlOf(guid), move, HEAL_WITHIN.begin, HEAL_WITHIN.end])
    )
    if (lost === 1) metrics.bus_errors.inc({ operation: 'rollback' })
    return { epoch, offset: Number(offset) }
  }

  /**
   * @param {string} guid
   * @param {Position} since
   * @param {number} limit
   * @param {boolean} [opened] the log was opened before this call
   * @returns {Promise<import('./contract.js').History>}
   */
  async function readHistory (guid, since, limit, opened = false) {
    const possible = Number.isSafeInteger(since.offset) && since.offset >= 0
    const [epoch, offset, state, ...found] = await scripts.history(
      [documentLog(guid), documentMeta(guid)],
      [possible ? since.epoch : '', possible ? since.offset : 0, limit, HISTORY_BYTES]
    )
    if (epoch === undefined) {
      const position = await open(guid)
      if (position.epoch === since.epoch && position.offset === 0 && since.offset === 0)
        return { position, records: [], gap: null }
      // same epoch: the slot was moved from another node of the cluster, and the log is complete
      return position.epoch === since.epoch && !opened
        ? readHistory(guid, since, limit, true)
        : { position, records: [], gap: 'epoch' }
    }
    const position = { epoch: epoch.toString(), offset: Number(offset) }
    if (state !== 2) return { position, records: [], gap: state === 0 ? 'epoch' : 'trimmed' }
    return {
      position,
      records: recordsOf(found, since),
      gap: null
    }
  }

  /**
   * @param {(number | Buffer)[]} found offset and envelope of each record
   * @param {Position} since
   * @returns {import('./contract.js').BusRecord[]}
   */
  function recordsOf (found, { epoch, offset: before }) {
    /** @type {import('./contract.js').BusRecord[]} */
    const records = []
    for (let i = 0; i < found.length; i += 2) {
      const place = Number(found[i])
      const offset = Math.abs(place)
      const decoded = decodeEnvelope(/** @type {Buffer} */ (found[i + 1]))
      records.push({
        epoch,
        offset,
        ...(offset !== before + 1 && { after: before }),
        ...(place < 0 && { lost: /** @type {const} */ (true) }),
        ...decoded
      })
      before = offset
    }
    return records
  }

  /** @param {string[]} guids of one call @returns {Promise<(Position | null)[]>} */
  async function readEnds (guids) {
    const metas = guids.map(documentMeta)
    const found = await scripts.positions([...metas, emptyEpochBeside(redis, metas[0])], [newEpoch(random)])
    return Promise.all(guids.map((guid, i) => {
      const [epoch, offset, lost] = found.slice(3 * i, 3 * i + 3)
      if (epoch === null || offset === null) return null
      // Redis may have lost this end: `open` decides
      return lost === 1 ? open(guid) : { epoch: String(epoch), offset: Number(offset) }
    }))
  }

  return {
    open,

    /** @param {string} guid @param {Position} since @param {number} limit */
    history: (guid, since, limit) => readHistory(guid, since, limit),

    /**
     * Removes records: a snapshot contains them.
     * @param {string} guid
     * @param {Position} upTo
     * @returns {Promise<{ position: Position, removed: number } | null>} null: the position is none of this log
     */
    async cut (guid, upTo) {
      const [epoch, offset, removed] = await scripts.cut(
        [documentLog(guid), documentMeta(guid), documentNewest(guid)], [upTo.epoch, upTo.offset]
      )
      return epoch === undefined || removed === -1
        ? null
        : { position: { epoch, offset: Number(offset) }, removed: Number(removed) }
    },

    /**
     * The ends of many logs. A node that does not respond never delays the ends on other nodes.
     * @param {string[]} guids
     * @returns {Promise<(Position | null | undefined)[]>} undefined: the read failed; rejects with the error of Redis
     *   if all reads fail
     */
    async ends (guids) {
      const calls = groupBySlot(guids.keys(), (i) => slotIn(redis, documentMeta(guids[i])), ENDS_PER_CALL)
      /** @type {(Position | null | undefined)[]} */
      const ends = Array(guids.length).fill(undefined)
      const results = await Promise.allSettled(calls.map(async (places) => {
        const found = await readEnds(places.map((i) => guids[i]))
        places.forEach((place, i) => { ends[place] = found[i] })
      }))
      const failures = results.filter((result) => result.status === 'rejected')
      if (failures.length > 0 && failures.length === results.length) throw failures[0].reason
      return ends
    }
  }
}
