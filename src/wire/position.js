/**
 * A place in a document's log. `offset` grows by exactly 1 per kept record; 0 is before the first. `epoch` names
 * the log: it changes when the log was lost, because offsets start again then and would otherwise be mistaken.
 *
 * @typedef {object} Position
 * @property {string} epoch
 * @property {number} offset
 */
import { randomBytes } from 'node:crypto'

/** @returns {string} 8 characters; two logs of one document get the same one with a chance of 1 in 2^48 */
export const newEpoch = () => randomBytes(6).toString('base64url')
