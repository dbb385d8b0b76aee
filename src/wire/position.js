/**
 * A place in a document's log. `offset` grows by exactly 1 per kept record; 0 is before the first. `epoch` names
 * the log: it changes when the log was lost, because offsets start again then and would otherwise be mistaken.
 *
 * @typedef {object} Position
 * @property {string} epoch
 * @property {number} offset
 */
import { randomFillSync } from 'node:crypto'

const EPOCH_BYTES = 6
/**
 * Random bytes for many epochs: every publish needs one in case there is no log yet, and a system call for each would
 * cost more than the rest.
 */
const pool = Buffer.alloc(EPOCH_BYTES * 128)
let used = pool.length

/** @returns {string} 8 characters; two logs of one document get the same one with a chance of 1 in 2^48 */
export function newEpoch () {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += EPOCH_BYTES
  return pool.toString('base64url', used - EPOCH_BYTES, used)
}
