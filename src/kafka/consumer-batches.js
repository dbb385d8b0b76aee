import { setMaxListeners } from 'node:events'

/**
 * How often it is looked whether the group still counts on this member, and which batches take long, ms. kafkajs itself
 * limits how often it asks.
 */
const BEAT = 500

/**
 * kafkajs asks a broker for nothing while one of its batches is in progress; a partition whose batch takes longer is
 * paused, and the others go on, ms.
 */
const PATIENCE = 2000

/**
 * @typedef {object} ActiveBatch
 * @property {number} partition
 * @property {number} since ms since 1970
 * @property {boolean} paused kafkajs does not wait for it any more
 * @property {() => void} outlast called when it takes longer than PATIENCE
 * @property {Ending} ending
 * @property {import('./contract.js').Delivery} delivery
 *
 * @typedef {object} Ending what aborts all batches of an assignment together
 * @property {AbortController} controller
 * @property {unknown} lost what the heartbeat failed with
 */

/**
 * The batches that a consumer has in progress: hands each to its handler, keeps the membership while that works, and
 * says afterwards what is done. There is one for each partition at most.
 *
 * @param {object} dependencies
 * @param {(fetched: import('./contract.js').Fetched) => Promise<boolean>} dependencies.accepts whether it may be
 *   processed; if not it comes again, or something else in its place
 * @param {(fetched: import('./contract.js').Fetched, signal: AbortSignal) => Promise<number>} dependencies.handle
 * @param {ReturnType<typeof import('./commits.js').createCommits>} dependencies.commits
 * @param {(partition: number, next: number, last: import('./contract.js').KafkaRecord) => void} dependencies.onDone
 *   called with the offset that comes next, and the last record that is done
 * @param {(error: unknown) => void} dependencies.onFailure told why a batch failed that kafkajs does not wait for any
 *   more
 * @param {import('../common/clock.js').Clock} dependencies.clock
 */
export function createBatches ({ accepts, handle, commits, onDone, onFailure, clock }) {
  /** @type {Set<ActiveBatch>} */
  const active = new Set()
  let ending = newEnding()
  /**
   * One for all: most batches end within a millisecond, and timers of their own would cost more than they do.
   * @type {NodeJS.Timeout | undefined}
   */
  let timer
  let closed = false

  function abortAll () {
    const { controller } = ending
    ending = newEnding()
    controller.abort()
  }

  function look () {
    if (active.size === 0) {
      clearInterval(timer)
      timer = undefined
      return
    }
    const now = clock.monotonic()
    for (const { since, outlast } of active) if (now - since > PATIENCE) outlast()
    const held = ending
    // those that were aborted say nothing about the membership that there is now
    const current = [...active].filter((batch) => batch.ending === held)
    if (current.length === 0) return
    if (current.some(({ delivery }) => !delivery.isCurrent())) return abortAll()
    current[0].delivery.heartbeat().catch((error) => {
      held.lost = error
      if (held === ending) abortAll()
    })
  }

  /**
   * @param {ActiveBatch} batch
   * @param {number} generation
   */
  async function work (batch, generation) {
    const { delivery } = batch
    const { partition, messages } = delivery
    const { signal } = batch.ending.controller
    try {
      const done = await handle(delivery, signal)
      if (done > 0 && generation === commits.generation) {
        const { offset } = messages[done - 1]
        delivery.resolve(offset)
        // behind the last record there may be transaction markers, which belong to it
        const next = done === messages.length ? delivery.end : Number(offset) + 1
        commits.done(generation, partition, next)
        onDone(partition, next, messages[done - 1])
      }
      // what of it is done has to be known to whoever gets the partition
      if (batch.paused && signal.aborted) await commits.flush()
    } finally {
      active.delete(batch)
    }
  }

  return {
    /** Whether kafkajs waits for one, and asks for nothing meanwhile. */
    get awaited () { return [...active].some(({ paused }) => !paused) },

    /** @returns {Set<number>} partitions with a batch in progress */
    busy: () => new Set(Array.from(active, ({ partition }) => partition)),

    /** @returns {number} ms for which the oldest batch is in progress, 0 if there is none */
    slowest: () => active.size === 0 ? 0 : clock.monotonic() - Math.min(...Array.from(active, ({ since }) => since)),

    /**
     * @param {import('./contract.js').Delivery} delivery
     * @throws what the heartbeat failed with: the group goes on without this member, which has to join again
     */
    async handle (delivery) {
      // not taken, so it comes again; the pause keeps it from being offered in a tight loop
      if (closed) return clock.sleep(50)
      const { partition } = delivery
      const { generation } = commits
      if (!await accepts(delivery)) return clock.sleep(50)
      if (!delivery.isCurrent() || generation !== commits.generation) return
      /** @type {ActiveBatch} */
      const batch = { partition, since: clock.monotonic(), paused: false, outlast: () => {}, ending, delivery }
      active.add(batch)
      timer ??= setInterval(look, BEAT)
      const working = work(batch, generation)
      const outlasts = await new Promise((resolve, reject) => {
        batch.outlast = () => resolve(true)
        working.then(() => resolve(false), reject)
      })
      if (outlasts) {
        batch.paused = true
        const resume = delivery.pause()
        working.catch(onFailure).finally(resume)
        return
      }
      if (batch.ending.lost !== undefined) {
        await commits.flush(delivery.commit)
        throw batch.ending.lost
      }
    },

    abortAll,

    /**
     * Takes no more batches and waits for those in progress.
     * @param {number} graceMs then they are aborted, and waited for as long again
     */
    async close (graceMs) {
      closed = true
      const end = clock.monotonic() + graceMs
      while (active.size > 0 && clock.monotonic() < end) await clock.sleep(10)
      abortAll()
      while (active.size > 0 && clock.monotonic() < end + graceMs) await clock.sleep(10)
    }
  }
}

/** @returns {Ending} */
function newEnding () {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // everything that waits in the batches listens to it
  return { controller, lost: undefined }
}
