import { readSequence } from '../bus/origin.js'
import { Backoff, retry } from '../common/backoff.js'
import { leaderEpochOf } from '../kafka/record.js'

/**
 * Heals what Redis has lost of a Kafka partition when it comes back as another generation: the partition is read again
 * from its mark on, which went back together with the documents. All that the mark covers was written before it, so it
 * is there; all that comes behind it comes again, and documents give it the offsets that it had. Until it is through
 * nobody reads the documents concerned, and where it cannot be proved they begin anew. Why it is safe:
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
 * @property {boolean} heals false: documents begin anew
 * @property {(source: string) => Promise<Look>} look
 * @property {(source: string, generation: string, state: State) => Promise<Look>} note does nothing where `generation`
 *   is over
 *
 * @typedef {object} Healing of one partition, in one generation
 * @property {string} generation
 * @property {State} state
 * @property {number} next while it is 'begun', the offset after the last that is done
 * @property {number} until it is through when this is reached
 * @property {number | undefined} epoch of the partition's leader; another one may have written other records
 * @property {number} strays batches that did not follow the one before
 */

/** What came longer ago cannot be told apart by idempotency keys any more (MARGIN in publish-4.lua), s. */
const MAX_AGE = 300
/** A consumer that goes on elsewhere than it was told is not relied on. */
const MAX_STRAYS = 5

/**
 * @param {object} dependencies
 * @param {HealingStore} dependencies.store
 * @param {(partition: number) => Promise<{ low: number, high: number }>} dependencies.ends of a partition, now
 * @param {(partition: number, next: number) => Promise<unknown>} dependencies.rewind commits this offset, and reads on
 *   from there; rejects where the partition is not ours
 * @param {import('../common/clock.js').Clock} dependencies.clock
 * @param {import('../common/log.js').Log} dependencies.log
 */
export function createHealing ({ store, ends, rewind, clock, log }) {
  /** By source; those of our own partitions. @type {Map<string, Healing>} */
  const sources = new Map()

  /** @param {string} source @param {Healing} healing @param {State} state */
  async function note (source, healing, state) {
    const { generation } = await store.note(source, healing.generation, state)
    if (generation !== healing.generation) {
      sources.delete(source)
      throw new Error('redis is another generation by now')
    }
    healing.state = state
  }

  /** @param {string} source @param {Healing} healing @param {string} why */
  async function giveUp (source, healing, why) {
    await note(source, healing, 'failed')
    log.warn(
      { source, why },
      'redis may have lost records that cannot be read again from Kafka: their documents begin anew'
    )
  }

  /**
   * @param {string} source
   * @param {number} partition
   * @returns {Promise<boolean>} false: reading goes on from the mark
   */
  async function begin (source, partition) {
    const { generation, state, mark, age } = await store.look(source)
    /** @type {Healing} */
    const healing = { generation, state: 'failed', next: 0, until: 0, epoch: undefined, strays: 0 }
    if (state === 'done' || state === 'failed') {
      sources.set(source, { ...healing, state })
      return true
    }
    const at = readSequence(mark)
    const { low, high } = await ends(partition)
    const next = (at?.sequence ?? -1) + 1
    if (!store.heals || at === undefined) await note(source, healing, 'failed')
    else if (next >= high) await note(source, healing, next === high ? 'done' : 'failed')
    else if (age > MAX_AGE) await giveUp(source, healing, `how far they were ingested was noted ${age} s ago`)
    else if (at.epoch === undefined || next < low)
      await giveUp(source, healing, 'Kafka has them no more, or does not tell its leader epochs')
    else {
      Object.assign(healing, { next, until: high, epoch: at.epoch })
      await rewind(partition, next)
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
      if (++healing.strays > MAX_STRAYS) await giveUp(source, healing, 'the consumer goes on elsewhere')
      else await rewind(partition, healing.next)
      return healing.state !== 'begun'
    }
    if (messages.some((message) => leaderEpochOf(message) !== healing.epoch))
      await giveUp(source, healing, 'another leader has written them')
    return true
  }

  return {
    /**
     * To be called before anything of a batch is published.
     * @param {string} source
     * @param {import('../kafka/batch.js').ConsumedBatch} batch
     * @param {AbortSignal} signal
     * @returns {Promise<boolean>} false: not this batch, reading goes on elsewhere
     * @throws the signal's reason
     */
    async ready (source, batch, signal) {
      const healing = sources.get(source)
      if (healing !== undefined && healing.state !== 'begun') return true
      return retry(() => goOn(source, batch), {
        signal,
        clock,
        backoff: new Backoff({ min: 50, max: 1000 }),
        onFailure: (error) => log.debug({ err: error, source }, 'what redis has lost is not known at the moment')
      })
    },

    /** @param {string} source @returns {string} the generation of Redis in which its records may be published */
    generation: (source) => sources.get(source)?.generation ?? '',

    /** Redis may be another generation. @param {string} [source] default: all */
    suspect (source) {
      if (source === undefined) sources.clear()
      else sources.delete(source)
    },

    /** @param {string} source @param {number} next everything before it is done */
    async done (source, next) {
      const healing = sources.get(source)
      if (healing?.state !== 'begun') return
      healing.next = next
      if (next < healing.until) return
      // what is not noted is found with the next batch
      await note(source, healing, 'done').then(
        () => log.info({ source }, 'what redis had lost is there again'),
        (error) => log.debug({ err: error, source }, 'that what redis had lost is there again could not be noted'))
    }
  }
}
