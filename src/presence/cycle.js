/**
 * How often a document's changes are written and its members told. What happens in between is told together, so that
 * messages grow with the members and not with their square: a document costs a worker MESSAGES a second at most,
 * however many members it has, until LONGEST; from then on each member gets one message in that time.
 */

/** Messages per second that one document's members are sent, together. */
const MESSAGES = 500
/** ms */
export const SHORTEST = 50
const LONGEST = 3000
/** Bytes per second that one client is sent about one document, beyond a first diff. */
const BYTES = 2 ** 15

/**
 * @param {number} members
 * @param {number} [bytes] of what was sent last
 * @returns {number} ms until the next time
 */
export const pauseAfter = (members, bytes = 0) =>
  Math.max(Math.min(LONGEST, Math.max(SHORTEST, (members * 1000) / MESSAGES)), (bytes * 1000) / BYTES)
