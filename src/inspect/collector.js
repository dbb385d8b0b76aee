/**
 * The events of one process, until they are sent: a batch per watch every fifth of a second. Events above the limit of
 * a watch are left out and counted.
 *
 * @typedef {import('./contract.js').InspectEvent} InspectEvent
 */

/** Events of one watch in a second, from one process. */
const MAX_EVENTS = 1000
const SECOND = 1000

export class Collector {
  /** By watch. @type {Map<string, InspectEvent[]>} */
  #events = new Map()
  /** @type {Map<string, { since: number, events: number, leftOut: number }>} */
  #budgets = new Map()
  #clock

  /** @param {Pick<import('../common/clock.js').Clock, 'now' | 'monotonic'>} clock */
  constructor (clock) { this.#clock = clock }

  /** @param {readonly string[]} ids of watches @param {InspectEvent} event */
  add (ids, event) {
    for (const id of ids) {
      const now = this.#clock.monotonic()
      let budget = this.#budgets.get(id)
      if (budget === undefined) this.#budgets.set(id, budget = { since: now, events: 0, leftOut: 0 })
      if (now - budget.since >= SECOND) {
        budget.since = now
        budget.events = 0
      }
      if (++budget.events > MAX_EVENTS) {
        budget.leftOut++
        continue
      }
      const events = this.#events.get(id)
      if (events === undefined) this.#events.set(id, [event])
      else events.push(event)
    }
  }

  /**
   * @param {(id: string) => boolean} isWatched
   * @returns {{ id: string, events: InspectEvent[], leftOut: number }[]} what has come since the last call
   */
  take (isWatched) {
    const batches = []
    for (const [id, budget] of this.#budgets) {
      const events = this.#events.get(id) ?? []
      const { leftOut } = budget
      budget.leftOut = 0
      if (leftOut > 0) events.push({ at: this.#clock.now(), hop: 'left_out', count: leftOut })
      if (!isWatched(id)) this.#budgets.delete(id)
      else if (events.length > 0) batches.push({ id, events, leftOut })
    }
    this.#events.clear()
    return batches
  }
}
