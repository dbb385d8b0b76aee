import { SetReply } from '../resp/replies.js'
import { SetOfStrings } from '../types/set.js'

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
  }
}
