import { ErrorReply, NullArray } from '../resp/replies.js'
import { integer } from '../numbers.js'
import { OUT_OF_MEMORY, run, takes } from './command.js'

/**
 * @typedef {import('./command.js').Context} Context
 * @typedef {import('./command.js').Command} Command
 * @typedef {import('../scripts.js').Script} Script
 * @typedef {import('../resp/replies.js').Reply} Reply
 */

const SHA_LENGTH = 40
const NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.'

/**
 * @param {Context} context
 * @param {string[]} args of EVAL or EVALSHA
 * @param {() => Script} find
 * @returns {Reply}
 */
function evaluate (context, [, , numberOfKeys, ...rest], find) {
  const count = integer(numberOfKeys)
  if (count > rest.length) throw new ErrorReply('ERR Number of keys can\'t be greater than number of args')
  if (count < 0) throw new ErrorReply('ERR Number of keys can\'t be negative')
  const { store, keyspace, now } = context
  // a script that has written may go on, also above the limit
  const isFull = store.isFull
  let hasWritten = false
  /** @type {Context} of the commands of the script */
  const own = { store, keyspace, resp: 2, now }

  /** @param {string[]} args @returns {Reply} */
  function call (args) {
    const found = store.find(args)
    if (found === undefined) return new ErrorReply('ERR Unknown Redis command called from script')
    const { command } = found
    if (!takes(command, args.length))
      return new ErrorReply('ERR Wrong number of args calling Redis command from script')
    if (command.noScript) return new ErrorReply('ERR This Redis command is not allowed from script')
    if (command.grows && isFull && !hasWritten) return new ErrorReply(OUT_OF_MEMORY)
    if (command.grows || command.writes) hasWritten = true
    const reply = run(command, own, args)
    return reply === undefined || reply instanceof NullArray ? null : reply
  }

  const allowed = (/** @type {string[]} */ command) => store.find(command) && true
  return find()({ keys: rest.slice(0, count), args: rest.slice(count), call, allowed })
}

/** @type {Record<string, Command>} */
const scriptCommands = {
  load: { arity: 3, run: ({ store }, [, , source]) => store.scripts.load(source) },
  exists: { arity: -3, run: ({ store }, [, , ...shas]) => shas.map((sha) => store.scripts.get(sha) ? 1 : 0) }
}

/** @type {Record<string, Command>} */
export const scripting = {
  eval: {
    arity: -3,
    noScript: true,
    run (context, args) {
      const { scripts } = context.store
      return evaluate(context, args, () => /** @type {Script} */ (scripts.get(scripts.load(args[1]))))
    }
  },
  evalsha: {
    arity: -3,
    noScript: true,
    run (context, args) {
      if (args[1].length !== SHA_LENGTH) throw new ErrorReply(NO_SCRIPT)
      return evaluate(context, args, () => {
        const script = context.store.scripts.get(args[1])
        if (script === undefined) throw new ErrorReply(NO_SCRIPT)
        return script
      })
    }
  },
  script: { arity: -2, noScript: true, run () {}, subcommands: scriptCommands }
}
