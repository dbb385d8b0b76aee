import { askWithRetries } from './ask.js'
import { leaderEpochOf } from './record.js'

/** @typedef {import('./batch.js').Reached} Reached */

/**
 * Dependencies of all partitions of a session: questions to Kafka, and reports.
 *
 * @typedef {Pick<import('../observe/services.js').Services, 'log' | 'clock' | 'random'> & Own} Dependencies
 * @typedef {object} Own
 * @property {Pick<import('./contract.js').KafkaDriver, 'epochEnd'>} kafka
 * @property {string} topic
 * @property {() => Promise<boolean>} isSameTopic whether the topic was not deleted and created again
 * @property {(partition: number, offset: number) => void} seek reading continues at this offset
 * @property {(partition: number) => void} onLostEnd
 */

/**
 * An assigned partition: how far it was read, and whether the next batch continues there. Kafka is asked in two cases
 * only.
 *
 * The offsets or the end went back: the topic may have been deleted and created again.
 *
 * Records of another leader follow, or the offsets went back: the partition may have lost its end. After an unclean
 * leader election, or a broker's power loss, records that were already read are gone, and new ones get their offsets.
 * Offsets alone do not show it once the new end has passed the old one, but leader epochs do (KIP-320): the broker
 * reports where the previous leader's records end now.
 */
export class PartitionState {
  #partition
  #dependencies
  /** Offset of the next record, where it is known. @type {number | undefined} */
  next
  /** High watermark of the last batch. */
  #end = 0
  /** Progress, at first of the previous owner; undefined: unknown. @type {Reached | undefined} */
  reached

  /** @param {number} partition @param {Dependencies} dependencies */
  constructor (partition, dependencies) {
    this.#partition = partition
    this.#dependencies = dependencies
  }

  /** @param {number} next offset @param {import('./contract.js').KafkaRecord} last record that is done */
  done (next, last) {
    this.next = next
    this.reached = { next, epoch: leaderEpochOf(last) }
  }

  /**
   * @param {Pick<import('./contract.js').Fetched, 'messages' | 'highWatermark'>} batch the next one
   * @returns {Promise<boolean>} whether its records may be carried out; false: reading continues at another offset
   * @throws {Error} if Kafka cannot report it at the moment
   */
  async accepts ({ messages: [first], highWatermark }) {
    const offset = Number(first.offset)
    const wentBack = highWatermark < this.#end || offset < (this.next ?? 0)
    this.#end = highWatermark
    if (wentBack && !await this.#dependencies.isSameTopic()) return false
    const from = await this.#lostEnd(offset, leaderEpochOf(first))
    if (from === undefined || from === offset) return true
    this.next = from
    this.#dependencies.seek(this.#partition, from)
    return false
  }

  /**
   * @param {number} offset of the next record
   * @param {number | undefined} epoch of the leader that wrote it
   * @returns {Promise<number | undefined>} offset to go back to, possibly that of the record; undefined: nothing was
   *   lost
   */
  async #lostEnd (offset, epoch) {
    const { reached: last } = this
    if (last?.epoch === undefined || epoch === undefined) return undefined
    if (epoch === last.epoch && offset >= last.next) return undefined
    const { kafka, topic, onLostEnd, log, clock, random } = this.#dependencies
    const partition = this.#partition
    const leader = { topic, partition, epoch: last.epoch }
    const end = await askWithRetries(() => kafka.epochEnd(leader), { clock, random })
    if (end === undefined || end >= last.next) return undefined
    log.error(
      { topic, partition, ended: last.next, ends: end, leaderEpoch: epoch },
      'a partition lost its end (unclean leader election, or power loss of a broker): records that were already read are gone, and ' +
      'those written in their place are read'
    )
    this.reached = { ...last, next: end }
    onLostEnd(partition)
    return end
  }
}
