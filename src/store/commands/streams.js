import { ErrorReply, NULL_ARRAY } from '../resp/replies.js'
import { integer } from '../numbers.js'
import { formatId, idOf, MOST_HALF, MOST_ID, msOf, Stream } from '../types/stream.js'
import { is, SYNTAX_ERROR, wrongArity } from './command.js'
import { readEnd, readId, readMsOnly } from './stream-ids.js'

/**
 * @typedef {import('./command.js').Command} Command
 *
 * @typedef {object} Trim
 * @property {number} [length] entries to keep
 * @property {bigint} [least] id
 * @property {number} limit entries to remove at most; 0: no limit
 */

/**
 * Reads the options of XADD and XTRIM.
 *
 * @param {string[]} args
 * @param {boolean} adds XADD
 * @returns {{ trim?: Trim, makes: boolean, at: number }} at: index of the argument behind the options
 */
function readTrim (args, adds) {
  let trim = /** @type {Trim | undefined} */ (undefined)
  let isRough = false
  let limit
  let makes = true
  let i = 2
  for (; i < args.length && !(adds && args[i] === '*'); i++) {
    const more = args.length - 1 - i
    const option = args[i].toLowerCase()
    if ((option === 'maxlen' || option === 'minid') && more > 0) {
      if (trim) throw new ErrorReply('ERR syntax error, MAXLEN and MINID options at the same time are not compatible')
      isRough = more > 1 && args[i + 1] === '~'
      if (isRough || (more > 1 && args[i + 1] === '=')) i++
      const value = args[++i]
      trim = option === 'minid' ? { least: readId(value), limit: 0 } : { length: integer(value), limit: 0 }
      if (trim.length !== undefined && trim.length < 0) throw new ErrorReply('ERR The MAXLEN argument must be >= 0.')
    } else if (option === 'limit' && more > 0) {
      limit = integer(args[++i])
      if (limit < 0) throw new ErrorReply('ERR The LIMIT argument must be >= 0.')
    } else if (adds && option === 'nomkstream') {
      makes = false
    } else if (adds) {
      break
    } else {
      throw new ErrorReply(SYNTAX_ERROR)
    }
  }
  if (adds && i < args.length && args[i] !== '*' && readMsOnly(args[i]) === undefined) readId(args[i])
  if (limit && !trim)
    throw new ErrorReply('ERR syntax error, LIMIT cannot be used without specifying a trimming strategy')
  if (!adds && !trim) throw new ErrorReply('ERR syntax error, XTRIM must be called with a trimming strategy')
  if (limit !== undefined && !isRough)
    throw new ErrorReply('ERR syntax error, LIMIT cannot be used without the special ~ option')
  if (trim) trim.limit = limit ?? 0
  return { trim, makes, at: i }
}

/**
 * `~` is exact here: Redis may keep more.
 *
 * @param {Stream} stream
 * @param {Trim} trim
 * @returns {number} entries that are removed
 */
function trimmed (stream, { length, least, limit }) {
  const excess = least === undefined ? stream.size - /** @type {number} */ (length) : stream.indexOf(least)
  const count = Math.max(0, limit > 0 ? Math.min(excess, limit) : excess)
  return count === 0 ? 0 : stream.remove(0, count)
}

/**
 * @param {Stream} stream
 * @param {string} text as in XADD
 * @param {number} now ms
 * @returns {bigint} of the next entry
 */
function nextId (stream, text, now) {
  const { last } = stream
  const ms = text === '*' ? BigInt(now) : readMsOnly(text)
  if (ms === undefined) return readId(text)
  if (text === '*') return ms > msOf(last) ? idOf(ms, 0n) : last + 1n
  if (ms !== msOf(last)) return idOf(ms, 0n)
  if (last === idOf(ms, MOST_HALF)) throw new ErrorReply('ERR Elements are too large to be stored')
  return last + 1n
}

/** @param {boolean} reverse @returns {Command} */
const range = (reverse) => ({
  arity: -4,
  run ({ keyspace }, [, key, first, second, ...options]) {
    const least = readEnd(reverse ? second : first, true)
    const most = readEnd(reverse ? first : second, false)
    let count
    for (let i = 0; i < options.length; i += 2) {
      if (!is(options[i], 'count') || i + 1 >= options.length) throw new ErrorReply(SYNTAX_ERROR)
      count = Math.max(0, integer(options[i + 1]))
    }
    const stream = keyspace.find(key, Stream)
    if (stream === undefined) return []
    if (count === 0) return NULL_ARRAY
    const from = stream.indexOf(least)
    const to = most === MOST_ID ? stream.size : stream.indexOf(most + 1n)
    const entries = reverse
      ? stream.entries.slice(count === undefined ? from : Math.max(from, to - count), to).reverse()
      : stream.entries.slice(from, count === undefined ? to : Math.min(to, from + count))
    return entries.map(({ id, fields }) => [formatId(id), fields])
  }
})

/** @type {Record<string, Command>} */
export const streams = {
  xadd: {
    arity: -5,
    grows: true,
    run ({ keyspace }, args) {
      const { trim, makes, at } = readTrim(args, true)
      const id = args[at]
      const fields = args.slice(at + 1)
      if (fields.length < 2 || fields.length % 2 === 1) throw wrongArity('xadd')
      if (id !== '*' && readMsOnly(id) === undefined && readId(id) === 0n)
        throw new ErrorReply('ERR The ID specified in XADD must be greater than 0-0')
      const found = keyspace.find(args[1], Stream)
      if (found === undefined && !makes) return null
      const stream = found ?? new Stream()
      if (stream.last === MOST_ID)
        throw new ErrorReply('ERR The stream has exhausted the last possible ID, unable to add more items')
      const next = nextId(stream, id, keyspace.now)
      if (next <= stream.last)
        throw new ErrorReply('ERR The ID specified in XADD is equal or smaller than the target stream top item')
      if (found === undefined) keyspace.put(args[1], stream)
      stream.add(next, fields)
      if (trim) trimmed(stream, trim)
      return formatId(next)
    }
  },

  xlen: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, Stream)?.size ?? 0 },
  xrange: range(false),
  xrevrange: range(true),

  xdel: {
    arity: -3,
    writes: true,
    run ({ keyspace }, [, key, ...names]) {
      const stream = keyspace.find(key, Stream)
      if (stream === undefined) return 0
      let removed = 0
      for (const id of names.map((name) => readId(name))) {
        const at = stream.indexOf(id)
        if (stream.entries[at]?.id === id) removed += stream.remove(at, 1)
      }
      return removed
    }
  },

  xtrim: {
    arity: -4,
    writes: true,
    run ({ keyspace }, args) {
      const { trim } = readTrim(args, false)
      const stream = keyspace.find(args[1], Stream)
      return stream && trim ? trimmed(stream, trim) : 0
    }
  }
}
