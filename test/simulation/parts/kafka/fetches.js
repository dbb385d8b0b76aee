/** Limits of one partition in one fetch. */
const LIMITS = { records: 500, bytes: 2 ** 20 }
/** Records of a fetch that ends early, as where a segment of the log ends. */
const FEW = { least: 1, most: 20 }

/**
 * @typedef {import('../../../../src/kafka/contract.js').Fetched} FetchedBatch
 * @typedef {{ partition: number, offset: number }} Wanted
 * @typedef {import('./errors.js').KafkaError} KafkaError
 *
 * A fetch that waits for records.
 * @typedef {object} Waiter
 * @property {string} topic
 * @property {() => boolean} look answers if there is something to answer
 */

/** Reads of members: those that find nothing wait for the next record. */
export class Fetches {
  /** @type {Set<Waiter>} */
  #waiters = new Set()
  #slowUntil = 0
  #slowBy = 0

  /** @param {import('../broker.js').Broker} broker */
  constructor (broker) { this.broker = broker }

  /**
   * @param {string} topic
   * @param {Wanted[]} wanted
   * @param {number} maxWait ms
   * @param {import('./link.js').Reply<FetchedBatch[]>} reply
   */
  fetch (topic, wanted, maxWait, reply) {
    const { world, random, process } = this.broker
    const slow = world.time < this.#slowUntil ? random.number() * this.#slowBy : 0
    /** @param {KafkaError | undefined} error @param {FetchedBatch[]} batches */
    const answer = (error, batches) => {
      if (slow === 0) reply(error, batches)
      else world.schedule(slow, 'kafka slow fetch', () => reply(error, batches), process)
    }
    const look = () => {
      try {
        const batches = wanted.flatMap((want) => this.#read(topic, want) ?? [])
        if (batches.length === 0) return false
        answer(undefined, batches)
      } catch (error) {
        answer(/** @type {KafkaError} */ (error), [])
      }
      return true
    }
    if (look()) return
    const waiter = { topic, look }
    this.#waiters.add(waiter)
    world.schedule(maxWait, 'kafka fetch ends', () => {
      if (this.#waiters.delete(waiter)) answer(undefined, [])
    }, process)
  }

  /** @param {string} topic @param {Wanted} want @returns {FetchedBatch | undefined} undefined: nothing yet */
  #read (topic, { partition: number, offset }) {
    const { broker } = this
    const partition = broker.led(topic, number)
    try {
      if (offset === partition.end) return undefined
      const records = broker.random.chance(0.5) ? LIMITS.records : broker.random.whole(FEW.least, FEW.most)
      const read = partition.read(offset, records, LIMITS.bytes)
      return read && { partition: number, ...read, from: offset, highWatermark: partition.end }
    } catch (error) {
      throw Object.assign(/** @type {KafkaError} */ (error), { partition: number })
    }
  }

  /** The topic has other records than before. @param {string} topic */
  wake (topic) {
    for (const waiter of [...this.#waiters]) if (waiter.topic === topic && waiter.look()) this.#waiters.delete(waiter)
  }

  /** All connections are broken. */
  drop () { this.#waiters.clear() }

  /** @param {number} ms @param {number} by answers are late by up to this, ms */
  slow (ms, by) {
    this.#slowUntil = this.broker.world.time + ms
    this.#slowBy = by
  }
}
