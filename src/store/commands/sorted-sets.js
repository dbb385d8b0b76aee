import { Double, ErrorReply } from '../resp/replies.js'
import { double } from '../numbers.js'
import { SortedSet } from '../types/sorted-set.js'
import { SYNTAX_ERROR } from './command.js'
import { positive } from './lists.js'
import { listed, rangeOf, ranges } from './sorted-ranges.js'

/**
 * @typedef {import('./command.js').Command} Command
 * @typedef {import('./command.js').Context} Context
 * @typedef {import('./sorted-ranges.js').By} By
 */

const OPTIONS = ['nx', 'xx', 'gt', 'lt', 'ch', 'incr']

/** @param {string[]} args of ZADD */
function readAdd (args) {
  /** @type {Set<string>} */
  const options = new Set()
  let at = 2
  for (; at < args.length && OPTIONS.includes(args[at].toLowerCase()); at++) options.add(args[at].toLowerCase())
  const rest = args.slice(at)
  if (rest.length === 0 || rest.length % 2 === 1) throw new ErrorReply(SYNTAX_ERROR)
  if (options.has('nx') && options.has('xx'))
    throw new ErrorReply('ERR XX and NX options at the same time are not compatible')
  if (['nx', 'gt', 'lt'].filter((option) => options.has(option)).length > 1)
    throw new ErrorReply('ERR GT, LT, and/or NX options at the same time are not compatible')
  if (options.has('incr') && rest.length > 2)
    throw new ErrorReply('ERR INCR option supports a single increment-element pair')
  const pairs = []
  for (let i = 0; i < rest.length; i += 2) pairs.push({ score: double(rest[i]), member: rest[i + 1] })
  return { options, pairs }
}

/**
 * @param {Context} context
 * @param {string} key
 * @param {ReturnType<typeof readAdd>} add
 */
function add ({ keyspace }, key, { options, pairs }) {
  const found = keyspace.find(key, SortedSet)
  const nothing = options.has('incr') ? null : 0
  if (found === undefined && options.has('xx')) return nothing
  const set = found ?? keyspace.findOrMake(key, SortedSet)
  let added = 0
  let changed = 0
  /** @type {number | undefined} */
  let last
  for (const { score, member } of pairs) {
    const before = set.scores.get(member)
    if (before === undefined) {
      if (options.has('xx')) continue
      added++
    } else if (options.has('nx')) {
      continue
    }
    const next = options.has('incr') && before !== undefined ? before + score : score
    if (Number.isNaN(next)) throw new ErrorReply('ERR resulting score is not a number (NaN)')
    if (before !== undefined && (options.has('gt') ? next <= before : options.has('lt') && next >= before)) continue
    if (before !== undefined && before !== next) changed++
    set.set(member, next)
    last = next
  }
  if (options.has('incr')) return last === undefined ? null : new Double(last)
  return options.has('ch') ? added + changed : added
}

/** @param {By} by @returns {Command} */
const removeRange = (by) => ({
  arity: 4,
  writes: true,
  run ({ keyspace }, [, key, min, max]) {
    const range = rangeOf(by, min, max)
    const set = keyspace.find(key, SortedSet)
    if (set === undefined) return 0
    const removed = set.deleteRange(...range(set)).length
    keyspace.deleteIfEmpty(key, set)
    return removed
  }
})

/** @param {By} by @returns {Command} */
const countRange = (by) => ({
  arity: 4,
  run ({ keyspace }, [, key, min, max]) {
    const range = rangeOf(by, min, max)
    const set = keyspace.find(key, SortedSet)
    if (set === undefined) return 0
    const [from, to] = range(set)
    return Math.max(0, to - from)
  }
})

/** @param {boolean} atHead @returns {Command} */
const pop = (atHead) => ({
  arity: -2,
  writes: true,
  run ({ keyspace, resp }, args) {
    const [, key, count] = args
    if (args.length > 3) throw new ErrorReply(SYNTAX_ERROR)
    const most = count === undefined ? 1 : positive(count)
    const set = keyspace.find(key, SortedSet)
    if (set === undefined) return []
    const popped = atHead ? set.deleteRange(0, most) : set.deleteRange(Math.max(0, set.size - most), set.size).reverse()
    keyspace.deleteIfEmpty(key, set)
    return listed(popped, true, resp === 3 && count !== undefined)
  }
})

/** @param {boolean} reverse @returns {Command} */
const rank = (reverse) => ({
  arity: 3,
  run ({ keyspace }, [, key, member]) {
    const set = keyspace.find(key, SortedSet)
    const found = set?.rank(member)
    return set === undefined || found === undefined ? null : reverse ? set.size - 1 - found : found
  }
})

/** @type {Record<string, Command>} */
export const sortedSets = {
  zadd: { arity: -4, grows: true, run: (context, args) => add(context, args[1], readAdd(args)) },
  zincrby: {
    arity: 4,
    grows: true,
    run: (context, [, key, by, member]) =>
      add(context, key, { options: new Set(['incr']), pairs: [{ score: double(by), member }] })
  },

  zrem: {
    arity: -3,
    writes: true,
    run ({ keyspace }, [, key, ...members]) {
      const set = keyspace.find(key, SortedSet)
      if (set === undefined) return 0
      let removed = 0
      for (const member of members) if (set.delete(member)) removed++
      keyspace.deleteIfEmpty(key, set)
      return removed
    }
  },

  zcard: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, SortedSet)?.size ?? 0 },
  zscore: {
    arity: 3,
    run ({ keyspace }, [, key, member]) {
      const score = keyspace.find(key, SortedSet)?.scores.get(member)
      return score === undefined ? null : new Double(score)
    }
  },
  zrank: rank(false),
  zrevrank: rank(true),
  zcount: countRange('score'),
  zlexcount: countRange('lex'),

  zrange: ranges(undefined, undefined),
  zrevrange: ranges('rank', true),
  zrangebyscore: ranges('score', false),
  zrevrangebyscore: ranges('score', true),
  zrangebylex: ranges('lex', false),
  zrevrangebylex: ranges('lex', true),
  zremrangebyrank: removeRange('rank'),
  zremrangebyscore: removeRange('score'),
  zremrangebylex: removeRange('lex'),
  zpopmin: pop(true),
  zpopmax: pop(false)
}
