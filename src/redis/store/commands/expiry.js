import { ErrorReply } from '../resp/replies.js'
import { NOT_INTEGER, readInteger } from '../numbers.js'

const MOST = 2n ** 63n - 1n

/**
 * @param {import('../keyspace.js').Keyspace} keyspace
 * @param {string} text seconds
 * @param {string} command for the error; SET refuses 0 and less
 * @returns {number} ms since 1970
 */
export function expiryTime ({ now }, text, command) {
  const value = readInteger(text)
  if (value === undefined) throw new ErrorReply(NOT_INTEGER)
  const ms = BigInt(value) * 1000n
  const at = ms + BigInt(now)
  if (at > MOST || ms < -MOST - 1n || (command === 'set' && value <= 0))
    throw new ErrorReply(`ERR invalid expire time in '${command}' command`)
  return Number(at)
}
