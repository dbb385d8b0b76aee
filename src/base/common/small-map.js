/**
 * A Map for at most one entry, in a quarter of the memory: an empty Map takes 180 bytes. It becomes an ordinary Map
 * with the second entry.
 *
 * @template K, V
 */
export class SmallMap {
  /** Undefined: it is empty. @type {K | undefined} */
  #key
  /** @type {V | undefined} */
  #value
  /** @type {Map<K, V> | null} null: there is one entry, or none */
  #map = null

  /** @param {Map<K, V>} [map] of one entry; keys are not undefined */
  constructor (map) { if (map !== undefined) [[this.#key, this.#value]] = map }

  get size () { return this.#map !== null ? this.#map.size : this.#key === undefined ? 0 : 1 }
  /** @param {K} key */
  get (key) { return this.#map === null ? key === this.#key ? this.#value : undefined : this.#map.get(key) }
  /** @param {K} key */
  has (key) { return this.#map === null ? key === this.#key : this.#map.has(key) }
  /** @param {K} key @param {V} value */
  set (key, value) {
    if (this.#map === null && (this.#key === undefined || key === this.#key)) {
      this.#key = key
      this.#value = value
    } else {
      this.#map ??= new Map(this.#entries)
      this.#map.set(key, value)
    }
    return this
  }

  /** @param {K} key @returns {boolean} whether it was there */
  delete (key) {
    if (this.#map !== null) return this.#map.delete(key)
    if (key !== this.#key || key === undefined) return false
    this.#key = this.#value = undefined
    return true
  }

  clear () {
    this.#map = null
    this.#key = this.#value = undefined
  }

  values () { return this.#map?.values() ?? this.#entries.map(([, value]) => value).values() }
  keys () { return this.#map?.keys() ?? this.#entries.map(([key]) => key).values() }
  entries () { return this.#map?.entries() ?? this.#entries.values() }
  /** @param {(value: V, key: K, map: any) => void} each */
  forEach (each) { for (const [key, value] of this.entries()) each(value, key, this) }
  [Symbol.iterator] () { return this.entries() }

  /** Without a Map. @returns {[K, V][]} */
  get #entries () {
    return this.#key === undefined ? [] : [[this.#key, /** @type {V} */ (this.#value)]]
  }
}
