import { ErrorReply } from '../resp/replies.js'

/**
 * @typedef {import('../resp/replies.js').Reply} Reply
 *
 * @typedef {object} Context of one command
 * @property {import('../contract.js').Store} store
 * @property {import('../keyspace.js').Keyspace} keyspace
 * @property {2 | 3} resp version of the protocol: the shape of some replies depends on it
 * @property {number} now ms since 1970, perhaps with a fraction; the same for all commands of a script
 * @property {import('../contract.js').Connection} [connection] none in a script
 *
 * @typedef {object} Command
 * @property {number} arity number of arguments with the name; negative: or more
 * @property {(context: Context, args: string[]) => Reply | void} run `args` begin with the name. Throws ErrorReply.
 *   Without a reply, it has written its own
 * @property {boolean} [grows] it may take memory, so it is refused when there is none
 * @property {boolean} [writes]
 * @property {boolean} [noScript] it is not allowed in scripts
 * @property {boolean} [subscribed] it is allowed on a connection with RESP2 that has subscriptions
 * @property {Record<string, Command>} [subcommands]
 */

export const SYNTAX_ERROR = 'ERR syntax error'

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
