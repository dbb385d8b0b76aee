import { strings } from './strings.js'
import { LuaTable } from './table.js'
import { failure, NONE, wrongType } from './values.js'

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
  return table.get(key)
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

/** A table from a list. @param {Value[]} values is kept */
export const list = (values) => new LuaTable(values)

/**
 * A table from items and fields.
 * @param {Value[]} fields key, value, key, value …; the key of an item is NONE
 */
export function build (fields) {
  const table = new LuaTable(fields.filter((_, i) => i % 2 === 1 && fields[i - 1] === NONE))
  for (let i = 0; i < fields.length; i += 2) if (fields[i] !== NONE) assign(table, fields[i], fields[i + 1])
  return table
}
