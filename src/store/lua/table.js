/** @typedef {any} Value a value of Lua: undefined (nil), boolean, number, string of bytes, function, LuaTable, NULL */

const MAX_ARRAY = 2 ** 26
/** Smallest power of two that is not smaller. @param {number} n */
const log2 = (n) => 32 - Math.clz32(n - 1)

/**
 * A table of Lua 5.1 with its two parts. Where a table has holes, `#` depends on their sizes, so they grow as in Lua:
 * `array.length` is the size of the array part, `nodes` that of the hash part. A removed key keeps its node until the
 * next growth, as in Lua. Keys are listed in the order of the array, then of insertion (Lua: any order).
 */
export class LuaTable {
  /** @type {Map<Value, Value> | undefined} */
  hash
  /** Tables of the libraries cannot be changed. */
  readonly = false
  /** The table with `__index`. @type {LuaTable | undefined} */
  meta

  /**
   * @param {Value[]} [array] is kept
   * @param {number} [keys] number of other keys that follow
   */
  constructor (array = [], keys = 0) {
    this.array = array
    this.nodes = keys === 0 ? 0 : 2 ** log2(keys)
  }

  /** @param {Value} key @returns {Value} */
  get (key) {
    if (typeof key === 'number' && key > 0 && key <= this.array.length && Number.isInteger(key)) return this.array[key - 1]
    return this.hash === undefined ? undefined : this.hash.get(key)
  }

  /** @param {Value} key neither nil nor NaN @param {Value} value */
  set (key, value) {
    if (typeof key === 'number' && key > 0 && key <= this.array.length && Number.isInteger(key)) {
      this.array[key - 1] = value
      return
    }
    const hash = this.hash ??= new Map()
    if (hash.size < this.nodes || hash.has(key)) hash.set(key, value)
    else {
      this.#grow(key)
      this.set(key, value)
    }
  }

  /** `#` @returns {number} */
  get length () {
    const { array } = this
    let high = array.length
    let low = 0
    if (high === 0 || array[high - 1] !== undefined) {
      if (this.nodes === 0) return high
      low = high++
      while (this.get(high) !== undefined && high < 2 ** 31) {
        low = high
        high *= 2
      }
    }
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.get(middle) === undefined) high = middle
      else low = middle
    }
    return low
  }

  /** @returns {Generator<[Value, Value]>} */
  * entries () {
    for (let i = 0; i < this.array.length; i++) {
      if (this.array[i] !== undefined) yield [i + 1, this.array[i]]
    }
    for (const entry of this.hash ?? []) {
      if (entry[1] !== undefined) yield entry
    }
  }

  /**
   * Chooses new sizes, with room for one more key: the array part is the largest one that is more than half used.
   * @param {Value} added
   */
  #grow (added) {
    /** @type {number[]} number of keys above 2^(i-1) up to 2^i */
    const counts = Array(28).fill(0)
    let integers = 0
    let total = 1
    const count = (/** @type {Value} */ key) => {
      if (typeof key !== 'number' || key < 1 || key > MAX_ARRAY || !Number.isInteger(key)) return
      counts[log2(key)]++
      integers++
    }
    count(added)
    for (const [key] of this.entries()) {
      total++
      count(key)
    }
    let size = 0
    let kept = 0
    for (let i = 0, seen = 0; 2 ** i < 2 * integers; i++) {
      seen += counts[i]
      if (counts[i] > 0 && seen > 2 ** i / 2) {
        size = 2 ** i
        kept = seen
      }
      if (seen === integers) break
    }
    this.#resize(size, total - kept)
  }

  /** @param {number} size of the array part @param {number} keys of the hash part */
  #resize (size, keys) {
    const moved = this.array.slice(size)
    const first = size + 1
    const before = this.hash ?? []
    this.array.length = Math.min(size, this.array.length)
    while (this.array.length < size) this.array.push(undefined)
    this.hash = new Map()
    this.nodes = keys === 0 ? 0 : 2 ** log2(keys)
    moved.forEach((value, i) => { if (value !== undefined) this.set(first + i, value) })
    for (const [key, value] of before) {
      if (value !== undefined) this.set(key, value)
    }
  }
}

/** cjson.null, a pointer to nothing. */
export const NULL = Object.freeze({ userdata: null })
