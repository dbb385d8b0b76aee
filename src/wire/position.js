/**
 * A place in a document's log. `offset` grows by exactly 1 per kept record; 0 is before the first. `epoch` names
 * the log: it changes when the log was lost, because offsets start again then and would otherwise be mistaken.
 *
 * @typedef {object} Position
 * @property {string} epoch
 * @property {number} offset
 */

/** @typedef {Pick<import('../base/common/random.js').Random, 'bytes'>} EpochSource */

/**
 * @param {EpochSource} random
 * @returns {string} 8 characters; two logs of one document get the same one with a chance of 1 in 2^48
 */
export const newEpoch = (random) => random.bytes(6).toString('base64url')

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
