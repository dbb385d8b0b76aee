import { integerAt, numberAt, stringAt, tableAt } from './arguments.js'
import { library } from './library.js'
import { LuaTable } from './table.js'
import { callable, failure, NONE, toNumber, tostring, type } from './values.js'

/** @typedef {import('./table.js').Value} Value */

/** Values that fit on the stack of Lua. */
const STACK = 8000

/** @param {LuaTable} table @param {number} i */
function nextIndex (table, i) {
  const value = table.get(i + 1)
  return value === undefined ? undefined : [i + 1, value]
}

/** @param {...Value} args */
function next (...args) {
  const table = tableAt(args, 1, 'next')
  if (args[1] !== undefined) throw failure('the built-in store knows the first key of a table only')
  return table.entries().next().value
}

/** @type {(name: string, run: (x: number) => number) => (...args: Value[]) => number} */
const ofOne = (name, run) => (...args) => run(numberAt(args, 1, name))
/** @type {(name: string, wins: (x: number, best: number) => boolean) => (...args: Value[]) => number} */
const ofMany = (name, wins) => (...args) => {
  let best = numberAt(args, 1, name)
  for (let i = 2; i <= args.length; i++) {
    const x = numberAt(args, i, name)
    if (wins(x, best)) best = x
  }
  return best
}

/** @type {Record<string, Value>} */
export const BASE = {
  ipairs: (/** @type {Value[]} */ ...args) => [nextIndex, tableAt(args, 1, 'ipairs'), 0],
  next,
  pairs: (/** @type {Value[]} */ ...args) => [next, tableAt(args, 1, 'pairs'), undefined],
  tonumber (/** @type {Value[]} */ ...args) {
    if (args.length > 1) throw failure('the built-in store knows decimal numbers only')
    return toNumber(args[0])
  },
  type: (/** @type {Value} */ value) => type(value),
  unpack (/** @type {Value[]} */ ...args) {
    const table = tableAt(args, 1, 'unpack')
    if (args.length > 1) throw failure('the built-in store unpacks whole lists only')
    if (table.length + 1 > STACK) throw failure('too many results to unpack')
    return [...table.array]
  },
  math: library({
    ceil: ofOne('ceil', Math.ceil),
    floor: ofOne('floor', Math.floor),
    max: ofMany('max', (x, best) => x > best),
    min: ofMany('min', (x, best) => x < best)
  }),
  table: library({
    concat (/** @type {Value[]} */ ...args) {
      const separator = args[1] === undefined ? '' : stringAt(args, 2, 'concat')
      const table = tableAt(args, 1, 'concat')
      const items = []
      for (let i = integerAt(args, 3, 'concat', 1); i <= table.length; i++) {
        const value = table.get(i)
        if (typeof value !== 'string' && typeof value !== 'number')
          throw failure(`invalid value (${type(value)}) at index ${i} in table for 'concat'`)
        items.push(tostring(value))
      }
      return items.join(separator)
    },
    insert (/** @type {Value[]} */ ...args) {
      const table = tableAt(args, 1, 'insert')
      if (args.length !== 2) throw failure('the built-in store inserts at the end of a table only')
      table.set(table.length + 1, args[1])
      return NONE
    }
  })
}

/** Functions that do not return exactly one value. */
export const MANY = new Set(
  ['ipairs', 'next', 'pairs', 'unpack', 'string.byte', 'string.find', 'string.gsub', 'string.match', 'table.insert'])

/**
 * The values of a generic `for`, one turn at a time.
 * @param {Value[]} values function, state and first key
 */
export function each ([step, state, key]) {
  if (step === next && state instanceof LuaTable) return new EachEntry(state)
  return new EachCall(callable(step), state, key)
}

class EachEntry {
  /** @type {Value[]} */
  values = NONE

  /** @param {LuaTable} table */
  constructor (table) { this.entries = table.entries() }

  more () {
    const { done, value } = this.entries.next()
    this.values = value ?? NONE
    return !done
  }
}

class EachCall {
  /** @type {Value[]} */
  values = NONE

  /** @param {(...args: Value[]) => Value} step @param {Value} state @param {Value} key */
  constructor (step, state, key) {
    this.step = step
    this.state = state
    this.key = key
  }

  more () {
    const returned = this.step(this.state, this.key)
    this.values = Array.isArray(returned) ? returned : [returned]
    this.key = this.values[0]
    return this.key !== undefined
  }
}
