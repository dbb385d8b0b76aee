/**
 * Checks of the `Host` header. A page can point the name of its own server to this machine (DNS rebinding); the browser
 * then treats the gateway's answers as that server's, and only `Host` still shows the name.
 */

/** @param {string} host with or without a port @returns {boolean} */
export const isLoopbackHost = (host) => /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i.test(host)

/** An origin whose pages are on the visitor's own machine. @param {string} origin @returns {boolean} */
export const isLoopbackOrigin = (origin) =>
  /^https?:\/\/(?:(?:[a-z0-9-]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i.test(origin)

/** An IPv4 address, or a name that cannot exist in the public DNS (RFC 6761, 6762, ICANN's `internal`). */
const PRIVATE_NAME = /^(?:\d+\.\d+\.\d+\.\d+|.*\.(?:localhost|local|internal|test)\.?)$/i

/**
 * @param {string | undefined} host with or without a port
 * @returns {boolean} whether the name may be in the public DNS: it is not this machine, a private network or an address
 */
export function isPublicName (host) {
  if (host === undefined || host.startsWith('[')) return false
  const name = host.replace(/:\d*$/, '')
  return name.includes('.') && !PRIVATE_NAME.test(name)
}
