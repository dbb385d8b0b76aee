/** @typedef {any} Value a value of Lua: undefined (nil), boolean, number, string of bytes, function, LuaTable */

/**
 * A table: its list without holes at the end, and all other keys. Keys are listed in the order of the list, then of
 * insertion (Lua: any order).
 */
export class LuaTable {
  /** Never with the key behind the list. @type {Map<Value, Value> | undefined} */
  hash
  /** Tables of the libraries cannot be changed. */
  readonly = false

  /** @param {Value[]} [array] is kept */
  constructor (array = []) {
    this.array = array
    this.#shorten()
  }

  #shorten () {
    const { array } = this
    while (array.length > 0 && array[array.length - 1] === undefined) array.pop()
  }

  /** @param {Value} key @returns {Value} */
  get (key) {
    if (typeof key === 'number' && key > 0 && key <= this.array.length && Number.isInteger(key)) return this.array[key - 1]
    return this.hash === undefined ? undefined : this.hash.get(key)
  }

  /** @param {Value} key neither nil nor NaN @param {Value} value */
  set (key, value) {
    const { array } = this
    if (typeof key === 'number' && key > 0 && key <= array.length && Number.isInteger(key)) {
      array[key - 1] = value
      if (value === undefined) this.#shorten()
    } else if (value === undefined) {
      this.hash?.delete(key)
    } else if (key === array.length + 1) {
      array.push(value)
      for (let next; (next = this.hash?.get(array.length + 1)) !== undefined;) {
        this.hash?.delete(array.length + 1)
        array.push(next)
      }
    } else {
      (this.hash ??= new Map()).set(key, value)
    }
  }

  /** `#`: where a list has holes, Lua may tell another one of its ends. */
  get length () { return this.array.length }

  /** @returns {Generator<[Value, Value]>} */
  * entries () {
    for (let i = 0; i < this.array.length; i++) {
      if (this.array[i] !== undefined) yield [i + 1, this.array[i]]
    }
    yield* this.hash ?? []
  }
}
