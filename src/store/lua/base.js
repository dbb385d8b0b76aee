import { anyAt, badArgument, intAt, numberAt, stringAt, tableAt } from './arguments.js'
import { library } from './strings.js'
import { LuaTable } from './table.js'
import { callable, failure, first, isTrue, less, LuaError, NONE, toNumber, tostring, type } from './values.js'

/** @typedef {import('./table.js').Value} Value */

/** Values that fit on the stack of Lua. */
const STACK = 8000

/** strtoul @param {string} text @param {number} base */
function inBase (text, base) {
  const read = /^[ \t-\r]*([-+]?)(0x)?([0-9a-z]+)[ \t-\r]*$/i.exec(text.split('\0')[0])
  if (!read || (read[2] && base !== 16)) return undefined
  let value = 0n
  for (const digit of read[3]) {
    const worth = parseInt(digit, 36)
    if (worth >= base) return undefined
    value = value * BigInt(base) + BigInt(worth)
  }
  if (value >= 2n ** 64n) return 2 ** 64
  return Number(read[1] === '-' ? BigInt.asUintN(64, -value) : value)
}

/**
 * Calls a function and catches the errors of Lua. Its name tells that no line of the script is at fault.
 * @param {Value} run
 * @param {Value[]} args
 * @returns {Value[]}
 */
function protectedCall (run, args) {
  try {
    const returned = callable(run)(...args)
    return [true, ...Array.isArray(returned) ? returned : [returned]]
  } catch (error) {
    // others end the script: there may be no stack to go on
    if (!(error instanceof LuaError)) throw error
    // as Redis has changed it: an error table becomes its text
    const { value } = error
    if (!(value instanceof LuaTable)) return [false, value]
    const text = value.get('err')
    return typeof text === 'string' || typeof text === 'number' ? [false, text] : [false, value, text]
  }
}

/** @param {LuaTable} table @param {number} i */
function nextIndex (table, i) {
  const value = table.get(i + 1)
  return value === undefined ? undefined : [i + 1, value]
}

/** @param {...Value} args */
function next (...args) {
  const table = tableAt(args, 1, 'next')
  const [, key] = args
  let found = key === undefined
  for (const entry of table.entries()) {
    if (found) return entry
    found = entry[0] === key
  }
  if (!found) throw failure('invalid key to \'next\'')
  return undefined
}

/** @type {Record<string, (...args: Value[]) => Value>} */
const FUNCTIONS = {
  assert (...args) {
    if (isTrue(anyAt(args, 'assert'))) return args
    throw failure(args[1] === undefined ? 'assertion failed!' : stringAt(args, 2, 'assert'))
  },
  error (...args) {
    const level = intAt(args, 2, 'error', 1)
    throw level > 0 && ['string', 'number'].includes(type(args[0])) ? failure(tostring(args[0]), level) : new LuaError(args[0])
  },
  ipairs: (...args) => [nextIndex, tableAt(args, 1, 'ipairs'), 0],
  next,
  pairs: (...args) => [next, tableAt(args, 1, 'pairs'), undefined],
  pcall: (...args) => protectedCall(anyAt(args, 'pcall'), args.slice(1)),
  select (...args) {
    if (args[0] === '#') return args.length - 1
    const from = intAt(args, 1, 'select')
    const start = from < 0 ? args.length + from : from
    if (start < 1) throw badArgument(1, 'select', 'index out of range')
    return args.slice(start)
  },
  // only what reads another table: no script needs more
  setmetatable (...args) {
    const table = tableAt(args, 1, 'setmetatable')
    const meta = args[1] === undefined ? undefined : tableAt(args, 2, 'setmetatable')
    for (const [key] of meta?.entries() ?? []) {
      if (key !== '__index') throw failure(`the built-in store knows no ${tostring(key)} in a metatable`)
    }
    table.meta = meta
    return table
  },
  tonumber (...args) {
    const base = intAt(args, 2, 'tonumber', 10)
    if (base === 10) return toNumber(anyAt(args, 'tonumber'))
    const text = stringAt(args, 1, 'tonumber')
    if (base < 2 || base > 36) throw badArgument(2, 'tonumber', 'base out of range')
    return inBase(text, base)
  },
  tostring: (...args) => tostring(anyAt(args, 'tostring')),
  type: (...args) => type(anyAt(args, 'type')),
  unpack (...args) {
    const table = tableAt(args, 1, 'unpack')
    const from = intAt(args, 2, 'unpack', 1)
    const to = intAt(args, 3, 'unpack', table.length)
    if (to - from + 1 + args.length > STACK) throw failure('too many results to unpack')
    const values = []
    for (let i = from; i <= to; i++) values.push(table.get(i))
    return values
  }
}

/** Functions that do not return exactly one value. */
export const MANY = new Set(['assert', 'error', 'ipairs', 'next', 'pairs', 'pcall', 'select', 'unpack',
  'string.byte', 'string.find', 'string.gsub', 'string.match', 'table.insert', 'table.remove', 'table.sort', 'redis.log'])

