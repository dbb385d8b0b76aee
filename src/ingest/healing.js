import { readSequence } from '../log/bus/origin.js'
import { Backoff, retry } from '../base/common/backoff.js'
import { leaderEpochOf } from '../kafka/record.js'

/**
 * Restores the records of a Kafka partition that Redis lost when it came back as another generation. The partition is
 * read again from its mark, which went back together with the documents: records below the mark were written before it
 * and exist, records behind it are published again and get their previous offsets. Reads of the documents concerned
 * wait until this is done; where it cannot be proved complete, these documents start over with a new epoch. Records
 * without a log are carried out once: not again below the offset that the group has committed. Why it is safe:
 * docs/internals/decisions/0094-losses-of-redis.md
 *
 * @typedef {'begun' | 'done' | 'failed'} State
 *
 * @typedef {object} Look
 * @property {string} generation of Redis
 * @property {State | ''} state of the partition in it
 * @property {string} mark '' if there is none
 * @property {number} age of the mark, s
 *
 * @typedef {object} HealingStore
 * @property {boolean} heals false: documents start over
 * @property {(source: string) => Promise<Look>} look
 * @property {(source: string, generation: string, state: State) => Promise<Look>} note does nothing if `generation`
 *   is over
 *
 * @typedef {object} Course of healing of one partition, in one generation
 * @property {string} generation
 * @property {State} state
 * @property {number} next in state 'begun', the offset after the last record that is done
 * @property {number} until offset at which it is done
 * @property {number} committed in state 'begun', the offset up to which the group had read the partition
 * @property {number | undefined} epoch of the partition's leader; another leader may have written other records
 * @property {number} jumps number of batches that did not follow the previous one
 */

/** Maximum age of a mark, s: idempotency keys are not kept longer (MARGIN in publish.lua). */
const MAX_AGE = 300
/** After more jumps the consumer does not follow `rewind`, and healing fails. */
const MAX_JUMPS = 5

export class Healing {
  #dependencies
  /** Healing of assigned partitions by source. @type {Map<string, Course>} */
  #sources = new Map()

  /**
   * @param {Pick<import('../observe/services.js').Services, 'clock' | 'random' | 'log'> & Own} dependencies
   *
   * @typedef {object} Own
   * @property {HealingStore} store
   * @property {Pick<import('../kafka/consumer.js').Consumer, 'ends' | 'committed' | 'rewind'>} consumer
   * @property {Pick<import('./marks.js').Marks, 'carriedOut'>} marks
   */
  constructor (dependencies) {
    this.#dependencies = dependencies
  }

  /** @param {string} source @param {Course} healing @param {State} state */
  async #note (source, healing, state) {
    const { generation } = await this.#dependencies.store.note(source, healing.generation, state)
    if (generation !== healing.generation) {
      this.#sources.delete(source)
      throw new Error('redis is another generation now')
    }
    healing.state = state
  }

  /** @param {string} source @param {Course} healing @param {string} why */
  async #giveUp (source, healing, why) {
    await this.#note(source, healing, 'failed')
    this.#dependencies.log.warn(
      { source, why },
      'redis may have lost records that cannot be read again from Kafka: their documents start over'
    )
  }

  /**
   * @param {string} source
   * @param {number} partition
   * @returns {Promise<boolean>} false: reading continues from the mark
   */
  async #begin (source, partition) {
    const { store, consumer, marks, log } = this.#dependencies
    const { generation, state, mark, age } = await store.look(source)
    /** @type {Course} */
    const healing = { generation, state: 'failed', next: 0, until: 0, committed: -1, epoch: undefined, jumps: 0 }
    if (state === 'done' || state === 'failed') {
      this.#sources.set(source, { ...healing, state })
      return true
    }
    const at = readSequence(mark)
    const { low, high } = await consumer.ends(partition)
    const next = (at?.sequence ?? -1) + 1
    if (!store.heals || at === undefined) await this.#note(source, healing, 'failed')
    else if (next >= high) await this.#note(source, healing, next === high ? 'done' : 'failed')
    else if (age > MAX_AGE) await this.#giveUp(source, healing, `their mark is ${age} s old`)
    else if (at.epoch === undefined || next < low)
      await this.#giveUp(source, healing, 'Kafka no longer has them, or does not report leader epochs')
    else {
      Object.assign(healing, { next, until: high, committed: await consumer.committed(partition), epoch: at.epoch })
      marks.carriedOut({ source, sequence: healing.committed - 1, epoch: at.epoch })
      await consumer.rewind(partition, next, healing.committed)
      await this.#note(source, healing, 'begun')
      log.info({ source, from: next, until: high }, 'redis may have lost records: they are read again from Kafka')
    }
    this.#sources.set(source, healing)
    return healing.state !== 'begun'
  }

  /** @param {string} source @param {import('../kafka/batch.js').ConsumedBatch} batch */
  async #goOn (source, { partition, messages, contiguous }) {
    const healing = this.#sources.get(source)
    if (healing === undefined) return this.#begin(source, partition)
    if (healing.state !== 'begun') return true
    if (!contiguous) {
      if (++healing.jumps > MAX_JUMPS) await this.#giveUp(source, healing, 'the consumer reads at other offsets')
      else await this.#dependencies.consumer.rewind(partition, healing.next, healing.committed)
      return healing.state !== 'begun'
    }
    if (messages.some((message) => leaderEpochOf(message) !== healing.epoch))
      await this.#giveUp(source, healing, 'another leader has written them')
    return true
  }

  /**
   * To be called before the first record of a batch is published.
   * @param {string} source
   * @param {import('../kafka/batch.js').ConsumedBatch} batch
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>} false: skip this batch, reading continues at another offset
   * @throws the signal's reason
   */
  async ready (source, batch, signal) {
    const healing = this.#sources.get(source)
    if (healing !== undefined && healing.state !== 'begun') return true
    const { clock, random, log } = this.#dependencies
    return retry(() => this.#goOn(source, batch), {
      signal,
      clock,
      backoff: new Backoff({ min: 50, max: 1000, random }),
      onFailure: (error) => log.debug({ err: error, source }, 'the state of redis is unknown at the moment')
    })
  }

  /** @param {string} source @returns {string} generation of Redis in which its records may be published */
  generation (source) { return this.#sources.get(source)?.generation ?? '' }

  /** To be called when Redis may be another generation. @param {string} [source] default: all */
  suspect (source) {
    if (source === undefined) this.#sources.clear()
    else this.#sources.delete(source)
  }

  /** @param {string} source @param {number} next offset; all records before it are done */
  async done (source, next) {
    const healing = this.#sources.get(source)
    if (healing?.state !== 'begun') return
    healing.next = next
    if (next < healing.until) return
    // a failed note is repeated with the next batch
    const { log } = this.#dependencies
    await this.#note(source, healing, 'done').then(
      () => log.info({ source }, 'the records that redis had lost are restored'),
      (error) => log.debug({ err: error, source }, 'the end of the restore could not be noted'))
  }
}
