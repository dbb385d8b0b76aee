import { isLoopbackHost } from './host-name.js'

/** Headers of proxies. A request with any of them comes from elsewhere, also over loopback. */
const OF_PROXIES = [
  'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port', 'x-forwarded-server',
  'x-forwarded-by', 'x-real-ip', 'x-client-ip', 'x-cluster-client-ip', 'x-original-forwarded-for', 'true-client-ip',
  'cf-connecting-ip', 'fastly-client-ip', 'fly-client-ip', 'x-envoy-external-address', 'via'
]

/**
 * @param {Record<string, unknown>} headers by lower-case name
 * @returns {boolean} whether a proxy has passed the request on
 */
export const isForwarded = (headers) => OF_PROXIES.some((name) => headers[name] !== undefined)

/**
 * Requests of programs on this machine, and of pages that this machine serves to itself. A request that a proxy
 * forwards is not local, nor is one of a page whose name points to this machine, nor one of a page of another site.
 */

/** @param {import('node:http').IncomingMessage} req @returns {boolean} */
export function isLocalRequest ({ socket, headers }) {
  const address = socket.remoteAddress?.replace(/^::ffff:/, '') ?? ''
  return (
    (address.startsWith('127.') || address === '::1') &&
    isLoopbackHost(headers.host ?? '') &&
    !isForwarded(headers) &&
    !isOfAnotherSite(headers)
  )
}

/**
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @returns {boolean} whether a page of another site sent it
 */
function isOfAnotherSite ({ 'sec-fetch-site': site, origin, host }) {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`
}
