import { createAddressOf, proxyList } from './address.js'

/**
 * Limits of a worker's connections: in total, so that descriptors remain for its own needs, and per address. (The limit
 * per user is in gateway/handshake.js: it needs the token.)
 *
 * Above a limit a new session is refused with 503; existing sessions continue, also with polls over new connections.
 * Only when the reserve of descriptors runs out are connections closed without a response.
 * Why: docs/decisions/0092-connections.md
 */

/**
 * Connections above MAX_CONNECTIONS that are accepted only to be refused: this number plus a share of MAX_CONNECTIONS.
 */
const REFUSED_AT_ONCE = 24
const REFUSED_SHARE = 0.01

const kClaim = Symbol('claim')

/** @typedef {{ held: boolean, release: () => void }} Claim one connection, counted for its address */

/**
 * @param {object} dependencies
 * @param {Readonly<{ maxConnections: number, maxConnectionsPerAddress: number }>} dependencies.limits
 * @param {readonly string[]} dependencies.trustedProxies
 * @param {() => number} dependencies.open open connections that this worker's listeners accepted
 * @param {import('../metrics/metrics.js').Metrics} dependencies.metrics
 */
export function createConnectionLimits ({
  limits: { maxConnections, maxConnectionsPerAddress },
  trustedProxies,
  open,
  metrics
}) {
  const last = maxConnections + REFUSED_AT_ONCE + Math.floor(REFUSED_SHARE * maxConnections)
  const addressOf = createAddressOf(proxyList(trustedProxies))
  /**
   * Sessions, and requests that may begin one, by address; empty without a limit per address.
   * @type {Map<string, number>}
   */
  const addresses = new Map()

  /** Connections that another worker handed over: this worker's listeners did not accept them. */
  let adopted = 0
  const count = () => open() + adopted

  metrics.onCollect(() => metrics.sockets.set(count()))

  /** @param {string} address @returns {Claim} */
  function take (address) {
    addresses.set(address, (addresses.get(address) ?? 0) + 1)
    let taken = true
    return {
      held: false,
      release () {
        if (!taken) return
        taken = false
        const count = /** @type {number} */ (addresses.get(address)) - 1
        if (count === 0) addresses.delete(address)
        else addresses.set(address, count)
      }
    }
  }

  return {
    /** @param {import('net').Server} server that gets all connections, handed-over ones included */
    watch (server) {
      server.prependListener('connection', (socket) => {
        if (/** @type {any} */ (socket)._server == null) {
          adopted++
          socket.once('close', () => {
            adopted--
          })
        }
        if (count() <= last) return
        metrics.connections_refused.inc({ reason: 'descriptors' })
        socket.destroy()
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
      if (maxConnectionsPerAddress === 0) return true
      const address = addressOf(socket.remoteAddress, req.headers['x-forwarded-for'])
      if ((addresses.get(address) ?? 0) >= maxConnectionsPerAddress) {
        metrics.connections_refused.inc({ reason: 'address' })
        return false
      }
      /** @type {Claim} */
      const claim = (req[kClaim] = take(address))
      // The request may end without a session.
      ;(res ?? socket).once('close', () => {
        if (!claim.held) claim.release()
      })
      return true
    },

    /** @param {any} conn Engine.IO's socket, new */
    opened (conn) {
      /** @type {Claim | undefined} */
      const claim = conn.request?.[kClaim]
      if (claim === undefined) return
      claim.held = true
      conn.once('close', claim.release)
    }
  }
}
