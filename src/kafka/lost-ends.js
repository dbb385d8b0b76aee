import { Backoff, retry } from '../common/backoff.js'
import { leaderEpochOf } from './record.js'

/** Brokers learn of a new leader one after the other: retries take about 2 s. */
const TRIES = 6

/** @typedef {import('./batch.js').Reached} Reached */

/**
 * Detects that a partition has lost its end: after an unclean leader election, or a broker's power loss, records that
 * were already read are gone, and new ones get their offsets. Offsets alone do not show it once the new end has passed
 * the old one, but leader epochs do (KIP-320): when records of another leader follow, or offsets go back, the broker is
 * asked where the previous leader's records end now.
 *
 * @param {object} dependencies
 * @param {Pick<import('./contract.js').KafkaDriver, 'epochEnd'>} dependencies.kafka
 * @param {string} dependencies.topic
 * @param {(partition: number) => void} dependencies.onLostEnd
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createLostEnds ({ kafka, topic, onLostEnd, log }) {
  /** @type {Map<number, Reached>} by assigned partition */
  const reached = new Map()

  return {
    /**
     * Begins a new assignment.
     * @param {Map<number, Reached>} places progress of the previous owners of the partitions
     */
    reset (places) {
      reached.clear()
      for (const [partition, place] of places) reached.set(partition, place)
    },

    /** @param {number} partition @param {Reached} place */
    done (partition, place) { reached.set(partition, place) },

    /**
     * @param {import('./contract.js').Fetched} batch the next one
     * @returns {Promise<number | undefined>} offset to go back to, possibly that of the batch; undefined: nothing was
     *   lost
     * @throws {Error} if Kafka cannot report it at the moment
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
        'a partition lost its end (unclean leader election, or power loss of a broker): records that were already read are gone, and those written in their place are read'
      )
      reached.set(partition, { ...last, next: end })
      onLostEnd(partition)
      return end
    }
  }
}
