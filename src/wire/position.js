/**
 * A place in a document's log. `offset` grows by exactly 1 per kept record; 0 is before the first. `epoch` names
 * the log: it changes when the log was lost, because offsets start again then and would otherwise be mistaken.
 *
 * @typedef {object} Position
 * @property {string} epoch
 * @property {number} offset
 */
import { systemRandom } from '../common/random.js'

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
    systemRandom.fill(pool)
    used = 0
  }
  used += EPOCH_BYTES
  return pool.toString('base64url', used - EPOCH_BYTES, used)
}

/** Length of `<name>-` in the epoch of a document that has no record yet, `<name>-<turn>`. */
const EMPTY_NAME = 9

/**
 * The epoch of a document that has no record yet changes its turn every few days, which loses nothing; its name changes
 * when a record may be lost (redis/scripts/include/empty.lua).
 *
 * @param {Position} position
 * @param {Position} other
 * @returns {boolean} whether both are the same place, before the first record of a document
 */
export function areEmpty ({ epoch, offset }, other) {
  return offset === 0 && other.offset === 0 && epoch.charAt(EMPTY_NAME - 1) === '-' &&
    other.epoch.startsWith(epoch.slice(0, EMPTY_NAME)) && epoch.length > EMPTY_NAME && other.epoch.length > EMPTY_NAME
}
