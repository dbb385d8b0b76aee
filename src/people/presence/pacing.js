/**
 * How often a document's changes are written to the store and sent to its members. Changes in between are batched, so
 * that messages grow with the number of members and not with its square: a document costs a worker at most MESSAGES a
 * second, until the pause reaches LONGEST; from then on each member gets one message per LONGEST.
 */

/** Messages per second to all members of one document together. */
const MESSAGES = 500
/** ms */
export const SHORTEST = 50
const LONGEST = 3000
/** Bytes per second to one client about one document, beyond a first diff. */
const BYTES = 2 ** 15

/**
 * @param {number} members
 * @param {number} [bytes] of the last message
 * @returns {number} ms until the next batch
 */
export const pauseAfter = (members, bytes = 0) =>
  Math.max(Math.min(LONGEST, Math.max(SHORTEST, (members * 1000) / MESSAGES)), (bytes * 1000) / BYTES)
