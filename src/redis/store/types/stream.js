import { Value } from './value.js'

/**
 * An id is one integer of 128 bits: ms, then the sequence.
 *
 * @typedef {object} StreamEntry
 * @property {bigint} id
 * @property {string[]} fields field, value, field, value …
 *
 * @typedef {{ entries: StreamEntry[], last: bigint }} StreamContent
 */

/** Estimate of what an entry, and each of its strings, costs beside the bytes. */
const ENTRY_BYTES = 120
const FIELD_BYTES = 24

const HALF = 64n
export const MOST_HALF = (1n << HALF) - 1n
export const MOST_ID = (1n << 128n) - 1n

/** @param {bigint} ms @param {bigint} sequence @returns {bigint} */
export const idOf = (ms, sequence) => ms << HALF | sequence
/** @param {bigint} id @returns {bigint} */
export const msOf = (id) => id >> HALF
/** @param {bigint} id @returns {bigint} */
const sequenceOf = (id) => id & MOST_HALF
/** @param {bigint} id @returns {string} */
export const formatId = (id) => `${msOf(id)}-${sequenceOf(id)}`

export class Stream extends Value {
  /** By id. @type {StreamEntry[]} */
  entries = []
  /** The highest id that was added. */
  last = 0n

  get type () { return 'stream' }
  get size () { return this.entries.length }
  /** @returns {StreamContent} */
  get content () { return { entries: this.entries, last: this.last } }

  /** @param {StreamContent} content */
  fill ({ entries, last }) {
    for (const { id, fields } of entries) this.add(id, fields)
    this.last = last
  }

  /** @param {bigint} id higher than `last` @param {string[]} fields */
  add (id, fields) {
    const entry = { id, fields }
    this.entries.push(entry)
    this.last = id
    this.grow(sizeOf(entry))
  }

  /**
   * @param {number} from index
   * @param {number} count none if it is negative
   * @returns {number} those that are removed
   */
  remove (from, count) {
    if (count <= 0) return 0
    const removed = this.entries.splice(from, count)
    for (const entry of removed) this.grow(-sizeOf(entry))
    return removed.length
  }

  /** @param {bigint} id @returns {number} index of the first entry that has this id or a higher one */
  indexOf (id) {
    let least = 0
    let most = this.entries.length
    while (least < most) {
      const middle = (least + most) >>> 1
      if (this.entries[middle].id < id) least = middle + 1
      else most = middle
    }
    return least
  }
}

/** @param {StreamEntry} entry */
function sizeOf ({ fields }) {
  let bytes = ENTRY_BYTES
  for (const field of fields) bytes += FIELD_BYTES + field.length
  return bytes
}
