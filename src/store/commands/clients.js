import { ErrorReply, MapReply, OK, Push, Status } from '../resp/replies.js'
import { integer, readInteger } from '../numbers.js'
import { is, SYNTAX_ERROR } from './command.js'
import { VERSION } from '../info.js'

/**
 * @typedef {import('./command.js').Command} Command
 * @typedef {import('./command.js').Context} Context
 * @typedef {import('../contract.js').Connection} Connection
 */

const WRONG_PASSWORD = 'WRONGPASS invalid username-password pair or user is disabled.'
const BAD_NAME = 'ERR Client names cannot contain spaces, newlines or special characters.'
const NOT_INT = 'ERR value is out of range, value must between -2147483648 and 2147483647'
const TIMEOUT_INVALID = 'ERR timeout is not an integer or out of range'
const TYPES = ['normal', 'master', 'replica', 'slave', 'pubsub']

/** @param {Context} context @returns {Connection} of a command that scripts may not use */
const own = ({ connection }) => /** @type {Connection} */ (connection)

/** @param {Connection} connection @param {string} name */
function setName (connection, name) {
  if (/[^!-~]/.test(name)) throw new ErrorReply(BAD_NAME)
  connection.name = name
}

/** @param {string} user @param {string} [password] */
function authenticate (user, password) {
  // there are no passwords, and only the user of Redis that has none
  if (user !== 'default' || password === undefined) throw new ErrorReply(WRONG_PASSWORD)
}

/** @param {string} text @returns {number} ms */
function timeout (text) {
  const ms = integer(text, TIMEOUT_INVALID)
  if (ms < 0) throw new ErrorReply('ERR timeout is negative')
  return ms
}

/** @param {Connection} connection @returns {string} as in CLIENT LIST */
function describe (connection) {
  const { id, name, subscriptions: { channels, patterns, shards }, resp, command, store } = connection
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } =
    /** @type {Partial<import('node:net').Socket>} */ (connection.stream)
  const now = store.clock.monotonic()
  const seconds = (/** @type {number} */ since) => Math.floor((now - since) / 1000)
  return `id=${id} addr=${remoteAddress}:${remotePort} laddr=${localAddress}:${localPort} fd=-1 name=${name} ` +
    `age=${seconds(connection.since)} idle=${seconds(connection.active)} flags=${connection.isSubscriber ? 'P' : 'N'} ` +
    `db=0 sub=${channels.size} psub=${patterns.size} ssub=${shards.size} multi=-1 qbuf=${connection.unparsed} ` +
    `omem=${connection.unread} cmd=${command} user=default redir=-1 resp=${resp}\n`
}

/** @param {string} type */
function checkType (type) {
  if (!TYPES.includes(type.toLowerCase())) throw new ErrorReply(`ERR Unknown client type '${type}'`)
  return type.toLowerCase()
}

/** @param {Connection} connection @param {string} type */
const hasType = (connection, type) => type === (connection.isSubscriber ? 'pubsub' : 'normal')

/** @param {Context} context @param {string[]} filters */
function kill (context, filters) {
  /** @type {((connection: Connection) => boolean)[]} */
  const tests = []
  let skipsMe = true
  if (filters.length === 1) throw new ErrorReply('ERR No such client')
  for (let i = 0; i < filters.length; i += 2) {
    const [option, value] = [filters[i], filters[i + 1]]
    if (value === undefined) throw new ErrorReply(SYNTAX_ERROR)
    if (is(option, 'id')) {
      const id = readInteger(value)
      if (id === undefined || id < 1) throw new ErrorReply('ERR client-id should be greater than 0')
      tests.push((connection) => connection.id === id)
    } else if (is(option, 'type')) {
      const type = checkType(value)
      tests.push((connection) => hasType(connection, type))
    } else if (is(option, 'skipme') && (is(value, 'yes') || is(value, 'no'))) {
      skipsMe = is(value, 'yes')
    } else {
      throw new ErrorReply(SYNTAX_ERROR)
    }
  }
  let killed = 0
  let isOwn = false
  for (const connection of [...context.store.connections]) {
    if (skipsMe && connection === context.connection) continue
    if (!tests.every((test) => test(connection))) continue
    killed++
    if (connection === context.connection) isOwn = true
    else connection.destroy()
  }
  if (!isOwn) return killed
  own(context).reply(killed)
  own(context).end()
  return undefined
}

