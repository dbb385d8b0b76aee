import { emptyEpochBeside } from '../../redis/empty-epoch.js'
import { readBySlot } from '../../redis/read-by-slot.js'
import { decodeEnvelope } from '../../wire/envelope.js'
import { newEpoch } from '../../wire/position.js'

/** @typedef {import('../../wire/position.js').Position} Position */

/** Maximum size of a reply of `history`, bytes; the position of the reply shows whether there is more. */
const HISTORY_BYTES = 4 * 2 ** 20
/** After a restart of Redis, how long to wait until healing of a document from Kafka begins, and until it ends, s. */
const HEAL_WITHIN = { begin: 15, end: 120 }
/** Maximum number of ends of logs per call. */
const ENDS_PER_CALL = 500

/** Reads the logs of documents in Redis: their ends, and the records after a position. */
export class RedisLogs {
  #redis
  #keys
  #metaTtlOf
  #metrics
  #random

  /**
   * @param {object} parts
   * @param {import('../../redis/client.js').RedisConnection} parts.redis
   * @param {(guid: string) => number} parts.metaTtlOf s
   * @param {import('../../observe/metrics/metrics.js').Metrics} parts.metrics
   * @param {import('../../wire/position.js').EpochSource} parts.random
   */
  constructor ({ redis, metaTtlOf, metrics, random }) {
    this.#redis = redis
    this.#keys = redis.keys
    this.#metaTtlOf = metaTtlOf
    this.#metrics = metrics
    this.#random = random
  }

  /** @param {string} guid @returns {Promise<Position>} end of the log, which has an epoch also without a record */
  async open (guid) {
    const meta = this.#keys.documentMeta(guid)
    const keys = [this.#keys.documentLog(guid), meta, emptyEpochBeside(this.#redis, meta)]
    const [epoch, offset, lost] = await this.#redis.afterMove(keys[1], (move) =>
      this.#redis.scripts.open(keys, [
        newEpoch(this.#random), this.#metaTtlOf(guid), move, HEAL_WITHIN.begin, HEAL_WITHIN.end
      ])
    )
    if (lost === 1) this.#metrics.bus_errors.inc({ operation: 'rollback' })
    return { epoch, offset: Number(offset) }
  }

  /** @param {string} guid @param {Position} since @param {number} limit */
  history (guid, since, limit) { return this.#readHistory(guid, since, limit) }

  /**
   * @param {string} guid
   * @param {number} count
   * @param {number} limit
   * @param {boolean} [opened] the log was opened before this call
   * @returns {Promise<import('./contract.js').History>}
   */
  async newest (guid, count, limit, opened = false) {
    const [epoch, offset, , ...found] = await this.#redis.scripts.history(
      [this.#keys.documentLog(guid), this.#keys.documentMeta(guid)], ['', 0, limit, HISTORY_BYTES, count]
    )
    if (epoch === undefined) {
      const position = await this.open(guid)
      return opened || position.offset === 0
        ? { position, records: [], gap: null }
        : this.newest(guid, count, limit, true)
    }
    const position = { epoch: epoch.toString(), offset: Number(offset) }
    const before = Math.abs(Number(found[0])) - 1
    return { position, records: recordsOf(found, { epoch: position.epoch, offset: before }), gap: null }
  }

  /**
   * Removes records: a snapshot contains them.
   * @param {string} guid
   * @param {Position} upTo
   * @returns {Promise<{ position: Position, removed: number } | null>} null: the position is none of this log
   */
  async cut (guid, upTo) {
    const [epoch, offset, removed] = await this.#redis.scripts.cut(
      [this.#keys.documentLog(guid), this.#keys.documentMeta(guid), this.#keys.documentNewest(guid)],
      [upTo.epoch, upTo.offset]
    )
    return epoch === undefined || removed === -1
      ? null
      : { position: { epoch, offset: Number(offset) }, removed: Number(removed) }
  }

  /**
   * The ends of many logs. A node that does not respond never delays the ends on other nodes.
   * @param {string[]} guids
   * @returns {Promise<(Position | null | undefined)[]>} undefined: the read failed; rejects with the error of Redis
   *   if all reads fail
   */
  async ends (guids) {
    return readBySlot(this.#redis, guids, {
      keyOf: this.#keys.documentMeta, read: (some) => this.#readEnds(some), limit: ENDS_PER_CALL
    })
  }

  /**
   * @param {string} guid
   * @param {Position} since
   * @param {number} limit
   * @param {boolean} [opened] the log was opened before this call
   * @returns {Promise<import('./contract.js').History>}
   */
  async #readHistory (guid, since, limit, opened = false) {
    const possible = Number.isSafeInteger(since.offset) && since.offset >= 0
    const [epoch, offset, state, ...found] = await this.#redis.scripts.history(
      [this.#keys.documentLog(guid), this.#keys.documentMeta(guid)],
      [possible ? since.epoch : '', possible ? since.offset : 0, limit, HISTORY_BYTES, '']
    )
    if (epoch === undefined) {
      const position = await this.open(guid)
      if (position.epoch === since.epoch && position.offset === 0 && since.offset === 0)
        return { position, records: [], gap: null }
      // same epoch: the slot was moved from another node of the cluster, and the log is complete
      return position.epoch === since.epoch && !opened
        ? this.#readHistory(guid, since, limit, true)
        : { position, records: [], gap: 'epoch' }
    }
    const position = { epoch: epoch.toString(), offset: Number(offset) }
    if (state !== 2) return { position, records: [], gap: state === 0 ? 'epoch' : 'trimmed' }
    return { position, records: recordsOf(found, since), gap: null }
  }

  /** @param {string[]} guids of one call @returns {Promise<(Position | null | undefined)[]>} as `ends` */
  async #readEnds (guids) {
    const metas = guids.map(this.#keys.documentMeta)
    const keys = [...metas, emptyEpochBeside(this.#redis, metas[0])]
    const found = await this.#redis.scripts.positions(keys, [newEpoch(this.#random)])
    /** @type {unknown[]} */
    const failures = []
    const ends = await Promise.all(guids.map((guid, i) => {
      const [epoch, offset, lost] = found.slice(3 * i, 3 * i + 3)
      if (epoch === null || offset === null) return null
      if (lost !== 1) return { epoch: String(epoch), offset: Number(offset) }
      // Redis may have lost this end: `open` decides, and rejects while the log is healed
      return this.open(guid).catch((error) => {
        failures.push(error)
        return undefined
      })
    }))
    if (failures.length === guids.length) throw failures[0]
    return ends
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
