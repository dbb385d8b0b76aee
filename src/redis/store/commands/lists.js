import { integer } from '../numbers.js'
import { List } from '../types/list.js'
import { slice } from './command.js'

/** @type {Record<string, import('./command.js').Command>} */
export const lists = {
  rpush: {
    arity: -3,
    grows: true,
    run ({ keyspace }, [, key, ...items]) {
      const list = keyspace.findOrMake(key, List)
      for (const item of items) list.push(item)
      return list.size
    }
  },

  lpop: {
    arity: 2,
    writes: true,
    run ({ keyspace }, [, key]) {
      const list = keyspace.find(key, List)
      if (list === undefined) return null
      const item = list.shift()
      keyspace.deleteIfEmpty(key, list)
      return item
    }
  },

  lrange: {
    arity: 4,
    run ({ keyspace }, [, key, start, stop]) {
      const range = [integer(start), integer(stop)]
      const items = keyspace.find(key, List)?.items ?? []
      return items.slice(...slice(range[0], range[1], items.length))
    }
  }
}
