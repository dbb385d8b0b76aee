import { Double, ErrorReply, MapReply, NullArray, Status, Verbatim } from '../resp/replies.js'
import { library } from './library.js'
import { printGeneral } from './numbers.js'
import { LuaTable } from './table.js'
import { LuaError, running } from './values.js'

/** @typedef {import('./table.js').Value} Value */
/** @typedef {import('../resp/replies.js').Reply} Reply */

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
  if (reply instanceof Double) return printGeneral(reply.value, 17)
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
  const [err, ok] = [value.get('err'), value.get('ok')]
  if (typeof err === 'string') return new ErrorReply(oneLine(err))
  if (typeof ok === 'string') return new Status(ok)
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
    if (typeof arg === 'number') return printGeneral(arg, 17)
    throw failed('Lua redis lib command arguments must be strings or integers')
  })
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
  error_reply (/** @type {Value[]} */ ...args) {
    if (args.length !== 1 || typeof args[0] !== 'string') return tableWith('err', 'ERR wrong number or type of arguments')
    const [, code = 'ERR', message] = /** @type {string[]} */ (/^-?(?:([^ ]*) )?([^]*)$/.exec(args[0].split('\0')[0]))
    return tableWith('err', `${code} ${message.replace(/^[\r\n]+|[\r\n]+$/g, '')}`)
  },
  pcall (/** @type {Value[]} */ ...args) {
    try {
      return fromReply(environment().call(commandOf(args)))
    } catch (error) {
      if (error instanceof LuaError) return error.value
      throw error
    }
  }
})
