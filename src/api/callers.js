import { createHash, timingSafeEqual } from 'node:crypto'
import { InkcastError } from '../common/errors.js'
import { isLoopbackHost } from '../process/host-name.js'

/** The `x-source` without tokens: a caller on this machine. */
const LOCAL = 'local'

const digest = (/** @type {string} */ token) => createHash('sha256').update(token).digest()

/**
 * Who calls the api, by `Authorization: Bearer <token>`.
 *
 * @param {readonly string[]} tokens config.api.tokens: `name:token`. One name may have several, to change them without
 *   a gap
 */
export function createCallers (tokens) {
  const known = tokens.map((entry) => {
    const at = entry.indexOf(':')
    return { name: entry.slice(0, at), digest: digest(entry.slice(at + 1)) }
  })

  return {
    /** Whether callers need a token; otherwise only those on this machine are served. */
    needToken: known.length > 0,

    /**
     * @param {string | undefined} authorization the header's value
     * @returns {string} the caller's name
     * @throws {InkcastError} unauthorized
     */
    byToken (authorization) {
      const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      if (token === undefined)
        throw new InkcastError('unauthorized', 'the header authorization: Bearer <token> is needed')
      // Hashes have one length and no common beginnings, and all of them are compared: the time tells nothing.
      const given = digest(token)
      const matches = known.filter((caller) => timingSafeEqual(caller.digest, given))
      if (matches.length === 0) throw new InkcastError('unauthorized', 'the token is not one of API_TOKENS')
      return matches[0].name
    },

    /**
     * For when no tokens are set (development): the caller must be a program on this machine. The address alone does
     * not say that, because a browser on this machine runs other people's pages. Those send an `Origin` or
     * `Sec-Fetch-Site` with what they may send across origins, and where they had the name of their server point to
     * this machine (DNS rebinding), their `Host` is that name. A proxy on this machine passes on strangers.
     *
     * @param {{ address: string | undefined, headers: Record<string, unknown> }} request headers by lower-case name
     * @returns {string} the caller's name
     * @throws {InkcastError} forbidden, origin_refused
     */
    onThisMachine ({ address, headers }) {
      const { host, origin, forwarded } = headers
      const site = headers['sec-fetch-site'] ?? 'none'
      if (!isLoopback(address) || forwarded !== undefined || headers['x-forwarded-for'] !== undefined) {
        throw new InkcastError('forbidden', 'API_TOKENS is not set: only callers on this machine are served')
      }
      if (origin !== undefined || (site !== 'none' && site !== 'same-origin')) {
        throw new InkcastError('origin_refused', 'API_TOKENS is not set: pages in a browser are not served')
      }
      if (typeof host !== 'string' || !isLoopbackHost(host)) {
        throw new InkcastError('forbidden', 'API_TOKENS is not set: the host must be localhost or a loopback address')
      }
      return LOCAL
    }
  }
}

/** @param {string | undefined} address */
const isLoopback = (address = '') => address === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(address)
