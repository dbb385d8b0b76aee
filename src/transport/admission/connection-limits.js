import { createAddressOf, isPrivate, proxyList } from './address.js'

/**
 * Limits of a worker's connections: in total, so that descriptors remain for its own needs, and per address. (The limit
 * per user is in gateway/handshake.js: it needs the token.)
 *
 * Above a limit a new session is refused with 503; existing sessions continue, also with polls over new connections.
 * Only when the reserve of descriptors runs out are connections closed without a response: first those above the limit
 * that have sent nothing, oldest first, so that silent ones do not take the place of clients that wait for a response.
 * Why: docs/decisions/0090-limits-of-clients.md
 */

/**
 * Connections above MAX_CONNECTIONS that are accepted only to be refused: this number plus a share of MAX_CONNECTIONS.
 */
const REFUSED_AT_ONCE = 24
const REFUSED_SHARE = 0.01

/** Property of a request: the emitter of its end. */
const kEnd = Symbol('end')
/** Property of that end, then of a session: the address for which it is counted. */
const kAddress = Symbol('address')

/** @typedef {ReturnType<typeof createConnectionLimits>} ConnectionLimits */

/**
 * @param {object} dependencies
 * @param {Readonly<{ maxConnections: number, maxConnectionsPerAddress: number }>} dependencies.limits
 * @param {readonly string[]} dependencies.trustedProxies
 * @param {boolean} dependencies.production
 * @param {() => number} dependencies.open open connections that this worker's listeners accepted
 * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../base/common/log.js').Log} dependencies.log
 */
export function createConnectionLimits ({
  limits: { maxConnections, maxConnectionsPerAddress },
  trustedProxies,
  production,
  open,
  metrics, log
}) {
  const last = maxConnections + REFUSED_AT_ONCE + Math.floor(REFUSED_SHARE * maxConnections)
  const addressOf = createAddressOf(proxyList(trustedProxies))
  /**
   * Sessions, and requests that may begin one, by address; empty without a limit per address. Numbers, and no listener
   * per session: every connection is counted.
   * @type {Map<string, number>}
   */
  const addresses = new Map()

  /** Connections that another worker handed over: this worker's listeners did not accept them. */
  let adopted = 0
  const count = () => open() + adopted

  /** Connections above maxConnections that had sent nothing when they were looked at last, oldest first. */
  const silent = /** @type {Set<import('net').Socket>} */ (new Set())

  /** @returns {import('net').Socket | undefined} the oldest of them that has still sent nothing */
  function oldestSilent () {
    for (const socket of silent) {
      silent.delete(socket)
      if (socket.bytesRead === 0 && !socket.destroyed) return socket
    }
    return undefined
  }

  metrics.onCollect(() => metrics.sockets.set(count()))

  let warned = false

  /**
   * Without a trusted proxy a private peer does not count: it may be a proxy, and all its clients would be one.
   * @param {any} req @param {any} socket
   * @returns {boolean} whether the address of its client is counted
   */
  function counts (req, socket) {
    if (maxConnectionsPerAddress === 0) return false
    if (trustedProxies.length > 0 || !isPrivate(socket.remoteAddress)) return true
    // In development everything is on one machine.
    if (!warned && (production || req.headers['x-forwarded-for'] !== undefined)) {
      warned = true
      log.warn(
        `a client has the private address ${socket.remoteAddress}, as behind a proxy: such clients do not count for MAX_CONNECTIONS_PER_ADDRESS. Set TRUSTED_PROXIES to the addresses of the proxies`
      )
    }
    return false
  }

  /** @param {any} counted the end of a request, or a session; released once */
  function release (counted) {
    /** @type {string | undefined} */
    const address = counted[kAddress]
    if (address === undefined) return
    counted[kAddress] = undefined
    const count = /** @type {number} */ (addresses.get(address)) - 1
    if (count === 0) addresses.delete(address)
    else addresses.set(address, count)
  }

  /** The request has ended without a session. @this {any} the request, or the socket of an upgrade */
  function onEnd () { release(this) }

  return {
    /** @param {string} address @returns {number} its sessions, and its requests that may begin one */
    count: (address) => addresses.get(address) ?? 0,

    /** Addresses that are counted. */
    get addresses () { return addresses.size },

    /** @param {import('net').Server} server that gets all connections, handed-over ones included */
    watch (server) {
      server.prependListener('connection', (socket) => {
        const isAdopted = /** @type {any} */ (socket)._server == null
        if (isAdopted) {
          adopted++
          socket.once('close', () => {
            adopted--
          })
        }
        const open = count()
        if (open <= maxConnections) return
        // a connection that was handed over has sent its request to the other worker
        if (!isAdopted) {
          silent.add(socket)
          socket.once('close', () => silent.delete(socket))
        }
        if (open <= last) return
        metrics.connections_refused.inc({ reason: 'descriptors' })
        ;(oldestSilent() ?? socket).destroy()
      })
    },

    /**
     * @param {any} req for a new session
     * @param {any} socket
     * @param {import('http').ServerResponse | undefined} res absent: an upgrade
     * @returns {boolean} false: refuse it
     */
    admits (req, socket, res) {
      if (count() > maxConnections) {
        metrics.connections_refused.inc({ reason: 'worker' })
        return false
      }
      if (!counts(req, socket)) return true
      const address = addressOf(socket.remoteAddress, req.headers['x-forwarded-for'])
      if ((addresses.get(address) ?? 0) >= maxConnectionsPerAddress) {
        metrics.connections_refused.inc({ reason: 'address' })
        return false
      }
      addresses.set(address, (addresses.get(address) ?? 0) + 1)
      // Node does not tell of the end of a response that was still queued behind others of the connection.
      const end = res === undefined ? socket : req
      end[kAddress] = address
      end.once('close', onEnd)
      req[kEnd] = end
      return true
    },

    /** @param {any} session Engine.IO's socket, new */
    opened (session) {
      const end = session.request?.[kEnd]
      if (end === undefined) return
      session.request[kEnd] = undefined
      end.off('close', onEnd)
      session[kAddress] = end[kAddress]
      end[kAddress] = undefined
    },

    /** @param {any} session that has ended; may be called again */
    ended: release
  }
}
