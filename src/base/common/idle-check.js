/**
 * Compares the idle items of a map with a store, one cycle after the other: the only way to detect a lost message that
 * no later message follows. An item that differs is compared again one tick later, because the missing message may have
 * been on its way.
 */

/** Items compared in one tick; with more than MAX_BATCH * cycle / tick items a cycle takes longer. */
const MAX_BATCH = 500
/**
 * With fewer items in a tick the next tick comes later, after at most LONGEST ms: a wake-up and a request cost more
 * than the items in them.
 */
const MIN_BATCH = 25
const LONGEST = 1000

/**
 * @template T
 * @param {object} options
 * @param {ReadonlyMap<string, T>} options.items
 * @param {number} options.cycle each item is compared once in this time, ms
 * @param {number} options.tick the work of a cycle is spread over ticks, ms
 * @param {(item: T) => boolean} options.isIdle called once per cycle; items that are not idle are not compared
 * @param {(idle: T[]) => Promise<(() => void)[]>} options.compare returns a function for each item that differs, called
 *   with the next tick; must not reject
 * @param {() => boolean} [options.isOpen] whether the store is available; default: always
 * @param {{ soon: boolean }} [options.wanted] soon: compare all items once, as soon as possible
 * @param {import('./clock.js').Clock} options.clock
 * @param {AbortSignal} options.signal ends it
 */
export async function checkIdle ({
  items, cycle, tick, isIdle, compare, isOpen = () => true, wanted = { soon: false }, clock, signal
}) {
  // a map iterator continues at its place when entries are added or removed
  let round = items.values()
  /** Items to compare in this tick; with few items less than one in most ticks. */
  let turn = 0
  /** Items left to compare after `wanted.soon`. */
  let hurry = 0
  /** @type {(() => void)[]} */
  let suspects = []

  /** @param {number} passed since the last tick, ms */
  function nextIdle (passed) {
    /** @type {T[]} */
    const idle = []
    if (wanted.soon) {
      wanted.soon = false
      round = items.values()
      hurry = items.size
    }
    turn = Math.min(MAX_BATCH, hurry > 0 ? hurry : turn + items.size * passed / cycle)
    for (; turn >= 1; turn--) {
      if (hurry > 0) hurry--
      const item = round.next().value ?? (round = items.values()).next().value
      if (item === undefined) break
      if (isIdle(item)) idle.push(item)
    }
    return idle
  }

  /** @returns {number} ms until the next tick */
  function pause () {
    if (suspects.length > 0 || wanted.soon || hurry > 0) return tick
    // nothing to compare: a worker at rest is not woken for each tick
    if (items.size === 0) return Math.max(tick, cycle / 4)
    return Math.max(tick, Math.min(LONGEST, cycle / 4, cycle * MIN_BATCH / items.size))
  }

  while (!signal.aborted) {
    const slept = pause()
    await clock.sleep(slept, signal)
    for (const lookAgain of suspects) lookAgain()
    suspects = []
    if (!isOpen()) continue
    const idle = nextIdle(slept)
    if (idle.length > 0) suspects = await compare(idle)
  }
}
