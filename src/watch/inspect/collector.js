import { TokenBucket } from '../../base/common/token-bucket.js'

/**
 * The events of one process, until they are sent: a batch per watch every fifth of a second. Events above the limit of
 * a watch are left out and counted.
 *
 * @typedef {import('./contract.js').InspectEvent} InspectEvent
 */

/** Events of one watch in a second, from one process. */
const MAX_EVENTS = 1000

export class Collector {
  /** By watch. @type {Map<string, { bucket: TokenBucket, events: InspectEvent[], leftOut: number }>} */
  #kept = new Map()
  #clock

  /** @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'monotonic'>} clock */
  constructor (clock) { this.#clock = clock }

  /** @param {readonly string[]} ids of watches @param {InspectEvent} event */
  add (ids, event) {
    const now = this.#clock.monotonic()
    for (const id of ids) {
      let kept = this.#kept.get(id)
      if (kept === undefined) {
        const bucket = new TokenBucket({ perSecond: MAX_EVENTS, burst: MAX_EVENTS }, now)
        this.#kept.set(id, kept = { bucket, events: [], leftOut: 0 })
      }
      if (kept.bucket.take(now)) kept.events.push(event)
      else kept.leftOut++
    }
  }

  /**
   * @param {(id: string) => boolean} isWatched
   * @returns {{ id: string, events: InspectEvent[], leftOut: number }[]} what has come since the last call
   */
  take (isWatched) {
    const batches = []
    for (const [id, kept] of this.#kept) {
      const { events, leftOut } = kept
      kept.events = []
      kept.leftOut = 0
      if (leftOut > 0) events.push({ at: this.#clock.now(), hop: 'left_out', count: leftOut })
      if (!isWatched(id)) this.#kept.delete(id)
      else if (events.length > 0) batches.push({ id, events, leftOut })
    }
    return batches
  }
}
