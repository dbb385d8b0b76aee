import { readSequence } from '../log/bus/origin.js'
import { Backoff, retry } from '../base/common/backoff.js'
import { leaderEpochOf } from '../kafka/record.js'

/**
 * Restores the records of a Kafka partition that Redis lost when it came back as another generation. The partition is
 * read again from its mark, which went back together with the documents: records below the mark were written before it
 * and exist, records behind it are published again and get their previous offsets. Reads of the documents concerned
 * wait until this is done; where it cannot be proved complete, these documents start over with a new epoch. Records
 * without a log are carried out once: not again below the offset that the group has committed. Why it is safe:
 * docs/decisions/0094-generations-of-redis.md
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
 * @typedef {object} Healing of one partition, in one generation
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

/**
 * @param {object} dependencies
 * @param {HealingStore} dependencies.store
 * @param {(partition: number) => Promise<{ low: number, high: number }>} dependencies.ends current ends of a
 *   partition
 * @param {(partition: number) => Promise<number>} dependencies.committed offset up to which the group has read a
 *   partition, -1 for none
 * @param {(partition: number, next: number, committed: number) => Promise<unknown>} dependencies.rewind reads on from
 *   this offset, without a commit below the committed one; rejects if the partition is not assigned
 * @param {(origin: import('../log/bus/origin.js').Origin) => void} dependencies.carriedOut records without a log up to
 *   this
 *   one were carried out
 * @param {import('../base/common/clock.js').Clock} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 * @param {import('../base/common/log.js').Log} dependencies.log
 */
export function createHealing ({ store, ends, committed, rewind, carriedOut, clock, random, log }) {
  /** Healing of assigned partitions by source. @type {Map<string, Healing>} */
  const sources = new Map()

  /** @param {string} source @param {Healing} healing @param {State} state */
  async function note (source, healing, state) {
    const { generation } = await store.note(source, healing.generation, state)
    if (generation !== healing.generation) {
      sources.delete(source)
      throw new Error('redis is another generation now')
    }
    healing.state = state
  }

  /** @param {string} source @param {Healing} healing @param {string} why */
  async function giveUp (source, healing, why) {
    await note(source, healing, 'failed')
    log.warn(
      { source, why },
      'redis may have lost records that cannot be read again from Kafka: their documents start over'
    )
  }

  /**
   * @param {string} source
   * @param {number} partition
   * @returns {Promise<boolean>} false: reading continues from the mark
   */
  async function begin (source, partition) {
    const { generation, state, mark, age } = await store.look(source)
    /** @type {Healing} */
    const healing = { generation, state: 'failed', next: 0, until: 0, committed: -1, epoch: undefined, jumps: 0 }
    if (state === 'done' || state === 'failed') {
      sources.set(source, { ...healing, state })
      return true
    }
    const at = readSequence(mark)
    const { low, high } = await ends(partition)
    const next = (at?.sequence ?? -1) + 1
    if (!store.heals || at === undefined) await note(source, healing, 'failed')
    else if (next >= high) await note(source, healing, next === high ? 'done' : 'failed')
    else if (age > MAX_AGE) await giveUp(source, healing, `their mark is ${age} s old`)
    else if (at.epoch === undefined || next < low)
      await giveUp(source, healing, 'Kafka no longer has them, or does not report leader epochs')
    else {
      Object.assign(healing, { next, until: high, committed: await committed(partition), epoch: at.epoch })
      carriedOut({ source, sequence: healing.committed - 1, epoch: at.epoch })
      await rewind(partition, next, healing.committed)
      await note(source, healing, 'begun')
      log.info({ source, from: next, until: high }, 'redis may have lost records: they are read again from Kafka')
    }
    sources.set(source, healing)
    return healing.state !== 'begun'
  }

  /** @param {string} source @param {import('../kafka/batch.js').ConsumedBatch} batch */
  async function goOn (source, { partition, messages, contiguous }) {
    const healing = sources.get(source)
    if (healing === undefined) return begin(source, partition)
    if (healing.state !== 'begun') return true
    if (!contiguous) {
      if (++healing.jumps > MAX_JUMPS) await giveUp(source, healing, 'the consumer reads at other offsets')
      else await rewind(partition, healing.next, healing.committed)
      return healing.state !== 'begun'
    }
    if (messages.some((message) => leaderEpochOf(message) !== healing.epoch))
      await giveUp(source, healing, 'another leader has written them')
    return true
  }

  return {
    /**
     * To be called before the first record of a batch is published.
     * @param {string} source
     * @param {import('../kafka/batch.js').ConsumedBatch} batch
     * @param {AbortSignal} signal
     * @returns {Promise<boolean>} false: skip this batch, reading continues at another offset
     * @throws the signal's reason
     */
    async ready (source, batch, signal) {
      const healing = sources.get(source)
      if (healing !== undefined && healing.state !== 'begun') return true
      return retry(() => goOn(source, batch), {
        signal,
        clock,
        backoff: new Backoff({ min: 50, max: 1000, random }),
        onFailure: (error) => log.debug({ err: error, source }, 'the state of redis is unknown at the moment')
      })
    },

    /** @param {string} source @returns {string} generation of Redis in which its records may be published */
    generation: (source) => sources.get(source)?.generation ?? '',

    /** To be called when Redis may be another generation. @param {string} [source] default: all */
    suspect (source) {
      if (source === undefined) sources.clear()
      else sources.delete(source)
    },

    /** @param {string} source @param {number} next offset; all records before it are done */
    async done (source, next) {
      const healing = sources.get(source)
      if (healing?.state !== 'begun') return
      healing.next = next
      if (next < healing.until) return
      // a failed note is repeated with the next batch
      await note(source, healing, 'done').then(
        () => log.info({ source }, 'the records that redis had lost are restored'),
        (error) => log.debug({ err: error, source }, 'the end of the restore could not be noted'))
    }
  }
}
