/** Fewer are kept with those that were canceled. */
const FEW = 256

/**
 * Events by time, and among those of one time by their number.
 *
 * @typedef {object} Event
 * @property {number} at ms
 * @property {number} number
 * @property {import('./sim-process.js').SimProcess | null} owner whose turn it is; null: the world itself
 * @property {string} kind for the trace
 * @property {() => void} run
 * @property {boolean} canceled
 * @property {(() => void) | undefined} lost runs instead when its owner has ended
 */
export class Heap {
  /** @type {Event[]} */
  #events = []
  /** Size at which canceled ones are dropped. */
  #full = FEW

  get size () { return this.#events.length }

  /** @param {Event} event */
  push (event) {
    const events = this.#events
    let at = events.length
    events.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(event, events[parent])) break
      events[at] = events[parent]
      at = parent
    }
    events[at] = event
    if (events.length > this.#full) this.#dropCanceled()
  }

  /** Most timers are canceled long before their time. The order of the others does not depend on it. */
  #dropCanceled () {
    // in order, so a heap again
    this.#events = this.#events.filter(({ canceled }) => !canceled).sort((a, b) => before(a, b) ? -1 : 1)
    this.#full = Math.max(FEW, 2 * this.#events.length)
  }

  /** @returns {Event | undefined} the first one, which stays */
  peek () { return this.#events[0] }

  /** @returns {Event | undefined} the first one */
  pop () {
    const events = this.#events
    const first = events[0]
    const last = events.pop()
    if (last === undefined || events.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= events.length) break
      if (child + 1 < events.length && before(events[child + 1], events[child])) child++
      if (!before(events[child], last)) break
      events[at] = events[child]
      at = child
    }
    events[at] = last
    return first
  }
}

/** @param {Event} a @param {Event} b */
const before = (a, b) => a.at < b.at || (a.at === b.at && a.number < b.number)
