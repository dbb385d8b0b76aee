import { Backoff, retry } from '../common/backoff.js'
import { leaderEpochOf } from './record.js'

/** The new leader is not known everywhere at once: some tries, for about 2 s. */
const TRIES = 6

/** @typedef {import('./batch.js').Reached} Reached */

/**
 * Notices that a partition has lost its end: an unclean leader election, or a broker's power loss, takes away records
 * that were read already, and others come at their offsets. The offsets alone do not show it once the new end has
 * passed the old one. A leader's epoch does (KIP-320): the broker is asked where that leader's records end now,
 * whenever another leader's follow or offsets go back.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'epochEnd'>} dependencies.kafka
 * @param {string} dependencies.topic
 * @param {(partition: number) => void} dependencies.onLostEnd
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createLostEnds ({ kafka, topic, onLostEnd, log }) {
  /** @type {Map<number, Reached>} by partition of ours */
  const reached = new Map()

  return {
    /**
     * Another assignment begins.
     * @param {Map<number, Reached>} places how far whoever had these partitions before had come
     */
    reset (places) {
      reached.clear()
      for (const [partition, place] of places) reached.set(partition, place)
    },

    /** @param {number} partition @param {Reached} place */
    done (partition, place) { reached.set(partition, place) },

    /**
     * @param {import('./contract.js').Fetched} batch what comes next
     * @returns {Promise<number | undefined>} the offset to go back to, which may be that of the batch; undefined:
     *   nothing was lost
     * @throws {Error} Kafka cannot tell at the moment
     */
    async find ({ partition, messages: [first] }) {
      const last = reached.get(partition)
      const epoch = leaderEpochOf(first)
      if (last?.epoch === undefined || epoch === undefined) return undefined
      if (epoch === last.epoch && Number(first.offset) >= last.next) return undefined
      const leader = { topic, partition, epoch: last.epoch }
      const backoff = new Backoff({ min: 100, max: 1000 })
      const end = await retry(() => kafka.epochEnd(leader), {
        backoff,
        retryable: () => backoff.tries < TRIES - 1
      })
      if (end === undefined || end >= last.next) return undefined
      log.error(
        { topic, partition, ended: last.next, ends: end, leaderEpoch: epoch },
        'a partition has lost its end (unclean leader election, or power loss of a broker): records that were read already are gone, what was written in their place is read'
      )
      reached.set(partition, { ...last, next: end })
      onLostEnd(partition)
      return end
    }
  }
}
