import { networkInterfaces } from 'node:os'

/** Maximum addresses: a machine with containers has many. */
const MAX = 3

/**
 * Addresses under which other machines of the network reach this port.
 *
 * @param {object} listener
 * @param {string} listener.host HOST
 * @param {string} listener.scheme
 * @param {number | undefined} listener.port
 * @param {typeof networkInterfaces} [interfaces]
 * @returns {string[]} none if the gateway listens on this machine only
 */
export function phoneUrls ({ host, scheme, port }, interfaces = networkInterfaces) {
  if (/^(127\.|::1$|localhost$)/.test(host)) return []
  const addresses = host === '0.0.0.0' || host === '::'
    ? Object.values(interfaces()).flatMap((list) => list ?? [])
        .filter(({ family, internal }) => family === 'IPv4' && !internal)
        .map(({ address }) => address)
    : [host.includes(':') ? `[${host}]` : host]
  return addresses.slice(0, MAX).map((address) => `${scheme}://${address}:${port}`)
}
