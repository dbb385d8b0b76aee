import { ErrorReply, MapReply, OK, Push, Status } from '../resp/replies.js'
import { integer, readInteger } from '../numbers.js'
import { is, SYNTAX_ERROR } from './command.js'
import { VERSION } from '../info.js'

/**
 * @typedef {import('./command.js').Command} Command
 * @typedef {import('./command.js').Context} Context
 * @typedef {import('../contract.js').Connection} Connection
 */

const BAD_NAME = 'ERR Client names cannot contain spaces, newlines or special characters.'

/** @param {Context} context @returns {Connection} of a command that scripts may not use */
const own = ({ connection }) => /** @type {Connection} */ (connection)

/** @param {Connection} connection @param {string} name */
function setName (connection, name) {
  if (/[^!-~]/.test(name)) throw new ErrorReply(BAD_NAME)
  connection.name = name
}

/** @param {string} filter @param {string} value @returns {(connection: Connection) => boolean} */
function filterOf (filter, value) {
  if (is(filter, 'type') && is(value, 'pubsub')) return ({ isSubscriber }) => isSubscriber
  if (!is(filter, 'id')) throw new ErrorReply(SYNTAX_ERROR)
  const id = readInteger(value)
  if (id === undefined || id < 1) throw new ErrorReply('ERR client-id should be greater than 0')
  return (connection) => connection.id === id
}

/** @param {Context} context @param {string[]} args */
function hello (context, [, version, ...options]) {
  const connection = own(context)
  let resp = connection.resp
  if (version !== undefined) {
    const asked = integer(version, 'ERR Protocol version is not an integer or out of range')
    if (asked !== 2 && asked !== 3) throw new ErrorReply('NOPROTO unsupported protocol version')
    resp = asked
  }
  /** @type {string | undefined} */
  let name
  for (let i = 0; i < options.length; i++) {
    if (!is(options[i], 'setname') || i + 1 >= options.length)
      throw new ErrorReply(`ERR Syntax error in HELLO option '${options[i].split('\0', 1)[0]}'`)
    name = options[++i]
  }
  if (name !== undefined) setName(connection, name)
  connection.resp = resp
  return new MapReply([
    'server', 'redis', 'version', VERSION, 'proto', resp, 'id', connection.id, 'mode', 'standalone', 'role', 'master',
    'modules', []
  ])
}

/** @type {Record<string, Command>} */
const clientCommands = {
  setname: {
    arity: 3,
    run (context, [, , name]) {
      setName(own(context), name)
      return OK
    }
  },
  list: {
    arity: 2,
    run: ({ store }) => [...store.connections].map(({ id, name, subscriptions: { channels, patterns, shards } }) =>
      `id=${id} name=${name} sub=${channels.size} psub=${patterns.size} ssub=${shards.size}\n`).join('')
  },
  kill: {
    arity: 4,
    run ({ store, connection: asking }, [, , filter, value]) {
      const isMeant = filterOf(filter, value)
      const some = [...store.connections].filter((connection) => connection !== asking && isMeant(connection))
      for (const connection of some) connection.destroy()
      return some.length
    }
  },
  pause: {
    arity: 3,
    run ({ store }, [, , text]) {
      const ms = integer(text, 'ERR timeout is not an integer or out of range')
      if (ms < 0) throw new ErrorReply('ERR timeout is negative')
      store.pause(ms)
      return OK
    }
  }
}

/** @type {Record<string, Command>} */
export const clients = {
  hello: { arity: -1, noScript: true, run: hello },
  client: { arity: -2, noScript: true, run () {}, subcommands: clientCommands },
  ping: {
    arity: -1,
    subscribed: true,
    run ({ connection, resp }, args) {
      if (args.length > 2) throw new ErrorReply('ERR wrong number of arguments for \'ping\' command')
      if (connection?.isSubscriber && resp === 2) return new Push(['pong', args[1] ?? ''])
      return args[1] ?? new Status('PONG')
    }
  },
  reset: {
    arity: 1,
    noScript: true,
    subscribed: true,
    run (context) {
      const connection = own(context)
      context.store.pubsub.forget(connection)
      connection.resp = 2
      connection.name = ''
      return new Status('RESET')
    }
  }
}
