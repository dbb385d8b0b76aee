import { InkcastError } from '../../base/common/errors.js'

/**
 * Parts of a token that is not verified yet, only to choose the key that verifies it.
 */

/**
 * @param {string} token
 * @returns {{ kid: string | undefined, alg: string }}
 * @throws {InkcastError} unauthorized
 */
export function readHeader (token) {
  try {
    const { kid, alg } = part(token, 0)
    if (typeof alg === 'string' && (kid === undefined || (typeof kid === 'string' && kid.length <= 256)))
      return { kid, alg }
  } catch {}
  throw notWellFormed()
}

/**
 * @param {string} token
 * @returns {unknown} claim `iss`
 * @throws {InkcastError} unauthorized
 */
export function readIssuer (token) {
  try {
    return part(token, 1).iss
  } catch {
    throw notWellFormed()
  }
}

/** @param {string} token @param {0 | 1} index */
const part = (token, index) => JSON.parse(Buffer.from(token.split('.', 2)[index], 'base64url').toString())

const notWellFormed = () => new InkcastError('unauthorized', 'the token is not a well formed JWT')
