import { ErrorReply } from '../resp/replies.js'
import { idOf, MOST_HALF, MOST_ID } from '../types/stream.js'

const INVALID = 'ERR Invalid stream ID specified as stream command argument'
const HALF = /^[ \t-\r]*\+?\d+$/

/** @param {string} text @returns {bigint} */
function half (text) {
  const value = HALF.test(text) ? BigInt(text.trim().replace('+', '')) : MOST_HALF + 1n
  if (value > MOST_HALF) throw new ErrorReply(INVALID)
  return value
}

/**
 * @param {string} text
 * @param {bigint} [sequence] if the text has none
 * @returns {bigint}
 */
export function readId (text, sequence = 0n) {
  const dash = text.indexOf('-')
  if (dash === -1) return idOf(half(text), sequence)
  return idOf(half(text.slice(0, dash)), half(text.slice(dash + 1)))
}

/** @param {string} text `<ms>-*` @returns {bigint | undefined} its ms, if it has this form */
export function readMsOnly (text) {
  const [, ms] = /^([^-]*)-\*$/.exec(text) ?? []
  return ms === undefined ? undefined : half(ms)
}

/**
 * @param {string} text an end of a range
 * @param {boolean} isStart
 * @returns {bigint}
 */
export function readEnd (text, isStart) {
  if (text === '-') return 0n
  if (text === '+') return MOST_ID
  const isOpen = text[0] === '(' && text.length > 1
  const id = readId(isOpen ? text.slice(1) : text, isStart ? 0n : MOST_HALF)
  if (!isOpen) return id
  if (id === (isStart ? MOST_ID : 0n))
    throw new ErrorReply(`ERR invalid ${isStart ? 'start' : 'end'} ID for the interval`)
  return isStart ? id + 1n : id - 1n
}
