/**
 * The watches that one process knows, by what they watch.
 *
 * @typedef {import('./contract.js').Watch} Watch
 * @typedef {{ guid?: string, uid?: string, traceId?: string }} Subject
 */

/** Watches of all machines at the same time. */
export const MAX_WATCHES = 20
/** Longest lease, ms. */
const MAX_LEASE = 30_000
const KINDS = /** @type {const} */ (['guid', 'uid', 'traceId'])

export class Watches {
  /** @type {Map<string, { watch: Watch, until: number }>} */
  #all = new Map()
  /** Whether any watch is about a user. */
  hasUsers = false

  get size () { return this.#all.size }

  /** @param {string} id */
  has (id) { return this.#all.has(id) }

  /**
   * @param {Watch} watch as it was received
   * @param {number} now monotonic ms
   * @returns {boolean} whether it is a new one
   */
  note (watch, now) {
    const { id, lease } = watch
    if (typeof id !== 'string' || !(lease > 0)) {
      this.#remove(id)
      return false
    }
    const until = now + Math.min(lease, MAX_LEASE)
    const known = this.#all.get(id)
    if (known !== undefined) {
      known.until = until
      return false
    }
    if (this.#all.size >= MAX_WATCHES || !KINDS.some((kind) => typeof watch[kind] === 'string')) return false
    this.#all.set(id, { watch, until })
    this.hasUsers ||= watch.uid !== undefined
    return true
  }

  /** Removes those whose lease has ended. @param {number} now monotonic ms */
  expire (now) {
    for (const [id, { until }] of this.#all) if (until <= now) this.#remove(id)
  }

  clear () { for (const id of this.#all.keys()) this.#remove(id) }

  /** @param {Subject} subject @returns {readonly string[]} ids of the watches that it belongs to */
  of (subject) {
    const ids = []
    for (const [id, { watch }] of this.#all)
      if (KINDS.some((kind) => watch[kind] !== undefined && watch[kind] === subject[kind])) ids.push(id)
    return ids
  }

  /** @param {string} id */
  #remove (id) {
    this.#all.delete(id)
    this.hasUsers = [...this.#all.values()].some(({ watch }) => watch.uid !== undefined)
  }
}
