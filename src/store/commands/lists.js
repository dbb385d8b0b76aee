import { ErrorReply, NULL_ARRAY } from '../resp/replies.js'
import { integer } from '../numbers.js'
import { List } from '../types/list.js'
import { slice, wrongArity } from './command.js'

const NOT_POSITIVE = 'ERR value is out of range, must be positive'

/** @param {string} text @returns {number} 0 or more */
export function positive (text) {
  const value = integer(text, NOT_POSITIVE)
  if (value < 0) throw new ErrorReply(NOT_POSITIVE)
  return value
}

/** @param {boolean} atHead @returns {import('./command.js').Command} */
const push = (atHead) => ({
  arity: -3,
  grows: true,
  run ({ keyspace }, [, key, ...items]) {
    const list = keyspace.findOrMake(key, List)
    for (const item of items) list.push(item, atHead)
    return list.size
  }
})

/** @param {boolean} atHead @returns {import('./command.js').Command} */
const pop = (atHead) => ({
  arity: -2,
  writes: true,
  run ({ keyspace }, args) {
    const [name, key, count] = args
    if (args.length > 3) throw wrongArity(name.toLowerCase())
    const most = count === undefined ? undefined : positive(count)
    const list = keyspace.find(key, List)
    if (list === undefined) return most === undefined ? null : NULL_ARRAY
    const popped = list.pop(most ?? 1, atHead)
    keyspace.deleteIfEmpty(key, list)
    return most === undefined ? popped[0] : popped
  }
})

/** @type {Record<string, import('./command.js').Command>} */
export const lists = {
  lpush: push(true),
  rpush: push(false),
  lpop: pop(true),
  rpop: pop(false),
  llen: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, List)?.size ?? 0 },

  lrange: {
    arity: 4,
    run ({ keyspace }, [, key, start, stop]) {
      const range = [integer(start), integer(stop)]
      const items = keyspace.find(key, List)?.items ?? []
      return items.slice(...slice(range[0], range[1], items.length))
    }
  }
}
