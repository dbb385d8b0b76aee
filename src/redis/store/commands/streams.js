import { ErrorReply, NULL_ARRAY } from '../resp/replies.js'
import { integer } from '../numbers.js'
import { formatId, idOf, MOST_HALF, MOST_ID, msOf, Stream } from '../types/stream.js'
import { is, SYNTAX_ERROR, wrongArity } from './command.js'
import { readEnd, readId, readMsOnly } from './stream-ids.js'

/** @typedef {import('./command.js').Command} Command */

/**
 * Reads MAXLEN of XADD. `~` is exact here: Redis may keep more.
 *
 * @param {string[]} args
 * @returns {{ length?: number, at: number }} entries to keep; index of the argument behind the option
 */
function readTrim (args) {
  if (!is(args[2], 'maxlen')) return { at: 2 }
  const at = args[3] === '~' ? 4 : 3
  const length = integer(args[at])
  if (length < 0) throw new ErrorReply('ERR The MAXLEN argument must be >= 0.')
  return { length, at: at + 1 }
}

/**
 * @param {Stream} stream
 * @param {string} text `*`, or `<ms>-*`
 * @param {number} now ms
 * @returns {bigint} of the next entry
 */
function nextId (stream, text, now) {
  const { last } = stream
  const ms = text === '*' ? BigInt(now) : /** @type {bigint} */ (readMsOnly(text))
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
      const { length, at } = readTrim(args)
      const id = args[at]
      const fields = args.slice(at + 1)
      const asked = id === undefined || id === '*' || readMsOnly(id) !== undefined ? undefined : readId(id)
      if (fields.length < 2 || fields.length % 2 === 1) throw wrongArity('xadd')
      if (asked === 0n) throw new ErrorReply('ERR The ID specified in XADD must be greater than 0-0')
      const found = keyspace.find(args[1], Stream)
      const stream = found ?? new Stream()
      if (stream.last === MOST_ID)
        throw new ErrorReply('ERR The stream has exhausted the last possible ID, unable to add more items')
      const next = asked ?? nextId(stream, id, keyspace.now)
      if (next <= stream.last)
        throw new ErrorReply('ERR The ID specified in XADD is equal or smaller than the target stream top item')
      if (found === undefined) keyspace.put(args[1], stream)
      stream.add(next, fields)
      if (length !== undefined) stream.remove(0, stream.size - length)
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
    run ({ keyspace }, [, key, strategy, id, ...more]) {
      if (!is(strategy, 'minid')) throw new ErrorReply(SYNTAX_ERROR)
      const least = readId(id)
      if (more.length > 0) throw new ErrorReply(SYNTAX_ERROR)
      const stream = keyspace.find(key, Stream)
      return stream?.remove(0, stream.indexOf(least)) ?? 0
    }
  }
}
