import { createFixedPartitioner } from './partitioner.js'

/**
 * kafkajs counts the answers of a call by broker, not by partition. If a partition gets another leader during a call
 * that goes to several brokers, kafkajs leaves it out of the retry because its new leader has answered already, and
 * reports its records as written; or it reports a failure although other brokers have written their records, and the
 * next call writes these once more (tulios/kafkajs#1798). So each call has the records for one broker: when it fails,
 * none of them counts as written, and a broker recognizes those that it has.
 *
 * @typedef {import('../contract.js').OutgoingMessage} OutgoingMessage
 * @typedef {import('kafkajs').PartitionMetadata} PartitionMetadata
 *
 * @typedef {object} BrokerCall
 * @property {OutgoingMessage[]} messages
 * @property {number | undefined} leader of the partitions of this attempt
 * @property {boolean} isSpread its partitions have several leaders: this attempt was not sent
 */

/** Ends a call before it is sent. */
class SpreadError extends Error {
  constructor () { super('the partitions of the call have several leaders') }
}

export class BrokerCalls {
  #topic
  #choose = createFixedPartitioner()
  /** As of the last call. @type {PartitionMetadata[]} */
  #partitions = []
  /** By partition, of `#partitions`. @type {Map<number, number>} */
  #leaders = new Map()
  /** @type {WeakMap<OutgoingMessage, BrokerCall>} */
  #calls = new WeakMap()

  /** @param {string} topic */
  constructor (topic) { this.#topic = topic }

  /** For kafkajs, which calls it for each message in each attempt. @type {import('kafkajs').ICustomPartitioner} */
  createPartitioner = () => (args) => {
    this.#learn(args.partitionMetadata)
    const message = /** @type {OutgoingMessage} */ (/** @type {unknown} */ (args.message))
    const chosen = this.#choose(args)
    const call = /** @type {BrokerCall} */ (this.#calls.get(message))
    const leader = this.#leaders.get(chosen)
    if (message === call.messages[0]) call.leader = leader
    else if (leader !== call.leader) {
      call.isSpread = true
      throw new SpreadError()
    }
    return chosen
  }

  /** @param {OutgoingMessage[]} messages @returns {BrokerCall[]} by the leaders of the last call; before it: one */
  of (messages) {
    /** @type {Map<number | undefined, BrokerCall>} */
    const calls = new Map()
    for (const message of messages) {
      const leader = this.#partitions.length === 0 ? undefined : this.#leaders.get(this.#partitionOf(message))
      const call = calls.get(leader) ?? { messages: [], leader, isSpread: false }
      call.messages.push(message)
      calls.set(leader, call)
      this.#calls.set(message, call)
    }
    return [...calls.values()]
  }

  /** @param {OutgoingMessage} message */
  #partitionOf (message) {
    const args = { topic: this.#topic, partitionMetadata: this.#partitions, message }
    return this.#choose(/** @type {any} */ (args))
  }

  /** @param {PartitionMetadata[]} partitions */
  #learn (partitions) {
    if (partitions === this.#partitions) return
    this.#partitions = partitions
    this.#leaders = new Map(partitions.map(({ partitionId, leader }) => [partitionId, leader]))
  }
}