/** @type {(name: string, run: (x: number) => number) => (...args: Value[]) => number} */
const ofOne = (name, run) => (...args) => run(numberAt(args, 1, name))
/** @type {(name: string, wins: (a: number, b: number) => boolean) => (...args: Value[]) => number} */
const ofMany = (name, wins) => (...args) => {
  let best = numberAt(args, 1, name)
  for (let i = 2; i <= args.length; i++) {
    const other = numberAt(args, i, name)
    if (wins(other, best)) best = other
  }
  return best
}

const math = library({
  abs: ofOne('abs', Math.abs),
  ceil: ofOne('ceil', Math.ceil),
  floor: ofOne('floor', Math.floor),
  fmod (/** @type {Value[]} */ ...args) {
    const by = numberAt(args, 2, 'fmod')
    return numberAt(args, 1, 'fmod') % by
  },
  huge: Infinity,
  max: ofMany('max', (a, b) => a > b),
  min: ofMany('min', (a, b) => a < b),
  sqrt: ofOne('sqrt', Math.sqrt)
})

const tables = library({
  concat (/** @type {Value[]} */ ...args) {
    const separator = args[1] === undefined ? '' : stringAt(args, 2, 'concat')
    const table = tableAt(args, 1, 'concat')
    const from = intAt(args, 3, 'concat', 1)
    const to = intAt(args, 4, 'concat', table.length)
    let text = ''
    for (let i = from; i <= to; i++) {
      const value = table.get(i)
      if (typeof value !== 'string' && typeof value !== 'number') {
        throw failure(`invalid value (${type(value)}) at index ${i} in table for 'concat'`)
      }
      text += tostring(value) + (i < to ? separator : '')
    }
    return text
  },
  insert (/** @type {Value[]} */ ...args) {
    const table = tableAt(args, 1, 'insert')
    let end = table.length + 1
    if (args.length < 2 || args.length > 3) throw failure('wrong number of arguments to \'insert\'')
    const at = args.length === 2 ? end : intAt(args, 2, 'insert')
    if (at > end) end = at
    for (let i = end; i > at; i--) table.set(i, table.get(i - 1))
    table.set(at, args[args.length - 1])
    return NONE
  },
  remove (/** @type {Value[]} */ ...args) {
    const table = tableAt(args, 1, 'remove')
    const end = table.length
    const at = intAt(args, 2, 'remove', end)
    if (at < 1 || at > end) return NONE
    const removed = table.get(at)
    for (let i = at; i < end; i++) table.set(i, table.get(i + 1))
    table.set(end, undefined)
    return removed
  },
  sort (/** @type {Value[]} */ ...args) {
    const table = tableAt(args, 1, 'sort')
    if (args[1] !== undefined && typeof args[1] !== 'function') {
      throw badArgument(2, 'sort', `function expected, got ${type(args[1])}`)
    }
    sort(table, 1, table.length, args[1] ? (a, b) => isTrue(first(args[1](a, b))) : compareItems)
    return NONE
  }
})

/** @param {Value} a @param {Value} b */
function compareItems (a, b) {
  return less(a, b)
}

/**
 * Quicksort as in Lua: equal values end in the same order.
 * @param {LuaTable} t
 * @param {number} low
 * @param {number} high
 * @param {(a: Value, b: Value) => boolean} before
 */
function sort (t, low, high, before) {
  const swap = (/** @type {number} */ i, /** @type {number} */ j) => {
    const value = t.get(i)
    t.set(i, t.get(j))
    t.set(j, value)
  }
  const swapped = (/** @type {number} */ i, /** @type {number} */ j) => { if (before(t.get(j), t.get(i))) swap(i, j) }
  while (low < high) {
    swapped(low, high)
    if (high - low === 1) return
    const middle = Math.floor((low + high) / 2)
    if (before(t.get(middle), t.get(low))) swap(middle, low)
    else swapped(middle, high)
    if (high - low === 2) return
    const pivot = t.get(middle)
    swap(middle, high - 1)
    let i = low
    let j = high - 1
    for (;;) {
      while (before(t.get(++i), pivot)) if (i > high) throw failure('invalid order function for sorting')
      while (before(pivot, t.get(--j))) if (j < low) throw failure('invalid order function for sorting')
      if (j < i) break
      swap(i, j)
    }
    swap(high - 1, i)
    if (i - low < high - i) {
      sort(t, low, i - 1, before)
      low = i + 1
    } else {
      sort(t, i + 1, high, before)
      high = i - 1
    }
  }
}

/** @type {Record<string, Value>} */
export const BASE = { ...FUNCTIONS, math, table: tables }

/**
 * The values of a generic `for`, one turn at a time. `next` would look for each key again.
 * @param {Value[]} values function, state and first key
 */
export function each ([step, state, key]) {
  if (step === next && state instanceof LuaTable) return new EachEntry(state, key)
  return new EachCall(callable(step), state, key)
}

class EachEntry {
  /** @type {Value[]} */
  values = NONE

  /** @param {LuaTable} table @param {Value} key the one before the first */
  constructor (table, key) {
    this.entries = table.entries()
    if (key !== undefined) while (this.more() && this.values[0] !== key);
  }

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
