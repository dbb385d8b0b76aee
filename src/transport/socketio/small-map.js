/**
 * A Map for one entry, in a quarter of the memory: an empty Map takes 180 bytes. It becomes an ordinary Map with the
 * second entry.
 *
 * @template K, V
 */
export class SmallMap {
  /** @type {K | undefined} */
  #key
  /** @type {V | undefined} */
  #value
  /** @type {Map<K, V> | null} null: there is one entry */
  #map = null

  /** @param {Map<K, V>} map of one entry */
  constructor (map) { [[this.#key, this.#value]] = map }

  /** As an ordinary Map, for rare operations. */
  get #grown () { return this.#map ??= new Map([[/** @type {K} */ (this.#key), /** @type {V} */ (this.#value)]]) }

  get size () { return this.#map === null ? 1 : this.#map.size }
  /** @param {K} key */
  get (key) { return this.#map === null ? key === this.#key ? this.#value : undefined : this.#map.get(key) }
  /** @param {K} key */
  has (key) { return this.#map === null ? key === this.#key : this.#map.has(key) }
  /** @param {K} key @param {V} value */
  set (key, value) {
    this.#grown.set(key, value)
    return this
  }

  /** @param {K} key */
  delete (key) { return this.#grown.delete(key) }
  clear () { this.#grown.clear() }
  values () { return this.#grown.values() }
  keys () { return this.#grown.keys() }
  entries () { return this.#grown.entries() }
  /** @param {(value: V, key: K, map: Map<K, V>) => void} each */
  forEach (each) { this.#grown.forEach(each) }
  [Symbol.iterator] () { return this.#grown[Symbol.iterator]() }
}
