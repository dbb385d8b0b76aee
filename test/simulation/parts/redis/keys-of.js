import { hashSlot } from '../../../../src/redis/hash-slot.js'

/** Commands of sharded pub/sub: their channels have hash slots, as keys have. */
export const SHARDED = new Set(['ssubscribe', 'sunsubscribe', 'spublish'])
/** Commands all of whose arguments are keys or sharded channels. */
const ALL = new Set(['del', 'unlink', 'exists', 'ssubscribe', 'sunsubscribe'])
const NONE = new Set([
  'asking', 'client', 'cluster', 'flushall', 'hello', 'info', 'keys', 'ping', 'psubscribe', 'publish', 'pubsub',
  'punsubscribe', 'reset', 'script', 'subscribe', 'time', 'unsubscribe', 'wait'
])

/**
 * @param {string[]} args of a command of the built-in store
 * @returns {string[]} its keys and sharded channels
 */
export function keysOf (args) {
  const name = args[0].toLowerCase()
  if (NONE.has(name)) return []
  if (name === 'eval' || name === 'evalsha') return args.slice(3, 3 + Number(args[2]))
  return ALL.has(name) ? args.slice(1) : args.slice(1, 2)
}

const KNOWN = 10_000
/** @type {Map<string, number>} */
const known = new Map()

/** @param {string} key one character per byte, as the store has it */
export function slotOf (key) {
  let slot = known.get(key)
  if (slot === undefined) {
    if (known.size >= KNOWN) known.clear()
    known.set(key, slot = hashSlot(Buffer.from(key, 'latin1').toString()))
  }
  return slot
}
