import { badRequest } from '../common/error.js'
import { utf8Length } from '../common/utf8.js'

/** Maximum size of a token in a handshake, bytes. */
const MAX_TOKEN = 16_386

/**
 * @param {unknown} token
 * @returns {string | undefined}
 * @throws {ClientError} bad_request
 */
export function checkToken (token) {
  if (token == null) return undefined
  // a larger handshake would be cut off before the gateway can answer
  if (typeof token === 'string' && utf8Length(JSON.stringify(token)) <= MAX_TOKEN) return token
  throw badRequest('a token must be a string of at most 16 KB')
}
