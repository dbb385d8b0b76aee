/**
 * Where a publication comes from, so that a log takes it once.
 *
 * @typedef {object} Origin for a Kafka record: its partition, leader epoch and offset
 * @property {string} source
 * @property {number} sequence
 * @property {number} [epoch] of the leader that wrote it (KIP-101). A later epoch is newer whatever its sequence: a
 *   partition that lost its end gives the same offsets to other records. Where either epoch is unknown the sequence
 *   alone decides
 * @property {string} [healed] the generation of Redis (decision 0094) in which the source is read again from where
 *   Redis may have lost records of it; '': not known, then publishing may fail and `isUnhealed` says why. undefined: a
 *   log that Redis may have lost records of begins anew
 */

/**
 * @param {Pick<Origin, 'sequence' | 'epoch'>} origin
 * @param {Pick<Origin, 'sequence' | 'epoch'> | undefined} last the newest that is known of its source
 * @returns {boolean} whether it is not newer than that. publish-4.lua has the same rule
 */
export function isCovered ({ sequence, epoch }, last) {
  if (last === undefined) return false
  if (epoch !== undefined && last.epoch !== undefined && epoch !== last.epoch) return epoch < last.epoch
  return sequence <= last.sequence
}

/**
 * @param {any} error what publish rejected with
 * @returns {boolean} the source of these records has to be healed first, or again
 */
export const isUnhealed = (error) => /^UNHEALED /.test(error?.cause?.message)

/**
 * @param {Pick<Origin, 'sequence' | 'epoch'>} origin
 * @returns {string} as it is stored in Redis: a number also to earlier versions, which compare it as such
 */
export const sequenceText = ({ sequence, epoch }) => epoch === undefined ? String(sequence) : `${sequence}.${epoch}`

/** @param {string} text @returns {Pick<Origin, 'sequence' | 'epoch'> | undefined} undefined: it is none */
export function readSequence (text) {
  const found = /^(\d{1,16})(?:\.(\d{1,10}))?$/.exec(text)
  return found === null
    ? undefined
    : { sequence: Number(found[1]), epoch: found[2] === undefined ? undefined : Number(found[2]) }
}
