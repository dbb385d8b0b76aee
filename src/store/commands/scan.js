import { ErrorReply } from '../resp/replies.js'
import { integer } from '../numbers.js'
import { is, SYNTAX_ERROR } from './command.js'
import { matches } from './glob.js'

/**
 * @param {string} cursor
 * @throws {ErrorReply}
 */
export function checkCursor (cursor) {
  if (!/^[+-]?\d+$/.test(cursor)) throw new ErrorReply('ERR invalid cursor')
}

/**
 * The options of SCAN, HSCAN and SSCAN. COUNT is a hint in Redis: here a scan always ends with its first page.
 *
 * @param {string[]} args
 * @param {boolean} [withType]
 * @returns {{ pattern: string, type?: string }}
 */
export function scanOptions (args, withType = false) {
  let pattern = '*'
  let type
  for (let i = 0; i < args.length; i += 2) {
    const value = args[i + 1]
    if (value === undefined) throw new ErrorReply(SYNTAX_ERROR)
    if (is(args[i], 'count')) {
      if (integer(value) < 1) throw new ErrorReply(SYNTAX_ERROR)
    } else if (is(args[i], 'match')) {
      pattern = value
    } else if (withType && is(args[i], 'type')) {
      type = value.toLowerCase()
    } else {
      throw new ErrorReply(SYNTAX_ERROR)
    }
  }
  return { pattern, type }
}

/** @param {string} pattern @param {Iterable<string>} names */
export const matching = (pattern, names) =>
  pattern === '*' ? [...names] : [...names].filter((name) => matches(pattern, name))
