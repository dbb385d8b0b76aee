import { ErrorReply, OK, Status } from '../resp/replies.js'
import { is, SYNTAX_ERROR } from './command.js'
import { expiryTime } from './expiry.js'
import { checkCursor, matching, scanOptions } from './scan.js'

/**
 * @typedef {import('./command.js').Context} Context
 * @typedef {import('./command.js').Command} Command
 */

const CONDITIONS = ['nx', 'xx', 'gt', 'lt']

/** @param {string[]} options of EXPIRE @returns {Set<string>} */
function conditionsOf (options) {
  const conditions = new Set(options.map((option) => {
    if (!CONDITIONS.includes(option.toLowerCase())) throw new ErrorReply(`ERR Unsupported option ${option.split('\0', 1)[0]}`)
    return option.toLowerCase()
  }))
  if (conditions.has('nx') && conditions.size > 1)
    throw new ErrorReply('ERR NX and XX, GT or LT options at the same time are not compatible')
  if (conditions.has('gt') && conditions.has('lt'))
    throw new ErrorReply('ERR GT and LT options at the same time are not compatible')
  return conditions
}

/**
 * @param {1 | 1000} unit
 * @param {boolean} absolute
 * @returns {Command}
 */
const expire = (unit, absolute) => ({
  arity: -3,
  writes: true,
  run ({ keyspace }, [name, key, time, ...options]) {
    const conditions = conditionsOf(options)
    const since = absolute ? 0 : keyspace.now
    const at = expiryTime(time, { unit, since, command: name.toLowerCase() })
    const entry = keyspace.entry(key)
    if (entry === undefined) return 0
    const current = entry.expiresAt
    if (conditions.has('nx') && current !== 0) return 0
    if (conditions.has('xx') && current === 0) return 0
    if (conditions.has('gt') && (current === 0 || at <= current)) return 0
    if (conditions.has('lt') && current !== 0 && at >= current) return 0
    if (at <= keyspace.now) keyspace.delete(key)
    else keyspace.expireAt(key, entry, at)
    return 1
  }
})

/**
 * @param {1 | 1000} unit
 * @param {boolean} absolute
 * @returns {Command}
 */
const timeLeft = (unit, absolute) => ({
  arity: 2,
  run ({ keyspace }, [, key]) {
    const entry = keyspace.entry(key)
    if (entry === undefined) return -2
    if (entry.expiresAt === 0) return -1
    const ms = absolute ? entry.expiresAt : Math.max(0, entry.expiresAt - keyspace.now)
    return unit === 1 ? ms : Math.floor((ms + 500) / 1000)
  }
})

/** @param {Context} context @param {string[]} args */
const remove = ({ keyspace }, [, ...keys]) => {
  let removed = 0
  for (const key of keys) if (keyspace.entry(key) && keyspace.delete(key)) removed++
  return removed
}

/** @param {Context} context @param {string[]} args */
function flush ({ keyspace }, [, mode = 'sync', ...rest]) {
  if ((!is(mode, 'sync') && !is(mode, 'async')) || rest.length > 0) throw new ErrorReply(SYNTAX_ERROR)
  keyspace.clear()
  return OK
}

/** @param {Context} context @returns {string[]} */
const living = ({ keyspace }) => [...keyspace.keys()].filter((key) => keyspace.entry(key))

/** @type {Record<string, Command>} */
export const keys = {
  del: { arity: -2, writes: true, run: remove },
  unlink: { arity: -2, writes: true, run: remove },
  exists: { arity: -2, run: ({ keyspace }, [, ...names]) => names.filter((key) => keyspace.entry(key)).length },
  type: { arity: 2, run: ({ keyspace }, [, key]) => new Status(keyspace.entry(key)?.value.type ?? 'none') },

  expire: expire(1000, false),
  pexpire: expire(1, false),
  expireat: expire(1000, true),
  pexpireat: expire(1, true),
  ttl: timeLeft(1000, false),
  pttl: timeLeft(1, false),
  expiretime: timeLeft(1000, true),
  pexpiretime: timeLeft(1, true),
  persist: {
    arity: 2,
    writes: true,
    run ({ keyspace }, [, key]) {
      const entry = keyspace.entry(key)
      if (entry === undefined || entry.expiresAt === 0) return 0
      keyspace.expireAt(key, entry, 0)
      return 1
    }
  },

  keys: { arity: 2, run: (context, [, pattern]) => matching(pattern, living(context)) },
  dbsize: { arity: 1, run: ({ keyspace }) => keyspace.size },
  flushall: { arity: -1, writes: true, run: flush },
  flushdb: { arity: -1, writes: true, run: flush },

  scan: {
    arity: -2,
    run (context, [, cursor, ...options]) {
      checkCursor(cursor)
      const { pattern, type } = scanOptions(options, true)
      const found = matching(pattern, living(context))
      return ['0', type === undefined ? found : found.filter((key) => context.keyspace.entry(key)?.value.type === type)]
    }
  }
}
