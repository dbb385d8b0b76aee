import { ErrorReply, MapReply } from '../resp/replies.js'
import { increased, integer } from '../numbers.js'
import { Hash } from '../types/hash.js'
import { is, SYNTAX_ERROR, wrongArity } from './command.js'

/** @type {Record<string, import('./command.js').Command>} */
export const hashes = {
  hget: { arity: 3, run: ({ keyspace }, [, key, field]) => keyspace.find(key, Hash)?.fields.get(field) ?? null },

  hmget: {
    arity: -3,
    run ({ keyspace }, [, key, ...fields]) {
      const hash = keyspace.find(key, Hash)
      return fields.map((field) => hash?.fields.get(field) ?? null)
    }
  },

  hgetall: {
    arity: 2,
    run: ({ keyspace }, [, key]) => new MapReply([...keyspace.find(key, Hash)?.fields ?? []].flat())
  },
  hkeys: { arity: 2, run: ({ keyspace }, [, key]) => [...keyspace.find(key, Hash)?.fields.keys() ?? []] },
  hvals: { arity: 2, run: ({ keyspace }, [, key]) => [...keyspace.find(key, Hash)?.fields.values() ?? []] },
  hlen: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, Hash)?.size ?? 0 },
  hexists: { arity: 3, run: ({ keyspace }, [, key, field]) => keyspace.find(key, Hash)?.fields.has(field) ? 1 : 0 },

  hset: {
    arity: -4,
    grows: true,
    run ({ keyspace }, args) {
      if (args.length % 2 === 1) throw wrongArity('hset')
      const hash = keyspace.findOrMake(args[1], Hash)
      let added = 0
      for (let i = 2; i < args.length; i += 2) if (hash.set(args[i], args[i + 1])) added++
      return added
    }
  },

  hsetnx: {
    arity: 4,
    grows: true,
    run ({ keyspace }, [, key, field, value]) {
      const hash = keyspace.findOrMake(key, Hash)
      return !hash.fields.has(field) && hash.set(field, value) ? 1 : 0
    }
  },

  hincrby: {
    arity: 4,
    grows: true,
    run ({ keyspace }, [, key, field, by]) {
      integer(by)
      const sum = increased(keyspace.find(key, Hash)?.fields.get(field) ?? '0', by, 'ERR hash value is not an integer')
      keyspace.findOrMake(key, Hash).set(field, String(sum))
      return sum
    }
  },

  hdel: {
    arity: -3,
    writes: true,
    run ({ keyspace }, [, key, ...fields]) {
      const hash = keyspace.find(key, Hash)
      if (hash === undefined) return 0
      let removed = 0
      for (const field of fields) if (hash.delete(field)) removed++
      keyspace.deleteIfEmpty(key, hash)
      return removed
    }
  },

  // COUNT is a hint in Redis: here a scan always ends with its first page
  hscan: {
    arity: -3,
    run ({ keyspace }, [, key, cursor, ...options]) {
      if (!/^[+-]?\d+$/.test(cursor)) throw new ErrorReply('ERR invalid cursor')
      const hash = keyspace.find(key, Hash)
      if (hash === undefined) return ['0', []]
      for (let i = 0; i < options.length; i += 2)
        if (!is(options[i], 'count') || i + 1 >= options.length || integer(options[i + 1]) < 1) throw new ErrorReply(SYNTAX_ERROR)
      return ['0', [...hash.fields].flat()]
    }
  }
}
