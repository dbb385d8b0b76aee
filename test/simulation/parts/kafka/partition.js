import { KafkaError } from './errors.js'

/**
 * A record as the broker holds it.
 * @typedef {import('../../../../src/kafka/contract.js').KafkaRecord & {
 *   batchContext: { leaderEpoch: number }, isMarker?: boolean }} StoredRecord
 *
 * A record that is to be written. @typedef {object} NewRecord
 * @property {Buffer | null} key
 * @property {Buffer | null} value
 * @property {Record<string, Buffer | Buffer[]>} headers
 * @property {number} timestamp ms since 1970
 *
 * Identity of a batch of an idempotent producer. @typedef {object} Sequence
 * @property {string} producer
 * @property {number} first
 */

/** Batches of a producer that a broker recognizes when they come again. */
const REMEMBERED = 5
/** Size of a batch without its records, and of a record without its content, bytes. */
const BATCH_OVERHEAD = 61
const RECORD_OVERHEAD = 12

/** The log of a partition, with the epochs of its leaders. */
export class SimPartition {
  /** From offset `low` on. @type {StoredRecord[]} */
  records = []
  /** Offset of the first record. */
  low = 0
  epoch = 0
  /** Where the records of each leader begin. */
  #epochs = [{ epoch: 0, start: 0 }]
  /**
   * Last batches of each producer.
   * @type {Map<string, { first: number, last: number, offset: number, end: number }[]>}
   */
  #producers = new Map()
  /** Records that were acknowledged, and are gone. @type {StoredRecord[]} */
  lost = []
  /** Moment until which it has no leader, ms. */
  leaderlessUntil = 0

  /** @param {number} number @param {number} maxBytes of a batch */
  constructor (number, maxBytes) {
    this.number = number
    this.maxBytes = maxBytes
  }

  /** Offset of the next record. */
  get end () { return this.low + this.records.length }

  /**
   * @param {NewRecord[]} batch
   * @param {Sequence} [sequence] default: no idempotent producer
   * @returns {number} offset of its first record
   * @throws {KafkaError}
   */
  append (batch, sequence) {
    const known = sequence === undefined ? undefined : this.#accepts(sequence, batch.length)
    if (known !== undefined) return known
    if (sizeOf(batch) > this.maxBytes) throw new KafkaError('MESSAGE_TOO_LARGE')
    const offset = this.end
    for (const { timestamp, ...record } of batch) this.#write({ ...record, timestamp: String(timestamp) })
    if (sequence !== undefined) {
      const { producer, first } = sequence
      const batches = this.#producers.get(producer) ?? []
      batches.push({ first, last: first + batch.length - 1, offset, end: this.end })
      this.#producers.set(producer, batches.slice(-REMEMBERED))
    }
    return offset
  }

  /** @param {Omit<StoredRecord, 'offset' | 'batchContext'>} record */
  #write (record) {
    this.records.push({ ...record, offset: String(this.end), batchContext: { leaderEpoch: this.epoch } })
  }

  /** The end of a transaction takes an offset, and is never passed on. */
  mark () { this.#write({ key: null, value: null, timestamp: '0', isMarker: true }) }

  /**
   * @param {Sequence} sequence
   * @param {number} count
   * @returns {number | undefined} offset of the same batch, which was written before
   */
  #accepts ({ producer, first }, count) {
    const batches = this.#producers.get(producer)
    const last = batches?.at(-1)
    if (batches === undefined || last === undefined) return undefined
    const same = batches.find((batch) => batch.first === first && batch.last === first + count - 1)
    if (same !== undefined) return same.offset
    if (first !== last.last + 1) throw new KafkaError('OUT_OF_ORDER_SEQUENCE_NUMBER')
    return undefined
  }

  /**
   * @param {number} offset
   * @param {number} maxRecords
   * @param {number} maxBytes the first record comes in any case
   * @returns {{ messages: StoredRecord[], end: number } | undefined} undefined: there is none yet
   * @throws {KafkaError}
   */
  read (offset, maxRecords, maxBytes) {
    if (offset < this.low || offset > this.end) throw new KafkaError('OFFSET_OUT_OF_RANGE')
    /** @type {StoredRecord[]} */
    const messages = []
    let at = offset - this.low
    for (let bytes = 0; at < this.records.length; at++) {
      const record = this.records[at]
      if (record.isMarker) continue
      bytes += (record.value?.length ?? 0) + (record.key?.length ?? 0)
      if (messages.length > 0 && (messages.length >= maxRecords || bytes > maxBytes)) break
      messages.push(record)
    }
    return at === offset - this.low ? undefined : { messages, end: this.low + at }
  }

  /**
   * Another leader, to which the last records may never have come.
   * @param {number} count
   */
  elect (count) {
    const end = Math.max(this.low, this.end - count)
    this.lost.push(...this.records.splice(end - this.low))
    this.#epochs = this.#epochs.filter(({ start }, i) => i === 0 || start < end)
    this.#epochs.push({ epoch: ++this.epoch, start: end })
    for (const [producer, batches] of this.#producers) {
      const left = batches.filter((batch) => batch.end <= end)
      if (left.length === 0) this.#producers.delete(producer)
      else this.#producers.set(producer, left)
    }
  }

  /** @param {number} count of records, the first ones, that are deleted */
  expire (count) { this.low += this.records.splice(0, count).length }

  /** @param {number} epoch @returns {number | undefined} offset after the last record of this epoch's leader */
  epochEnd (epoch) {
    if (epoch > this.epoch) return undefined
    return this.#epochs.find((later) => later.epoch > epoch)?.start ?? this.end
  }
}

/** @param {NewRecord[]} batch @returns {number} bytes */
function sizeOf (batch) {
  let bytes = BATCH_OVERHEAD
  for (const { key, value, headers } of batch) {
    bytes += RECORD_OVERHEAD + (key?.length ?? 0) + (value?.length ?? 0)
    for (const [name, held] of Object.entries(headers))
      for (const one of Array.isArray(held) ? held : [held]) bytes += 4 + Buffer.byteLength(name) + one.length
  }
  return bytes
}
