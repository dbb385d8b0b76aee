/**
 * The source of a publication, by which a log recognizes duplicates.
 *
 * @typedef {object} Origin for a Kafka record: its partition, leader epoch and offset
 * @property {string} source
 * @property {number} sequence
 * @property {number} [epoch] of the leader that wrote it (KIP-101). A later epoch is newer regardless of its sequence:
 *   a partition that lost its end assigns the same offsets to other records. If either epoch is unknown, the sequence
 *   alone decides
 * @property {string} [healed] the generation of Redis (decision 0094) for which ingest re-reads the source, from the
 *   first record that Redis may have lost; '': unknown, then publishing may fail and `isUnhealed` tells why. undefined:
 *   a log that may have lost records gets a new epoch
 */

/**
 * @param {Pick<Origin, 'sequence' | 'epoch'>} origin
 * @param {Pick<Origin, 'sequence' | 'epoch'> | undefined} last the newest known origin of its source
 * @returns {boolean} whether `origin` is the same as `last` or older. publish.lua has the same rule
 */
export function isCovered ({ sequence, epoch }, last) {
  if (last === undefined) return false
  if (epoch !== undefined && last.epoch !== undefined && epoch !== last.epoch) return epoch < last.epoch
  return sequence <= last.sequence
}

/**
 * @param {any} error of publish
 * @returns {boolean} the source of these records must be healed first, or again
 */
export const isUnhealed = (error) => /^UNHEALED /.test(error?.cause?.message)

/**
 * @param {Pick<Origin, 'sequence' | 'epoch'>} origin
 * @returns {string} as it is stored in Redis; versions before the leader epoch compare it as one number
 */
export const sequenceText = ({ sequence, epoch }) => epoch === undefined ? String(sequence) : `${sequence}.${epoch}`

/** @param {string} text @returns {Pick<Origin, 'sequence' | 'epoch'> | undefined} undefined: not a sequence */
export function readSequence (text) {
  const found = /^(\d{1,16})(?:\.(\d{1,10}))?$/.exec(text)
  return found === null
    ? undefined
    : { sequence: Number(found[1]), epoch: found[2] === undefined ? undefined : Number(found[2]) }
}
