import { BlockList, isIP } from 'node:net'

/**
 * The address of a request's client: the peer of its connection, or the address that a trusted proxy reports.
 */

/** IPv4-mapped IPv6 address. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
/** Groups of an IPv6 address that identify a client: each one has a network of 64 bits. */
const GROUPS = 4

/**
 * @param {readonly string[]} entries addresses and networks, as `10.0.0.0/8`
 * @returns {BlockList}
 * @throws {Error} if an entry is neither
 */
export function proxyList (entries) {
  const list = new BlockList()
  for (const entry of entries) {
    const [address, prefix] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

/**
 * @param {BlockList} proxies whose `X-Forwarded-For` is trusted
 * @returns {(peer: string | undefined, forwardedFor: string | undefined) => string} identifies
 *   one client; '' if there is none
 */
export function createAddressOf (proxies) {
  const isProxy = (/** @type {string} */ address) => proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return (peer, forwardedFor) => {
    let address = plain(peer ?? '')
    // From the last address, which the nearest proxy has seen itself, to the first one that is not a trusted proxy.
    const before = forwardedFor?.split(',') ?? []
    while (before.length > 0 && isIP(address) !== 0 && isProxy(address)) {
      const next = plain(/** @type {string} */ (before.pop()).trim())
      if (isIP(next) === 0) break
      address = next
    }
    return isIP(address) === 6 ? networkOf(address) : address
  }
}

/** @param {string} address */
const plain = (address) => MAPPED.exec(address)?.[1] ?? address

/** @param {string} address IPv6 @returns {string} its first 64 bits */
function networkOf (address) {
  const [head, tail] = address.split('%')[0].split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 2 * GROUPS) groups.push('0')
    groups.push(...rest)
  }
  return `${groups.slice(0, GROUPS).map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
