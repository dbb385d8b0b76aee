import { strings } from './strings.js'
import { LuaTable } from './table.js'
import { failure, first, NONE, wrongType } from './values.js'

/** @typedef {import('./table.js').Value} Value */

/**
 * `table[key]`
 * @param {Value} table
 * @param {Value} key
 * @param {string} [name]
 * @returns {Value}
 */
export function index (table, key, name) {
  if (typeof table === 'string') return strings.get(key)
  if (!(table instanceof LuaTable)) throw wrongType('index', table, name)
  const value = table.get(key)
  if (value !== undefined || table.meta === undefined) return value
  const next = table.meta.get('__index')
  if (next === undefined) return
  return typeof next === 'function' ? first(next(table, key)) : index(next, key)
}

/**
 * `table[key] = value`
 * @param {Value} table
 * @param {Value} key
 * @param {Value} value
 * @param {string} [name]
 */
export function assign (table, key, value, name) {
  if (!(table instanceof LuaTable)) throw wrongType('index', table, name)
  if (table.readonly) throw failure('Attempt to modify a readonly table')
  if (key === undefined) throw failure('table index is nil')
  if (Number.isNaN(key)) throw failure('table index is NaN')
  table.set(key, value)
}

/** A script has no global variables of its own. @param {Value} _value @returns {never} */
export function assignGlobal (_value) {
  throw failure('Attempt to modify a readonly table')
}

/** @param {string} name @returns {never} */
export function nonexistent (name) {
  throw failure(`Script attempted to access nonexistent global variable '${name}'`)
}

/** A table from a list. @param {Value[]} values is kept @param {number} size for which the array part has room */
export function list (values, size) {
  while (values.length < size) values.push(undefined)
  return new LuaTable(values)
}

/**
 * A table from items and fields.
 * @param {number} size of the array part
 * @param {number} keys room in the hash part
 * @param {Value[]} fields key, value, key, value …; the key of an item is NONE
 * @param {boolean} many the last value is an array of items
 */
export function build (size, keys, fields, many) {
  /** @type {Value[]} */
  const items = []
  const table = new LuaTable(items, keys)
  const end = many ? fields.length - 2 : fields.length
  // Lua sets fields at once, and items at the end
  for (let i = 0; i < end; i += 2) if (fields[i] !== NONE) assign(table, fields[i], fields[i + 1])
  for (let i = 0; i < end; i += 2) if (fields[i] === NONE) items.push(fields[i + 1])
  if (many) items.push(...fields[fields.length - 1])
  while (items.length < size) items.push(undefined)
  return table
}
