import { LuaTable } from './table.js'
import { failure, toNumber, tostring, type } from './values.js'

/** @typedef {import('./table.js').Value} Value */

/**
 * Arguments of a library's function are checked as Lua's auxiliary library does, with its errors.
 *
 * @param {number} number from 1
 * @param {string} name of the function
 * @param {string} problem
 */
export const badArgument = (number, name, problem) => failure(`bad argument #${number} to '${name}' (${problem})`)

/** @param {Value[]} args @param {number} number @param {string} name @param {string} expected */
const expected = (args, number, name, expected) =>
  badArgument(number, name, `${expected} expected, got ${number > args.length ? 'no value' : type(args[number - 1])}`)

/** @param {Value[]} args @param {number} number @param {string} name @returns {string} */
export function stringAt (args, number, name) {
  const value = args[number - 1]
  if (typeof value === 'string') return value
  if (typeof value === 'number') return tostring(value)
  throw expected(args, number, name, 'string')
}

/**
 * @param {Value[]} args
 * @param {number} number
 * @param {string} name
 * @param {number} [otherwise] if it is nil
 * @returns {number}
 */
export function numberAt (args, number, name, otherwise) {
  const value = args[number - 1]
  if (value === undefined && otherwise !== undefined) return otherwise
  const converted = toNumber(value)
  if (converted === undefined) throw expected(args, number, name, 'number')
  return converted
}

/** @param {Value[]} args @param {number} number @param {string} name @param {number} [otherwise] @returns {number} */
export function integerAt (args, number, name, otherwise) {
  const value = Math.trunc(numberAt(args, number, name, otherwise))
  // what a conversion in C gives for numbers that do not fit
  return value >= -(2 ** 63) && value < 2 ** 63 ? value + 0 : -(2 ** 63)
}

/**
 * An `int` of C.
 * @param {Value[]} args
 * @param {number} number
 * @param {string} name
 * @param {number} [otherwise]
 * @returns {number}
 */
export function intAt (args, number, name, otherwise) {
  const value = integerAt(args, number, name, otherwise)
  return Number.isSafeInteger(value) && value === (value | 0) ? value : Number(BigInt.asIntN(32, BigInt(value)))
}

/** @param {Value[]} args @param {number} number @param {string} name @returns {LuaTable} */
export function tableAt (args, number, name) {
  const value = args[number - 1]
  if (value instanceof LuaTable) return value
  throw expected(args, number, name, 'table')
}

/** @param {Value[]} args @param {string} name @returns {Value} the first one, which may be nil but must be given */
export function anyAt (args, name) {
  if (args.length === 0) throw badArgument(1, name, 'value expected')
  return args[0]
}
