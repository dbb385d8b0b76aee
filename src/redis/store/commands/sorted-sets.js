import { Double, ErrorReply } from '../resp/replies.js'
import { double } from '../numbers.js'
import { SortedSet } from '../types/sorted-set.js'
import { is, SYNTAX_ERROR } from './command.js'
import { rangeOf, ranges, scored } from './sorted-ranges.js'

/** @typedef {import('./command.js').Command} Command */

/** @param {import('./sorted-ranges.js').By} by @returns {Command} */
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

/** @type {Record<string, Command>} */
export const sortedSets = {
  zadd: {
    arity: -4,
    grows: true,
    run ({ keyspace }, args) {
      const [onlyPresent, onlyHigher] = [is(args[2], 'xx'), is(args[2], 'gt')]
      const at = onlyPresent || onlyHigher ? 3 : 2
      if (args.length === at || (args.length - at) % 2 === 1) throw new ErrorReply(SYNTAX_ERROR)
      const pairs = []
      for (let i = at; i < args.length; i += 2) pairs.push({ score: double(args[i]), member: args[i + 1] })
      const found = keyspace.find(args[1], SortedSet)
      if (found === undefined && onlyPresent) return 0
      const set = found ?? keyspace.findOrMake(args[1], SortedSet)
      let added = 0
      for (const { score, member } of pairs) {
        const before = set.scores.get(member)
        if (before === undefined ? onlyPresent : onlyHigher && score <= before) continue
        if (before === undefined) added++
        set.set(member, score)
      }
      return added
    }
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

  zrange: ranges('rank'),
  zrevrange: ranges('rank', true),
  zrangebyscore: ranges('score'),
  zrangebylex: ranges('lex'),
  zremrangebyrank: removeRange('rank'),
  zremrangebyscore: removeRange('score'),
  zpopmin: {
    arity: 2,
    writes: true,
    run ({ keyspace }, [, key]) {
      const set = keyspace.find(key, SortedSet)
      if (set === undefined) return []
      const popped = set.deleteRange(0, 1)
      keyspace.deleteIfEmpty(key, set)
      return scored(popped, false)
    }
  }
}
