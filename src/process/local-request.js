import { isLoopbackHost } from './host-name.js'

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
    headers.forwarded === undefined &&
    headers['x-forwarded-for'] === undefined &&
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
