import { LuaTable } from './table.js'
import { failure, toNumber, tostring, type } from './values.js'

/** @typedef {import('./table.js').Value} Value */

/**
 * Arguments of a library's function are checked as Lua's auxiliary library does, with its errors.
 *
 * @param {Value[]} args
 * @param {number} number from 1
 * @param {string} name of the function
 * @param {string} expected
 */
const wrong = (args, number, name, expected) => failure(`bad argument #${number} to '${name}' (${expected} expected, got ${
  number > args.length ? 'no value' : type(args[number - 1])})`)

/** @param {Value[]} args @param {number} number @param {string} name @returns {string} */
export function stringAt (args, number, name) {
  const value = args[number - 1]
  if (typeof value === 'string') return value
  if (typeof value === 'number') return tostring(value)
  throw wrong(args, number, name, 'string')
}

/** @param {Value[]} args @param {number} number @param {string} name @returns {number} */
export function numberAt (args, number, name) {
  const converted = toNumber(args[number - 1])
  if (converted === undefined) throw wrong(args, number, name, 'number')
  return converted
}

/**
 * @param {Value[]} args
 * @param {number} number
 * @param {string} name
 * @param {number} [otherwise] if it is nil
 * @returns {number} a whole one
 */
export const integerAt = (args, number, name, otherwise) =>
  otherwise !== undefined && args[number - 1] === undefined ? otherwise : Math.trunc(numberAt(args, number, name))

/** @param {Value[]} args @param {number} number @param {string} name @returns {LuaTable} */
export function tableAt (args, number, name) {
  const value = args[number - 1]
  if (value instanceof LuaTable) return value
  throw wrong(args, number, name, 'table')
}
