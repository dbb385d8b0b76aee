import { ErrorReply, OK, Status } from '../resp/replies.js'
import { is, SYNTAX_ERROR } from './command.js'
import { expiryTime } from './expiry.js'
import { matches } from './glob.js'

/**
 * @typedef {import('./command.js').Context} Context
 * @typedef {import('./command.js').Command} Command
 */

/** @param {1 | 1000} unit @returns {Command} */
const timeLeft = (unit) => ({
  arity: 2,
  run ({ keyspace }, [, key]) {
    const entry = keyspace.entry(key)
    if (entry === undefined) return -2
    if (entry.expiresAt === 0) return -1
    const ms = Math.max(0, entry.expiresAt - keyspace.now)
    return unit === 1 ? ms : Math.floor((ms + 500) / 1000)
  }
})

/** @param {Context} context @param {string[]} args */
const remove = ({ keyspace }, [, ...keys]) => {
  let removed = 0
  for (const key of keys) if (keyspace.entry(key) && keyspace.delete(key)) removed++
  return removed
}

/** @type {Record<string, Command>} */
export const keys = {
  del: { arity: -2, writes: true, run: remove },
  unlink: { arity: -2, writes: true, run: remove },
  exists: { arity: -2, run: ({ keyspace }, [, ...names]) => names.filter((key) => keyspace.entry(key)).length },
  type: { arity: 2, run: ({ keyspace }, [, key]) => new Status(keyspace.entry(key)?.value.type ?? 'none') },

  expire: {
    arity: -3,
    writes: true,
    run ({ keyspace }, [, key, time, ...options]) {
      for (const option of options)
        if (!is(option, 'gt')) throw new ErrorReply(`ERR Unsupported option ${option.split('\0', 1)[0]}`)
      const at = expiryTime(keyspace, time, 'expire')
      const entry = keyspace.entry(key)
      if (entry === undefined) return 0
      if (options.length > 0 && (entry.expiresAt === 0 || at <= entry.expiresAt)) return 0
      if (at <= keyspace.now) keyspace.delete(key)
      else keyspace.expireAt(key, entry, at)
      return 1
    }
  },

  ttl: timeLeft(1000),
  pttl: timeLeft(1),
  keys: {
    arity: 2,
    run: ({ keyspace }, [, pattern]) =>
      keyspace.keys().filter((key) => matches(pattern, key))
  },

  flushall: {
    arity: -1,
    writes: true,
    run ({ keyspace }, args) {
      if (args.length > 1) throw new ErrorReply(SYNTAX_ERROR)
      keyspace.clear()
      return OK
    }
  }
}
