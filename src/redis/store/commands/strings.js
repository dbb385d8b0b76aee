import { ErrorReply, OK } from '../resp/replies.js'
import { Text } from '../types/text.js'
import { SYNTAX_ERROR } from './command.js'
import { expiryTime } from './expiry.js'

/** @param {string[]} args of SET */
function setOptions (args) {
  /** @type {{ isNew: boolean, get: boolean, seconds?: string }} */
  const options = { isNew: false, get: false }
  for (let i = 3; i < args.length; i++) {
    const option = args[i].toLowerCase()
    if (option === 'nx') options.isNew = true
    else if (option === 'get') options.get = true
    else if (option === 'ex' && i + 1 < args.length) options.seconds = args[++i]
    else throw new ErrorReply(SYNTAX_ERROR)
  }
  return options
}

/** @type {Record<string, import('./command.js').Command>} */
export const strings = {
  get: { arity: 2, run: ({ keyspace }, [, key]) => keyspace.find(key, Text)?.text ?? null },

  set: {
    arity: -3,
    grows: true,
    run ({ keyspace }, args) {
      const [, key, text] = args
      const { isNew, get, seconds } = setOptions(args)
      const expiresAt = seconds === undefined ? 0 : expiryTime(keyspace, seconds, 'set')
      const before = get ? keyspace.find(key, Text)?.text ?? null : null
      if (isNew && keyspace.entry(key)) return before
      keyspace.put(key, new Text().fill(text), expiresAt)
      return get ? before : OK
    }
  }
}
