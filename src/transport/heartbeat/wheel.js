/**
 * A timing wheel with buckets of a fifth of a second: adding, removing and an empty bucket have constant cost. Entries
 * are the links of the lists themselves, so that they need no further memory.
 */

/**
 * Length of a bucket, and interval of the timer that looks at the buckets, ms. An entry is due at most this much late,
 * and the timer comes at most as much later. Each bucket wakes the worker for pings, and soon after for their answers
 * (docs/internals/decisions/0030-heartbeat.md).
 */
export const TICK = 200

export class WheelEntry {
  // linked to itself: in no list
  /** @type {WheelEntry} */
  previous = this
  /** @type {WheelEntry} */
  next = this
}

/** @param {WheelEntry} entry */
function unlink (entry) {
  entry.previous.next = entry.next
  entry.next.previous = entry.previous
  entry.previous = entry.next = entry
}

/** @param {WheelEntry} list its head @param {WheelEntry} entry in no list */
function append (list, entry) {
  const last = list.previous
  last.next = list.previous = entry
  entry.previous = last
  entry.next = list
}

/** @param {WheelEntry} list @param {WheelEntry} others empty afterwards */
function appendAll (list, others) {
  const { next: first, previous: last } = others
  if (first === others) return
  others.previous = others.next = others
  list.previous.next = first
  first.previous = list.previous
  last.next = list
  list.previous = last
}

/** @template {WheelEntry} E */
export class TimingWheel {
  #buckets
  #due = new WheelEntry()
  #done
  /** Number of entries. */
  size = 0

  /**
   * @param {number} horizon how far ahead something may be put, ms
   * @param {number} now ms
   */
  constructor (horizon, now) {
    this.#buckets = Array.from({ length: Math.ceil(horizon / TICK) + 2 }, () => new WheelEntry())
    this.#done = Math.floor(now / TICK)
  }

  /**
   * Adds or moves an entry. It may be due early after the process hung: the callee checks the time.
   * @param {E} entry
   * @param {number} at ms
   */
  put (entry, at) {
    this.remove(entry)
    this.size++
    append(this.#buckets[Math.max(Math.ceil(at / TICK), this.#done + 1) % this.#buckets.length], entry)
  }

  /** @param {E} entry does nothing if it is not there */
  remove (entry) {
    if (entry.next === entry) return
    unlink(entry)
    this.size--
  }

  /** @param {number} now ms @returns {boolean} whether something is due */
  advance (now) {
    const tick = Math.floor(now / TICK)
    // after a standstill each bucket comes once
    for (let at = Math.max(this.#done + 1, tick - this.#buckets.length + 1); at <= tick; at++)
      appendAll(this.#due, this.#buckets[at % this.#buckets.length])
    this.#done = Math.max(this.#done, tick)
    return this.#due.next !== this.#due
  }

  /** @returns {E | undefined} what has been due longest, no longer in the wheel */
  take () {
    const entry = this.#due.next
    if (entry === this.#due) return undefined
    this.remove(/** @type {E} */ (entry))
    return /** @type {E} */ (entry)
  }
}
