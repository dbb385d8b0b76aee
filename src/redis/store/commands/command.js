import { ErrorReply } from '../resp/replies.js'

/**
 * @typedef {import('../contract.js').Reply} Reply
 * @typedef {import('../contract.js').Context} Context
 * @typedef {import('../contract.js').Command} Command
 */

export const SYNTAX_ERROR = 'ERR syntax error'
export const OUT_OF_MEMORY = 'OOM command not allowed when used memory > \'maxmemory\'.'

/** @param {Command} command @param {number} count of arguments with the name */
export const takes = ({ arity }, count) => arity > 0 ? count === arity : count >= -arity

/**
 * @param {Command} command
 * @param {Context} context
 * @param {string[]} args
 * @returns {Reply | void} an error is returned
 */
export function run (command, context, args) {
  try {
    return command.run(context, args)
  } catch (error) {
    if (error instanceof ErrorReply) return error
    throw error
  }
}

/** @param {string} name @returns {ErrorReply} */
export const wrongArity = (name) => new ErrorReply(`ERR wrong number of arguments for '${name}' command`)

/** @param {string} text @param {string} option in lower case */
export const is = (text, option) => text.length === option.length && text.toLowerCase() === option

/**
 * @param {number} start as in ranges of Redis: negative from the end
 * @param {number} stop
 * @param {number} length
 * @returns {[from: number, to: number]} `to` excluded; empty if it is not above `from`
 */
export function slice (start, stop, length) {
  const from = Math.max(0, start < 0 ? length + start : start)
  const last = Math.min(length - 1, stop < 0 ? length + stop : stop)
  return [from, Math.max(from, last + 1)]
}
