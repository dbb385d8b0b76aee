import { InkcastError } from '../../../base/common/errors.js'
import { isLoopbackHost, isPublicName } from '../../../base/process/host-name.js'
import { isForwarded } from '../../../base/process/local-request.js'

/** The `x-source` of a caller on this machine, when no callers are set. */
export const LOCAL = 'local'

/**
 * For when no callers are set (development): the caller must be a program on this machine. The address alone does
 * not say that, because a browser on this machine runs other people's pages. Those send an `Origin` or
 * `Sec-Fetch-Site` with what they may send across origins, and where they had the name of their server point to
 * this machine (DNS rebinding), their `Host` is that name. The api's own page is the only one of its origin. A proxy
 * on this machine passes on strangers.
 *
 * @param {{ address: string | undefined, headers: Record<string, unknown> }} request headers by lower-case name; of
 *   gRPC, `host` is the `:authority`
 * @throws {InkcastError} forbidden, origin_refused
 */
export function checkOnThisMachine ({ address, headers }) {
  const { host, origin } = headers
  const site = headers['sec-fetch-site'] ?? 'none'
  if (!isLoopback(address) || isForwarded(headers))
    throw new InkcastError('forbidden', 'API_TOKENS is not set: only callers on this machine are served')
  if ((origin !== undefined && !isOrigin(origin, host)) || (site !== 'none' && site !== 'same-origin'))
    throw new InkcastError('origin_refused', 'API_TOKENS is not set: pages in a browser are not served')
  if (typeof host !== 'string' || !isLoopbackHost(host)) {
    throw new InkcastError('forbidden', 'API_TOKENS is not set: the host must be localhost or a loopback address')
  }
}

/**
 * For development, where tokens may be known to everyone (docker-compose.yml has one): a page whose name points to this
 * machine (DNS rebinding) sends what it likes, but its `Host` is that name.
 * @param {unknown} host
 * @throws {InkcastError} forbidden
 */
export function checkName (host) {
  if (typeof host === 'string' && isPublicName(host))
    throw new InkcastError('forbidden', 'not under this name: use an address, or NODE_ENV=production')
}

/** @param {unknown} origin @param {unknown} host @returns {boolean} whether a page of the api itself sent it */
const isOrigin = (origin, host) =>
  typeof host === 'string' && isLoopbackHost(host) && (origin === `http://${host}` || origin === `https://${host}`)

/** @param {string | undefined} address */
const isLoopback = (address = '') => address === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(address)
