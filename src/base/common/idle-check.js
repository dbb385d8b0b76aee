/** Items compared in one tick; with more than MAX_BATCH * cycle / tick items a cycle takes longer. */
const MAX_BATCH = 500
/**
 * With fewer items in a tick the next tick comes later, after at most LONGEST ms: a wake-up and a request cost more
 * than the items in them.
 */
const MIN_BATCH = 25
const LONGEST = 1000

/**
 * Compares the idle items of a map with a store, one cycle after the other: the only way to detect a lost message that
 * no later message follows. An item that differs is compared again one tick later, because the missing message may have
 * been on its way.
 * @template T
 */
export class IdleCheck {
  #options
  /** A map iterator continues at its place when entries are added or removed. */
  #round
  /** Items to compare in this tick; with few items less than one in most ticks. */
  #turn = 0
  /** Compare all items once, as soon as possible. */
  #wanted = false
  /** Its items that are left. */
  #hurry = 0
  /** @type {(() => void)[]} */
  #suspects = []

  /**
   * @param {object} options
   * @param {ReadonlyMap<string, T>} options.items
   * @param {number} options.cycle each item is compared once in this time, ms
   * @param {number} options.tick the work of a cycle is spread over ticks, ms
   * @param {(item: T) => boolean} options.isIdle called once per cycle; items that are not idle are not compared
   * @param {(idle: T[]) => Promise<(() => void)[]>} options.compare returns a function for each item that differs,
   *   called with the next tick; must not reject
   * @param {() => boolean} [options.isOpen] whether the store is available; default: always
   * @param {import('./clock.js').Clock} options.clock
   */
  constructor (options) {
    this.#options = options
    this.#round = options.items.values()
  }

  /** Compares all items once, as soon as possible: from its place on, so that repeated calls reach all of them. */
  hurry () { this.#wanted = true }

  /** @param {AbortSignal} signal ends it: then it rejects */
  async run (signal) {
    const { compare, isOpen = () => true, clock } = this.#options
    while (!signal.aborted) {
      const slept = this.#pause()
      await clock.sleep(slept, signal)
      for (const lookAgain of this.#suspects) lookAgain()
      this.#suspects = []
      if (!isOpen()) continue
      const idle = this.#nextIdle(slept)
      if (idle.length > 0) this.#suspects = await compare(idle)
    }
  }

  /** @returns {number} ms until the next tick */
  #pause () {
    const { items: { size }, cycle, tick } = this.#options
    if (this.#suspects.length > 0 || this.#wanted || this.#hurry > 0) return tick
    // nothing to compare: a worker at rest is not woken for each tick
    if (size === 0) return Math.max(tick, cycle / 4)
    return Math.max(tick, Math.min(LONGEST, cycle / 4, cycle * MIN_BATCH / size))
  }

  /** @param {number} passed since the last tick, ms */
  #nextIdle (passed) {
    const { items, cycle, isIdle } = this.#options
    /** @type {T[]} */
    const idle = []
    if (this.#wanted) {
      this.#wanted = false
      this.#hurry = items.size
    }
    this.#turn = Math.min(MAX_BATCH, this.#hurry > 0 ? this.#hurry : this.#turn + items.size * passed / cycle)
    for (; this.#turn >= 1; this.#turn--) {
      if (this.#hurry > 0) this.#hurry--
      const item = this.#round.next().value ?? (this.#round = items.values()).next().value
      if (item === undefined) break
      if (isIdle(item)) idle.push(item)
    }
    return idle
  }
}
