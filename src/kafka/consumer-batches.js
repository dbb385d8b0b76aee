import { setMaxListeners } from 'node:events'

/** Interval of heartbeats and of checks for slow batches, ms. A driver may send fewer heartbeats. */
const BEAT = 500

/**
 * A batch that takes longer is paused, ms. kafkajs sends no fetch to a broker while one of its batches is in progress,
 * so a slow batch would stop all partitions.
 */
const PAUSE_AFTER = 2000

/**
 * @typedef {object} ActiveBatch
 * @property {number} partition
 * @property {number} since ms since 1970
 * @property {boolean} paused its delivery has returned, fetches continue
 * @property {() => void} outlast called when it takes longer than PAUSE_AFTER
 * @property {Ending} ending
 * @property {import('./contract.js').Delivery} delivery
 *
 * @typedef {object} Ending aborts all batches of an assignment together
 * @property {AbortController} controller
 * @property {unknown} lost error of the heartbeat
 */

/**
 * The batches that a consumer has in progress, one per partition at most. Hands each to the handler, sends heartbeats
 * meanwhile, and reports what is done.
 */
export class ConsumerBatches {
  #dependencies
  /** @type {Set<ActiveBatch>} */
  #active = new Set()
  #ending = newEnding()
  /**
   * One for all batches: most end within a millisecond, and would cost less than a timer of their own.
   * @type {import('../base/common/clock.js').Timer | undefined}
   */
  #timer
  #closed = false

  /**
   * @param {object} dependencies
   * @param {(fetched: import('./contract.js').Fetched) => Promise<boolean>} dependencies.accepts whether it may be
   *   processed; if not, it is delivered again, or other records in its place
   * @param {(fetched: import('./contract.js').Fetched, signal: AbortSignal) => Promise<number>} dependencies.handle
   * @param {import('./commits.js').Commits} dependencies.commits
   * @param {(partition: number, next: number, last: import('./contract.js').KafkaRecord) => void} dependencies.onDone
   *   called with the offset that comes next, and the last record that is done
   * @param {(error: unknown) => void} dependencies.onFailure called when a paused batch has failed, and was not aborted
   * @param {import('../base/common/clock.js').Clock} dependencies.clock
   */
  constructor (dependencies) {
    this.#dependencies = dependencies
  }

  abortAll () {
    const { controller } = this.#ending
    this.#ending = newEnding()
    controller.abort()
  }

  #look () {
    if (this.#active.size === 0) {
      this.#timer?.stop()
      this.#timer = undefined
      return
    }
    const now = this.#dependencies.clock.monotonic()
    for (const { since, outlast } of this.#active) if (now - since > PAUSE_AFTER) outlast()
    const held = this.#ending
    // aborted batches belong to an earlier membership
    const current = [...this.#active].filter((batch) => batch.ending === held)
    if (current.length === 0) return
    if (current.some(({ delivery }) => !delivery.isCurrent())) return this.abortAll()
    current[0].delivery.heartbeat().catch((error) => {
      held.lost = error
      if (held === this.#ending) this.abortAll()
    })
  }

  /**
   * @param {ActiveBatch} batch
   * @param {number} generation
   */
  async #work (batch, generation) {
    const { handle, commits, onDone } = this.#dependencies
    const { delivery } = batch
    const { partition, messages } = delivery
    const { signal } = batch.ending.controller
    try {
      const done = await handle(delivery, signal)
      if (done > 0 && generation === commits.generation) {
        const { offset } = messages[done - 1]
        delivery.resolve(offset)
        // transaction markers behind the last record belong to it
        const next = done === messages.length ? delivery.end : Number(offset) + 1
        commits.done(generation, partition, next)
        onDone(partition, next, messages[done - 1])
      }
      // the next owner of the partition begins at the committed offset
      if (batch.paused && signal.aborted) await commits.flush()
    } finally {
      this.#active.delete(batch)
    }
  }

  /** Whether a delivery is pending, so that there may be no fetches. */
  get awaited () { return [...this.#active].some(({ paused }) => !paused) }

  /** @returns {Set<number>} partitions with a batch in progress */
  busy () { return new Set(Array.from(this.#active, ({ partition }) => partition)) }

  /** @returns {number} age of the oldest batch, ms; 0 without one */
  slowest () {
    if (this.#active.size === 0) return 0
    return this.#dependencies.clock.monotonic() - Math.min(...Array.from(this.#active, ({ since }) => since))
  }

  /**
   * @param {import('./contract.js').Delivery} delivery
   * @throws the heartbeat's error: the group has gone on without this member, which has to join again
   */
  async handle (delivery) {
    const { accepts, commits, onFailure, clock } = this.#dependencies
    // not resolved, so it is delivered again; the pause prevents a tight loop
    if (this.#closed) return clock.sleep(50)
    const { partition } = delivery
    const { generation } = commits
    if (!await accepts(delivery)) return clock.sleep(50)
    if (!delivery.isCurrent() || generation !== commits.generation) return
    /** @type {ActiveBatch} */
    const batch =
      { partition, since: clock.monotonic(), paused: false, outlast: () => {}, ending: this.#ending, delivery }
    this.#active.add(batch)
    this.#timer ??= clock.every(BEAT, () => this.#look())
    const working = this.#work(batch, generation)
    const outlasts = await new Promise((resolve, reject) => {
      batch.outlast = () => resolve(true)
      working.then(() => resolve(false), reject)
    })
    if (outlasts) {
      batch.paused = true
      const resume = delivery.pause()
      working.catch((error) => {
        // aborted: the assignment is over, and the records are delivered again in the next one
        if (!batch.ending.controller.signal.aborted) onFailure(error)
      }).finally(resume)
      return
    }
    if (batch.ending.lost !== undefined) {
      await commits.flush(delivery.commit)
      throw batch.ending.lost
    }
  }

  /**
   * Takes no more batches and waits for those in progress.
   * @param {number} graceMs after it they are aborted, and have the same time again
   */
  async close (graceMs) {
    const { clock } = this.#dependencies
    this.#closed = true
    const end = clock.monotonic() + graceMs
    while (this.#active.size > 0 && clock.monotonic() < end) await clock.sleep(10)
    this.abortAll()
    while (this.#active.size > 0 && clock.monotonic() < end + graceMs) await clock.sleep(10)
  }
}

/** @returns {Ending} */
function newEnding () {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // all pending calls of the batches listen to it
  return { controller, lost: undefined }
}
