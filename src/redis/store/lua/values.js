import { parseNumber, printNumber } from './numbers.js'
import { LuaTable } from './table.js'

/** @typedef {import('./table.js').Value} Value */
/**
 * @typedef {object} Environment of one run
 * @property {string[]} keys
 * @property {string[]} args
 * @property {(args: string[]) => import('../resp/replies.js').Reply} call runs a command; an error is returned
 * @property {(args: string[]) => boolean | undefined} allowed whether the command is permitted; undefined: it is
 *   unknown
 */

/** Name of the file that generated code claims to come from: the name of a script in the errors of Redis. */
export const FILE = 'user_script'
/** Several values, or none: what a function returns that does not return one. @type {Value[]} */
export const NONE = []
Object.freeze(NONE)

/**
 * The script that runs: one at a time, because it runs within one call. An endless script ends after this many steps.
 * @type {{ steps: number, environment: Environment | undefined }}
 */
export const running = { steps: 0, environment: undefined }

/** Ends a script. */
export class TooLong extends Error {}

/** Counts a step: a turn of a loop, and a call. */
export function step () {
  if (--running.steps < 0) throw new TooLong()
}

const LINE = new RegExp(`\\b${FILE}:(\\d+)`)

/**
 * An error of a script. Generated code has the lines of its script, so the stack of JavaScript tells the line, and code
 * that does not fail pays nothing for it.
 */
export class LuaError extends Error {
  /** @param {Value} value */
  constructor (value) {
    super('error of a script')
    this.value = value
  }

  /** Of the function of Lua that ran. */
  get line () { return Number(LINE.exec(this.stack ?? '')?.[1]) }
}

/** An error at a place in the script. @param {string} message @returns {LuaError} */
export function failure (message) {
  const error = new LuaError(message)
  error.value = `${FILE}:${error.line}: ${message}`
  return error
}

/** @param {Value} value @returns {string} */
export function type (value) {
  if (value === undefined) return 'nil'
  return value instanceof LuaTable ? 'table' : typeof value
}

/** @param {string | number} value @returns {string} */
export const tostring = (value) => typeof value === 'number' ? printNumber(value) : value

/** @param {Value} value @returns {number | undefined} */
export const toNumber = (value) =>
  typeof value === 'number' ? value : typeof value === 'string' ? parseNumber(value) : undefined

/** @param {Value} value */
export const isTrue = (value) => value !== undefined && value !== false
/** The first of the values that a function has returned. @param {Value} returned @returns {Value} */
export const first = (returned) => Array.isArray(returned) ? returned[0] : returned
/** All values that a function has returned. @param {Value} returned @returns {Value[]} */
export const all = (returned) => Array.isArray(returned) ? returned : [returned]

/**
 * @param {string} what is attempted
 * @param {Value} value
 * @param {string | undefined} name what it is, such as "local 'x'"
 */
export const wrongType = (what, value, name) =>
  failure(name ? `attempt to ${what} ${name} (a ${type(value)} value)` : `attempt to ${what} a ${type(value)} value`)

/**
 * @param {Value} value
 * @param {string} [name]
 * @returns {(...args: Value[]) => Value}
 */
export function callable (value, name) {
  if (typeof value === 'function') return value
  throw wrongType('call', value, name)
}

/**
 * @param {Value} a
 * @param {Value} b
 * @param {string} [nameA]
 * @param {string} [nameB]
 * @returns {[number, number]}
 */
function operands (a, b, nameA, nameB) {
  const left = toNumber(a)
  if (left === undefined) throw wrongType('perform arithmetic on', a, nameA)
  const right = toNumber(b)
  if (right === undefined) throw wrongType('perform arithmetic on', b, nameB)
  return [left, right]
}

/** @typedef {(a: Value, b: Value, nameA?: string, nameB?: string) => number} Arithmetic */
/** @type {(run: (a: number, b: number) => number) => Arithmetic} */
const arithmetic = (run) => (a, b, nameA, nameB) =>
  typeof a === 'number' && typeof b === 'number' ? run(a, b) : run(...operands(a, b, nameA, nameB))

/** @type {Arithmetic} */
export const add = (a, b, nameA, nameB) => {
  if (typeof a === 'number' && typeof b === 'number') return a + b
  const [left, right] = operands(a, b, nameA, nameB)
  return left + right
}
/** @type {Arithmetic} */
export const subtract = (a, b, nameA, nameB) => {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const [left, right] = operands(a, b, nameA, nameB)
  return left - right
}
export const multiply = arithmetic((a, b) => a * b)
export const divide = arithmetic((a, b) => a / b)
/** @param {Value} a @param {string} [name] */
export const negate = (a, name) => typeof a === 'number' ? -a : -operands(a, a, name)[0]

/** @param {Value} a @param {Value} b @param {string} [nameA] @param {string} [nameB] @returns {string} */
export function concat (a, b, nameA, nameB) {
  const left = typeof a === 'number' ? printNumber(a) : a
  const right = typeof b === 'number' ? printNumber(b) : b
  if (typeof left === 'string' && typeof right === 'string') return left + right
  throw typeof left === 'string' ? wrongType('concatenate', b, nameB) : wrongType('concatenate', a, nameA)
}

/** @param {Value} value @param {string} [name] @returns {number} */
export function length (value, name) {
  if (typeof value === 'string' || value instanceof LuaTable) return value.length
  throw wrongType('get length of', value, name)
}

/** @param {Value} a @param {Value} b */
const incomparable = (a, b) => failure(
  type(a) === type(b) ? `attempt to compare two ${type(a)} values` : `attempt to compare ${type(a)} with ${type(b)}`)
/** @param {Value} a @param {Value} b @returns {boolean} */
export function less (a, b) {
  if ((typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string')) return a < b
  throw incomparable(a, b)
}
/** @param {Value} a @param {Value} b @returns {boolean} */
export function atMost (a, b) {
  if ((typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string')) return a <= b
  throw incomparable(a, b)
}
/** `a > b`, which Lua computes as `b < a`. @param {Value} a @param {Value} b */
export const greater = (a, b) => less(b, a)
/** @param {Value} a @param {Value} b */
export const atLeast = (a, b) => atMost(b, a)

/** @param {Value} value @param {string} what initial value, limit or step of a loop @returns {number} */
export function loopNumber (value, what) {
  const number = toNumber(value)
  if (number === undefined) throw failure(`'for' ${what} must be a number`)
  return number
}
