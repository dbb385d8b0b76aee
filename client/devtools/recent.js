/**
 * The last entries of a list that grows: above `max` the oldest is dropped.
 * @template T
 */
export class Recent {
  /** The oldest first. @type {T[]} */
  entries = []
  #max

  /** @param {number} max */
  constructor (max) { this.#max = max }

  /** @param {T} entry */
  add (entry) {
    this.entries.push(entry)
    if (this.entries.length > this.#max) this.entries.shift()
  }
}
