import { setMaxListeners } from 'node:events'

/** How often it is looked whether the group still counts on this member, ms. kafkajs itself limits how often it asks. */
const BEAT = 500

/** kafkajs asks a broker for nothing while one of its batches is in progress; a partition whose batch takes longer is paused, and the others go on, ms. */
const PATIENCE = 2000

/**
 * The batches that a consumer has in progress: hands each to its handler, keeps the membership while that works, and
 * says afterwards what is done. There is one for each partition at most.
 *
 * @param {object} dependencies
 * @param {(fetched: import('./consumer.js').Fetched) => Promise<boolean>} dependencies.accepts whether it may be processed; if not it comes again, or something else in its place
 * @param {(fetched: import('./consumer.js').Fetched, signal: AbortSignal) => Promise<number>} dependencies.handle
 * @param {ReturnType<typeof import('./commits.js').createCommits>} dependencies.commits
 * @param {(partition: number, next: number) => void} dependencies.onDone told the offset that comes next
 * @param {(error: unknown) => void} dependencies.onFailure told why a batch failed that kafkajs does not wait for any more
 * @param {import('../clock.js').Clock} dependencies.clock
 */
export function createBatches ({ accepts, handle, commits, onDone, onFailure, clock }) {
  /** @type {Map<AbortController, { partition: number, since: number, paused: boolean }>} */
  const active = new Map()
  let closed = false

  function abortAll () {
    for (const abort of active.keys()) abort.abort()
  }

  return {
    /** Whether kafkajs waits for one, and asks for nothing meanwhile. */
    get awaited () { return [...active.values()].some(({ paused }) => !paused) },

    /** @returns {Set<number>} partitions with a batch in progress */
    busy: () => new Set(Array.from(active.values(), ({ partition }) => partition)),

    /** @returns {number} ms for which the oldest batch is in progress, 0 if there is none */
    slowest: () => active.size === 0 ? 0 : clock.now() - Math.min(...Array.from(active.values(), ({ since }) => since)),

    /**
     * What kafkajs calls.
     * @param {import('kafkajs').EachBatchPayload} payload
     * @throws what the heartbeat failed with: the group goes on without this member, which has to join again
     */
    async eachBatch ({ batch, resolveOffset, heartbeat, commitOffsetsIfNecessary, isRunning, isStale, pause }) {
      // not taken, so it comes again; the pause keeps kafkajs from offering it in a tight loop
      if (closed) return clock.sleep(50)
      const { partition, messages } = batch
      const { generation } = commits
      const fetched = { partition, messages, highWatermark: Number(batch.highWatermark) }
      if (!await accepts(fetched)) return clock.sleep(50)
      if (isStale() || generation !== commits.generation) return
      const abort = new AbortController()
      setMaxListeners(0, abort.signal) // everything that waits in the batch listens to it
      /** @type {unknown} */
      let lost
      const beat = () => {
        if (abort.signal.aborted) return clearInterval(timer)
        if (!isRunning() || isStale()) return abort.abort()
        heartbeat().catch((error) => {
          lost = error
          abort.abort()
        })
      }
      const timer = setInterval(beat, BEAT)
      const state = { partition, since: clock.now(), paused: false }
      active.set(abort, state)

      const work = async () => {
        const done = await handle(fetched, abort.signal)
        if (done > 0 && generation === commits.generation) {
          const { offset } = messages[done - 1]
          resolveOffset(offset)
          // behind the last record there may be transaction markers, which belong to it
          const next = Number(done === messages.length ? batch.lastOffset() : offset) + 1
          commits.done(generation, partition, next)
          onDone(partition, next)
        }
        // what of it is done has to be known to whoever gets the partition
        if (state.paused && abort.signal.aborted) await commits.flush()
      }
      const working = work().finally(() => {
        clearInterval(timer)
        active.delete(abort)
      })
      if (await outlasts(working, PATIENCE)) {
        state.paused = true
        const resume = pause()
        working.catch(onFailure).finally(resume)
        return
      }
      if (lost !== undefined) {
        await commits.flush(commitOffsetsIfNecessary)
        throw lost
      }
    },

    abortAll,

    /**
     * Takes no more batches and waits for those in progress.
     * @param {number} graceMs then they are aborted, and waited for as long again
     */
    async close (graceMs) {
      closed = true
      const end = clock.now() + graceMs
      while (active.size > 0 && clock.now() < end) await clock.sleep(10)
      abortAll()
      while (active.size > 0 && clock.now() < end + graceMs) await clock.sleep(10)
    }
  }
}

/**
 * A timer of its own, because most batches end within a millisecond, and to abort a clock's sleep costs more than a batch.
 * @param {Promise<void>} promise
 * @param {number} ms
 * @returns {Promise<boolean>} whether it takes longer; rejects as it does until then
 */
function outlasts (promise, ms) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, true)
    promise.then(() => resolve(false), reject).finally(() => clearTimeout(timer))
  })
}
