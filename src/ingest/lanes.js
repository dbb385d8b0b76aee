import { Backoff } from '../base/common/backoff.js'
import { InkcastError } from '../base/common/errors.js'
import { isOrder } from '../wire/publication.js'

/** @typedef {import('./router.js').Routed} Routed */

/** Lanes of one batch that are published at the same time. */
const CONCURRENCY = 64
/** Maximum size of one publish call. */
const CHUNK_RECORDS = 64
const CHUNK_BYTES = 2 ** 20
/** An error that is not in the table is a defect: after this number of tries the record goes to the dead letters. */
const DEFECT_TRIES = 5

/**
 * Publishes lanes, each in its order, many at a time. A chunk that the bus does not accept is retried, also when its
 * outcome is unknown, because the bus recognizes duplicates (`origin`); the rest of its lane waits. No record is
 * skipped.
 *
 * @param {object} dependencies
 * @param {import('../log/publish/publisher.js').Publisher['publishChecked']} dependencies.publish
 * @param {(routed: Routed, published: import('../log/bus/contract.js').Published) => void} dependencies.onPublished
 * @param {(routed: Routed, error: InkcastError) => Promise<void>} dependencies.refuse called with a record that can
 *   never be published; resolves when the dead-letter topic has it
 * @param {(error: unknown) => void} dependencies.onRetry called for each failed call
 * @param {Pick<import('../base/common/clock.js').Clock, 'sleep'>} dependencies.clock
 * @param {import('../base/common/random.js').Random} dependencies.random
 */
export function createLanes ({ publish: publishChecked, onPublished, refuse, onRetry, clock, random }) {
  /**
   * @param {Routed[]} chunk
   * @param {AbortSignal} signal
   */
  async function publish (chunk, signal) {
    /** @type {Backoff | undefined} */
    let backoff
    for (;;) {
      try {
        const published = await publishChecked(chunk.map(({ entry }) => entry))
        for (let i = 0; i < chunk.length; i++) onPublished(chunk[i], published[i])
        return
      } catch (error) {
        onRetry(error)
        backoff ??= new Backoff({ min: 20, max: 1000, random })
        const wait = backoff.next()
        if (isFinal(error, backoff.tries)) return isolate(chunk, error, signal)
        await clock.sleep(wait, signal)
      }
    }
  }

  /**
   * Publishes the records one by one, because one of them is at fault.
   * @param {Routed[]} chunk
   * @param {unknown} error
   * @param {AbortSignal} signal
   */
  async function isolate (chunk, error, signal) {
    if (chunk.length === 1)
      return refuse(
        chunk[0],
        error instanceof InkcastError ? error : new InkcastError('internal', undefined, { cause: error })
      )
    for (const one of chunk) await publish([one], signal)
  }

  /**
   * @param {Routed[]} lane
   * @param {AbortSignal} signal
   */
  async function run (lane, signal) {
    for (let from = 0; from < lane.length;) {
      signal.throwIfAborted()
      const to = chunkEnd(lane, from)
      await publish(from === 0 && to === lane.length ? lane : lane.slice(from, to), signal)
      from = to
    }
  }

  /**
   * @param {Routed[][]} lanes
   * @param {AbortSignal} signal
   * @returns {Promise<void>} resolves when all records are published or refused, or when it was aborted and no call
   *   is in progress
   */
  return (lanes, signal) => forEachLimited(lanes, CONCURRENCY, signal, (lane) => run(lane, signal))
}

/**
 * @param {unknown} error
 * @param {number} tries
 */
function isFinal (error, tries) {
  if (error instanceof InkcastError && error.code !== 'internal') return !error.retryable
  return tries >= DEFECT_TRIES
}

/**
 * @param {Routed[]} lane
 * @param {number} from
 * @returns {number} end of the chunk that begins there
 */
function chunkEnd (lane, from) {
  let bytes = 0
  let to = from
  while (to < lane.length && to - from < CHUNK_RECORDS) {
    const { publication } = lane[to].entry
    // the bus has a lane of its own for it, or its retries would repeat the messages before it
    if (isOrder(publication)) return to === from ? to + 1 : to
    bytes += publication.value.length
    if (to > from && bytes > CHUNK_BYTES) break
    to++
  }
  return to
}

/**
 * Works on all items, several at a time, starting in their order.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {number} limit maximum number at the same time
 * @param {AbortSignal} signal after it aborts no item is started, and failures are ignored
 * @param {(item: T) => Promise<void>} work
 * @returns {Promise<void>} resolves when no work is in progress. Rejects with the first failure; later items are not
 *   started
 */
export async function forEachLimited (items, limit, signal, work) {
  if (items.length === 0) return
  let next = 0
  /** @type {{ error: unknown } | undefined} */
  let failure
  const runner = async () => {
    while (next < items.length && failure === undefined && !signal.aborted) {
      try {
        await work(items[next++])
      } catch (error) {
        if (!signal.aborted) failure ??= { error }
      }
    }
  }
  const runners = []
  for (let i = 0; i < limit && i < items.length; i++) runners.push(runner())
  await Promise.all(runners)
  if (failure !== undefined) throw failure.error
}
