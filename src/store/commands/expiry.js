import { ErrorReply } from '../resp/replies.js'
import { NOT_INTEGER, readInteger } from '../numbers.js'

const MOST = 2n ** 63n - 1n

/**
 * @param {string} text
 * @param {object} options
 * @param {1 | 1000} options.unit ms
 * @param {number} options.since ms; 0: the time is absolute
 * @param {string} options.command for the error
 * @param {boolean} [options.positive] 0 and less are refused
 * @returns {number} ms since 1970
 */
export function expiryTime (text, { unit, since, command, positive = false }) {
  const value = readInteger(text)
  if (value === undefined) throw new ErrorReply(NOT_INTEGER)
  const at = BigInt(value) * BigInt(unit) + BigInt(since)
  const isTooBig = at > MOST || BigInt(value) * BigInt(unit) < -MOST - 1n
  if (isTooBig || (positive && value <= 0)) throw new ErrorReply(`ERR invalid expire time in '${command}' command`)
  return Number(at)
}
