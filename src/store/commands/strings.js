import { ErrorReply, OK } from '../resp/replies.js'
import { increased, integer } from '../numbers.js'
import { Text } from '../types/text.js'
import { SYNTAX_ERROR } from './command.js'
import { expiryTime } from './expiry.js'

/** @type {Record<string, { unit: 1 | 1000, absolute: boolean }>} */
const UNITS = {
  ex: { unit: 1000, absolute: false },
  px: { unit: 1, absolute: false },
  exat: { unit: 1000, absolute: true },
  pxat: { unit: 1, absolute: true }
}

/** @param {string[]} args */
function setOptions (args) {
  /** @type {{ only?: 'nx' | 'xx', get: boolean, keep: boolean, unit?: string, time: string }} */
  const options = { get: false, keep: false, time: '' }
  for (let i = 3; i < args.length; i++) {
    const option = args[i].toLowerCase()
    if ((option === 'nx' || option === 'xx') && (options.only ?? option) === option) {
      options.only = option
    } else if (option === 'get') {
      options.get = true
    } else if (option === 'keepttl' && options.unit === undefined) {
      options.keep = true
    } else if (Object.hasOwn(UNITS, option) && !options.keep && options.unit === undefined && i + 1 < args.length) {
      options.unit = option
      options.time = args[++i]
    } else {
      throw new ErrorReply(SYNTAX_ERROR)
    }
  }
  return options
}

/** @param {import('./command.js').Context} context @param {string} key @param {string} by */
function increase ({ keyspace }, key, by) {
  integer(by)
  const found = keyspace.find(key, Text)
  const sum = increased(found?.text ?? '0', by)
  if (found) found.fill(String(sum))
  else keyspace.put(key, new Text().fill(String(sum)))
  return sum
}

/** @type {Record<string, import('./command.js').Command>} */
export const strings = {
  get: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, Text)?.text ?? null },

  mget: {
    arity: -2,
    run: ({ keyspace }, [, ...keys]) => keys.map((key) => {
      const value = keyspace.entry(key)?.value
      return value instanceof Text ? value.text : null
    })
  },

  set: {
    arity: -3,
    grows: true,
    run ({ keyspace }, args) {
      const [, key, text] = args
      const { only, get, keep, unit, time } = setOptions(args)
      let expiresAt = 0
      if (unit !== undefined) {
        const { unit: ms, absolute } = UNITS[unit]
        expiresAt = expiryTime(time, { unit: ms, since: absolute ? 0 : keyspace.now, command: 'set', positive: true })
      }
      const before = get ? keyspace.find(key, Text)?.text ?? null : null
      const entry = keyspace.entry(key)
      if (only !== undefined && (entry === undefined) !== (only === 'nx')) return before
      if (keep && entry) expiresAt = entry.expiresAt
      keyspace.put(key, new Text().fill(text), expiresAt)
      return get ? before : OK
    }
  },

  incr: { arity: 2, grows: true, run: (context, [, key]) => increase(context, key, '1') },
  incrby: { arity: 3, grows: true, run: (context, [, key, by]) => increase(context, key, by) },
  strlen: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, Text)?.text.length ?? 0 }
}
