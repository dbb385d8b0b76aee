/**
 * A map with a limit and expiry: when it is full, the least recently used entry is dropped. A Map keeps insertion
 * order, so removing and adding an entry makes it the newest.
 *
 * @template V
 */
export class LruCache {
  /** @type {Map<string, { value: V, expiresAt: number }>} */
  #entries = new Map()

  /** @param {number} max maximum number of entries */
  constructor (max) {
    this.max = max
  }

  get size () { return this.#entries.size }

  /**
   * @param {string} key
   * @param {number} now ms, by the caller's clock
   * @returns {V | undefined} undefined if it is missing or expired
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
