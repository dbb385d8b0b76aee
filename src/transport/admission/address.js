import { BlockList, isIP } from 'node:net'

/**
 * The address of a request's client: the peer of its connection, or the address that a trusted proxy reports.
 */

/** IPv4-mapped IPv6 addresses, with the last 32 bits as IPv4 or as two groups. */
const MAPPED = /^(?:0{0,4}:){2,5}:?ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i
/** `1.2.3.4:80` */
const V4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/
/** `[2001:db8::1]`, `[2001:db8::1]:80` */
const BRACKETED = /^\[([^\]]+)\](?::\d{1,5})?$/
/** Proxies that are remembered as trusted; others are looked up each time. */
const MAX_KNOWN = 256
/** Groups of an IPv6 address that identify a client: each one has a network of 64 bits. */
const GROUPS = 4

/**
 * Networks of which no client of the internet can be: such a peer is a proxy, or on the same network. 127/8, 10/8,
 * 192.168/16, 169.254/16, 172.16/12, 100.64/10, ::1, fe80::/10, fc00::/7. A pattern, because every handshake asks:
 * Node's BlockList makes two objects for each question, a tenth of the time of a handshake.
 */
const PRIVATE = /^(?:(?:::ffff:)?(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.|::1$|fe[89ab][\da-f]:|f[cd][\da-f]{2}:)/i

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

/** @param {BlockList} list @param {string} address @returns {boolean} */
const has = (list, address) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/**
 * @param {string | undefined} peer of a connection
 * @returns {boolean} whether it is private, on loopback, or not known
 */
export function isPrivate (peer) {
  // The usual form needs no reading.
  if (peer !== undefined && PRIVATE.test(peer)) return true
  const address = plain(peer ?? '')
  return address === '' || PRIVATE.test(address)
}

/**
 * @param {BlockList} proxies whose `X-Forwarded-For` is trusted
 * @returns {(peer: string | undefined, forwardedFor: string | undefined) => string} identifies
 *   one client, of IPv6 by its network; '' if there is none
 */
export function createAddressOf (proxies) {
  const wholeOf = createWholeAddressOf(proxies)
  return (peer, forwardedFor) => {
    const address = wholeOf(peer, forwardedFor)
    return isIP(address) === 6 ? networkOf(address) : address
  }
}

/**
 * @param {BlockList} proxies whose `X-Forwarded-For` is trusted
 * @returns {(peer: string | undefined, forwardedFor: string | undefined) => string} the whole address; '' if there is
 *   none
 */
export function createWholeAddressOf (proxies) {
  /** Peers of connections that are trusted. Every handshake asks, and a BlockList takes long. @type {Set<string>} */
  const known = new Set()

  /** @param {string} address @returns {boolean} */
  function isTrusted (address) {
    if (known.has(address)) return true
    if (!has(proxies, address)) return false
    if (known.size < MAX_KNOWN) known.add(address)
    return true
  }

  return (peer, forwardedFor) => {
    let address = plain(peer ?? '')
    // From the last address, which the nearest proxy has seen itself, to the first one that is not a trusted proxy.
    const before = forwardedFor?.split(',') ?? []
    while (before.length > 0 && address !== '' && isTrusted(address)) {
      const next = plain(/** @type {string} */ (before.pop()))
      if (next === '') break
      address = next
    }
    return address
  }
}

/**
 * Reads an address as proxies write it: with a port (Azure), in brackets, quoted, with a zone, or mapped to IPv6.
 * @param {string} text
 * @returns {string} without all that; '' if it is no address
 */
function plain (text) {
  const bare = text.trim().replace(/^"(.*)"$/, '$1').trim()
  const [address] = (V4_WITH_PORT.exec(bare)?.[1] ?? BRACKETED.exec(bare)?.[1] ?? bare).split('%')
  if (isIP(address) !== 6) return isIP(address) === 0 ? '' : address
  const [, v4, high, low] = MAPPED.exec(address) ?? []
  if (high === undefined) return v4 ?? address
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`
}

/** @param {string} address IPv6 @returns {string} its first 64 bits */
function networkOf (address) {
  const [head, tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 2 * GROUPS) groups.push('0')
    groups.push(...rest)
  }
  return `${groups.slice(0, GROUPS).map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
