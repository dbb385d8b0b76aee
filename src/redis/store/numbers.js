import { readNumber } from './lua/numbers.js'
import { ErrorReply } from './resp/replies.js'

/** Numbers as Redis reads and prints them. */

const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/
const SHORT = 15
const LEAST = -(2n ** 63n)
const MOST = 2n ** 63n - 1n
export const NOT_INTEGER = 'ERR value is not an integer or out of range'

/**
 * @param {string} text
 * @returns {number | bigint | undefined} a signed integer of 64 bits; a bigint only where a number is not exact
 */
export function readInteger (text) {
  if (!INTEGER.test(text)) return undefined
  if (text.length <= SHORT) return Number(text)
  const value = BigInt(text)
  return value < LEAST || value > MOST ? undefined : compact(value)
}

/** @param {bigint} value @returns {number | bigint} */
const compact = (value) =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value

/**
 * @param {string} text
 * @param {string} [message] of the error
 * @returns {number} not exact beyond 2^53
 */
export function integer (text, message = NOT_INTEGER) {
  const value = readInteger(text)
  if (value === undefined) throw new ErrorReply(message)
  return Number(value)
}

/**
 * @param {string} text a number that Redis keeps as text
 * @param {string} by
 * @param {string} message of the error if `text` is no number
 * @returns {number | bigint}
 */
export function increased (text, by, message = NOT_INTEGER) {
  const before = readInteger(text)
  const step = readInteger(by)
  if (step === undefined) throw new ErrorReply(NOT_INTEGER)
  if (before === undefined) throw new ErrorReply(message)
  const sum = BigInt(before) + BigInt(step)
  if (sum < LEAST || sum > MOST) throw new ErrorReply('ERR increment or decrement would overflow')
  return compact(sum)
}

/** @param {string} text @returns {number} NaN if it is none */
function parseDouble (text) {
  const [value, end] = readNumber(text, 0) ?? [Number.NaN, 0]
  return end === text.length ? value : Number.NaN
}

/**
 * @param {string} text
 * @returns {number} a score
 */
export function double (text) {
  const value = parseDouble(text)
  // too big, or too small, for a double
  const outOfRange = !/inf/i.test(text) && (!Number.isFinite(value) || (value === 0 && /^[^eE]*[1-9]/.test(text)))
  if (Number.isNaN(value) || outOfRange) throw new ErrorReply('ERR value is not a valid float')
  return value
}

/**
 * @param {string} text
 * @returns {number} the limit of a range of scores; NaN if it is none
 */
export function scoreLimit (text) {
  // read as a C string
  const end = text.indexOf('\0')
  const trimmed = (end === -1 ? text : text.slice(0, end)).replace(/^[ \t-\r]+(?=[^ \t-\r])/, '')
  return trimmed === '' ? 0 : parseDouble(trimmed)
}