/** @param {Context} context @param {string[]} filters */
function list ({ store }, filters) {
  let some = [...store.connections]
  if (filters.length === 2 && is(filters[0], 'type')) {
    const type = checkType(filters[1])
    some = some.filter((connection) => hasType(connection, type))
  } else if (filters.length > 1 && is(filters[0], 'id')) {
    const ids = filters.slice(1).map((id) => integer(id, 'ERR Invalid client ID'))
    some = some.filter(({ id }) => ids.includes(id))
  } else if (filters.length > 0) {
    throw new ErrorReply(SYNTAX_ERROR)
  }
  return some.map(describe).join('')
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
    if (is(options[i], 'auth') && i + 2 < options.length) {
      authenticate(options[i + 1], options[i + 2])
      i += 2
    } else if (is(options[i], 'setname') && i + 1 < options.length) {
      name = options[++i]
    } else {
      throw new ErrorReply(`ERR Syntax error in HELLO option '${options[i].split('\0', 1)[0]}'`)
    }
  }
  if (name !== undefined) setName(connection, name)
  connection.resp = resp
  return new MapReply([
    'server', 'redis', 'version', VERSION, 'proto', resp, 'id', connection.id, 'mode', 'standalone', 'role', 'master',
    'modules', []
  ])
}

/** @param {Context} context */
function quit (context) {
  own(context).reply(OK)
  own(context).end()
}

/** @type {Record<string, Command>} */
const clientCommands = {
  id: { arity: 2, run: (context) => own(context).id },
  getname: { arity: 2, run: (context) => own(context).name || null },
  setname: {
    arity: 3,
    run (context, [, , name]) {
      setName(own(context), name)
      return OK
    }
  },
  info: { arity: 2, run: (context) => describe(own(context)) },
  list: { arity: -2, run: (context, [, , ...filters]) => list(context, filters) },
  kill: { arity: -3, run: (context, [, , ...filters]) => kill(context, filters) },
  pause: {
    arity: -3,
    run ({ store }, [, , ms, mode]) {
      const duration = timeout(ms)
      if (mode !== undefined && !is(mode, 'all')) throw new ErrorReply('ERR CLIENT PAUSE mode must be WRITE or ALL')
      store.pause(duration)
      return OK
    }
  },
  unpause: {
    arity: 2,
    run ({ store }) {
      store.resume()
      return OK
    }
  }
}

/** @type {Record<string, Command>} */
export const clients = {
  hello: { arity: -1, noScript: true, run: hello },
  auth: {
    arity: -2,
    noScript: true,
    run (_, [, user, password, ...more]) {
      if (more.length > 0) throw new ErrorReply(SYNTAX_ERROR)
      if (password === undefined) {
        throw new ErrorReply('ERR AUTH <password> called without any password configured for the default user. ' +
          'Are you sure your configuration is correct?')
      }
      authenticate(user, password)
      return OK
    }
  },
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
  echo: { arity: 2, run: (_, [, message]) => message },
  quit: { arity: -1, noScript: true, subscribed: true, run: quit },
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
  },
  select: {
    arity: 2,
    run (_, [, index]) {
      const number = integer(index)
      if (number !== (number | 0)) throw new ErrorReply(NOT_INT)
      if (number !== 0) throw new ErrorReply('ERR DB index is out of range')
      return OK
    }
  },
  wait: {
    arity: 3,
    noScript: true,
    run (context, [, replicas, ms]) {
      const asked = integer(replicas)
      const duration = timeout(ms)
      // there are no replicas
      if (asked <= 0) return 0
      own(context).replyLater(duration === 0 ? Infinity : duration, 0)
      return undefined
    }
  }
}
