import { createHash } from 'node:crypto'
import { Double, ErrorReply, MapReply, NullArray, SetReply, Status, Verbatim } from '../resp/replies.js'
import { printFloat } from './numbers.js'
import { library } from './strings.js'
import { LuaTable } from './table.js'
import { LuaError, NONE, running, tostring } from './values.js'

/** @typedef {import('./table.js').Value} Value */
/** @typedef {import('../resp/replies.js').Reply} Reply */

/** The version of which this behaves as. */
const VERSION = '7.0.15'
const LEVELS = ['LOG_DEBUG', 'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING']

/** @param {string} field @param {string} text */
function tableWith (field, text) {
  const table = new LuaTable()
  table.set(field, text)
  return table
}

/** An error of a library of Redis is a table. @param {string} message */
const failed = (message) => new LuaError(tableWith('err', `ERR ${message}`))

/**
 * A reply as a script gets it.
 * @param {Reply} reply
 * @returns {Value}
 */
function fromReply (reply) {
  if (typeof reply === 'string' || typeof reply === 'number') return reply
  if (typeof reply === 'bigint') return Number(reply)
  if (reply === null || reply instanceof NullArray) return false
  if (Array.isArray(reply)) return new LuaTable(reply.map(fromReply))
  if (reply instanceof Status) return tableWith('ok', reply.text)
  if (reply instanceof Double) return printFloat(reply.value, 'g', 17)
  if (reply instanceof Verbatim) return reply.text
  if (reply instanceof MapReply) return new LuaTable(reply.flat.map(fromReply))
  if (reply instanceof ErrorReply) {
    const table = tableWith('err', reply.message)
    table.set('ignore_error_stats_update', true)
    return table
  }
  return new LuaTable(reply.items.map(fromReply))
}

/** A line of the protocol: a zero byte ends it, as a string of C. @param {string} text */
export const oneLine = (text) => text.split('\0')[0].replace(/[\r\n]+$/, '').replace(/[\r\n]/g, ' ')

/** @param {number} number @returns {number | bigint} its integer part, as C converts it to 64 bits */
function toInteger (number) {
  const whole = Math.trunc(number) + 0
  if (Number.isSafeInteger(whole)) return whole
  return whole >= -(2 ** 63) && whole < 2 ** 63 ? BigInt(whole) : -(2n ** 63n)
}

/** @param {LuaTable} table @param {(key: Value, value: Value) => Reply[]} items @returns {Reply[]} */
const flatten = (table, items) => [...table.entries()].flatMap(([key, value]) => items(key, value))

/**
 * The result of a script as a reply: numbers lose their fraction, and nil ends a list.
 * @param {Value} value
 * @returns {Reply}
 */
export function toReply (value) {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return toInteger(value)
  if (value === true) return 1
  if (!(value instanceof LuaTable)) return null
  const [err, ok, double, map, set, big, verbatim] =
    ['err', 'ok', 'double', 'map', 'set', 'big_number', 'verbatim_string'].map((field) => value.get(field))
  if (typeof err === 'string') return new ErrorReply(oneLine(err))
  if (typeof ok === 'string') return new Status(ok.split('\0')[0].replace(/[\r\n]/g, ' '))
  if (typeof double === 'number') return new Double(double)
  if (map instanceof LuaTable) return new MapReply(flatten(map, (key, item) => [toReply(key), toReply(item)]))
  if (set instanceof LuaTable) return new SetReply(flatten(set, (key) => [toReply(key)]))
  if (typeof big === 'string') return big
  if (verbatim instanceof LuaTable && typeof verbatim.get('string') === 'string') return new Verbatim(verbatim.get('string'))
  const items = []
  for (let i = 1, item; (item = value.get(i)) !== undefined; i++) items.push(toReply(item))
  return items
}

const environment = () => /** @type {import('./values.js').Environment} */ (running.environment)

/** @param {Value[]} args @returns {string[]} */
function commandOf (args) {
  if (args.length === 0) throw failed('Please specify at least one argument for this redis lib call')
  return args.map((arg) => {
    if (typeof arg === 'string') return arg
    if (typeof arg === 'number') return Number.isSafeInteger(arg) && arg !== 0 ? String(arg) : printFloat(arg, 'g', 17)
    throw failed('Lua redis lib command arguments must be strings or integers')
  })
}

/** @param {Value[]} args @param {string} field */
function reply (args, field) {
  if (args.length !== 1 || typeof args[0] !== 'string') return tableWith('err', 'ERR wrong number or type of arguments')
  const [text] = args
  if (field === 'ok') return tableWith('ok', text)
  const [, code = 'ERR', message] = /** @type {string[]} */ (/^-?(?:([^ ]*) )?([^]*)$/.exec(text.split('\0')[0]))
  return tableWith('err', `${code} ${message.replace(/^[\r\n]+|[\r\n]+$/g, '')}`)
}

export const redis = library({
  acl_check_cmd: (/** @type {Value[]} */ ...args) => {
    const command = commandOf(args)
    const allowed = environment().allowed(command)
    if (allowed === undefined) throw failed('Invalid command passed to redis.acl_check_cmd()')
    return allowed
  },
  call (/** @type {Value[]} */ ...args) {
    const result = fromReply(environment().call(commandOf(args)))
    if (result instanceof LuaTable && result.get('err') !== undefined) throw new LuaError(result)
    return result
  },
  error_reply: (/** @type {Value[]} */ ...args) => reply(args, 'err'),
  log (/** @type {Value[]} */ ...args) {
    if (args.length < 2) throw failed('redis.log() requires two arguments or more.')
    if (typeof args[0] !== 'number') throw failed('First argument must be a number (log level).')
    if (!(args[0] >= 0 && args[0] < LEVELS.length)) throw failed('Invalid log level.')
    environment().log?.(args.slice(1).map(tostring).join(' '))
    return NONE
  },
  pcall (/** @type {Value[]} */ ...args) {
    try {
      return fromReply(environment().call(commandOf(args)))
    } catch (error) {
      if (error instanceof LuaError) return error.value
      throw error
    }
  },
  sha1hex (/** @type {Value[]} */ ...args) {
    if (args.length !== 1) throw failed('wrong number of arguments')
    return createHash('sha1').update(typeof args[0] === 'number' ? tostring(args[0]) : typeof args[0] === 'string' ? args[0] : '', 'latin1').digest('hex')
  },
  status_reply: (/** @type {Value[]} */ ...args) => reply(args, 'ok'),
  REDIS_VERSION: VERSION,
  ...Object.fromEntries(LEVELS.map((name, level) => [name, level]))
})
