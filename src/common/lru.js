/**
 * A map with a bound and expiry: when it is full, the entry that was used longest ago goes. A Map keeps the order of
 * insertion, so taking an entry out and putting it in again makes it the newest.
 *
 * @template V
 */
export class LruCache {
  /** @type {Map<string, { value: V, expiresAt: number }>} */
  #entries = new Map()

  /** @param {number} max most entries kept */
  constructor (max) {
    this.max = max
  }

  get size () { return this.#entries.size }

  /**
   * @param {string} key
   * @param {number} now ms, by the caller's clock
   * @returns {V | undefined} undefined if it is not there or its time is over
   */
  get (key, now) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    if (now >= entry.expiresAt) return undefined
    this.#entries.set(key, entry)
    return entry.value
  }

  /**
   * @param {string} key
   * @param {V} value
   * @param {number} expiresAt ms, by the caller's clock
   */
  set (key, value, expiresAt) {
    this.#entries.delete(key)
    if (this.#entries.size >= this.max) this.#entries.delete(/** @type {string} */ (this.#entries.keys().next().value))
    this.#entries.set(key, { value, expiresAt })
  }

  clear () { this.#entries.clear() }
}
