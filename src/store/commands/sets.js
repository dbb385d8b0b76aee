import { SetReply } from '../resp/replies.js'
import { SetOfStrings } from '../types/set.js'
import { checkCursor, matching, scanOptions } from './scan.js'

/** @type {Record<string, import('./command.js').Command>} */
export const sets = {
  sadd: {
    arity: -3,
    grows: true,
    run ({ keyspace }, [, key, ...members]) {
      const set = keyspace.findOrMake(key, SetOfStrings)
      let added = 0
      for (const member of members) if (set.add(member)) added++
      return added
    }
  },

  srem: {
    arity: -3,
    writes: true,
    run ({ keyspace }, [, key, ...members]) {
      const set = keyspace.find(key, SetOfStrings)
      if (set === undefined) return 0
      let removed = 0
      for (const member of members) if (set.delete(member)) removed++
      keyspace.deleteIfEmpty(key, set)
      return removed
    }
  },

  smembers: {
    arity: 2,
    run: ({ keyspace }, [, key]) => new SetReply([...keyspace.find(key, SetOfStrings)?.members ?? []])
  },
  scard: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, SetOfStrings)?.size ?? 0 },
  sismember: {
    arity: 3,
    run: ({ keyspace }, [, key, member]) => keyspace.find(key, SetOfStrings)?.members.has(member) ? 1 : 0
  },

  sscan: {
    arity: -3,
    run ({ keyspace }, [, key, cursor, ...options]) {
      checkCursor(cursor)
      const set = keyspace.find(key, SetOfStrings)
      if (set === undefined) return ['0', []]
      return ['0', matching(scanOptions(options).pattern, set.members)]
    }
  }
}
