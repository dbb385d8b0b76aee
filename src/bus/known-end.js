/**
 * What a worker knows of the end of a log: a log that ends before what came live, or before an end that was read of it,
 * has lost records.
 * Why: docs/decisions/0022-epoch-after-a-loss.md
 *
 * @typedef {import('../wire/position.js').Position} Position
 *
 * @typedef {object} KnownEnd
 * @property {string} epoch of what came live last; '' before that
 * @property {number} offset of what came live last
 * @property {Position} read the last end that was read, the furthest of its epoch; never changed, but replaced
 * @property {boolean} unsure `read` is beyond what had come live, and nothing has come live since: what comes next may
 *   have been on its way, or its offset is given a second time
 */

/** @returns {KnownEnd} of a log that nothing is known of */
export const nothingKnown = () => ({ epoch: '', offset: 0, read: { epoch: '', offset: 0 }, unsure: false })

/**
 * @param {Position} position
 * @param {Position} other
 * @returns {boolean} whether both are of one log, and `other` comes after it
 */
const isBefore = (position, other) => position.epoch === other.epoch && position.offset < other.offset

/**
 * @param {Position} end of a log
 * @param {KnownEnd | undefined} known as it was before the end was asked for
 * @returns {boolean} whether the log has lost records
 */
export const hasLost = (end, known) => known !== undefined && (isBefore(end, known) || isBefore(end, known.read))

/** @param {KnownEnd} known @param {Position} end that was read */
export function noteRead (known, end) {
  const { epoch, offset } = known.read
  if (end.epoch === epoch && end.offset <= offset) return
  known.read = { epoch: end.epoch, offset: end.offset }
  known.unsure = end.epoch !== known.epoch || end.offset > known.offset
}
