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
/** @type {readonly string[]} */
const NONE = []

export class Watches {
  /** @type {Map<string, { watch: Watch, until: number }>} */
  #all = new Map()
  /** Ids by subject. @type {Record<typeof KINDS[number], Map<string, string[]>>} */
  #by = { guid: new Map(), uid: new Map(), traceId: new Map() }

  get size () { return this.#all.size }
  /** Whether any watch is about a user. */
  get hasUsers () { return this.#by.uid.size > 0 }

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
      if (this.#all.delete(id)) this.#index()
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
    this.#index()
    return true
  }

  /** Removes those whose lease has ended. @param {number} now monotonic ms */
  expire (now) {
    const { size } = this.#all
    for (const [id, { until }] of this.#all) if (until <= now) this.#all.delete(id)
    if (this.#all.size < size) this.#index()
  }

  clear () {
    this.#all.clear()
    this.#index()
  }

  /** @param {Subject} subject @returns {readonly string[]} ids of the watches that it belongs to */
  of ({ guid, uid, traceId }) {
    const one = guid === undefined ? undefined : this.#by.guid.get(guid)
    const two = uid === undefined ? undefined : this.#by.uid.get(uid)
    const three = traceId === undefined ? undefined : this.#by.traceId.get(traceId)
    if (one === undefined && two === undefined && three === undefined) return NONE
    return [...one ?? NONE, ...two ?? NONE, ...three ?? NONE]
  }

  #index () {
    for (const kind of KINDS) {
      const map = this.#by[kind]
      map.clear()
      for (const { watch } of this.#all.values()) {
        const subject = watch[kind]
        if (typeof subject === 'string') map.set(subject, [...map.get(subject) ?? [], watch.id])
      }
    }
  }
}
