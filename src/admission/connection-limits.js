import { createAddressOf, proxyList } from './address.js'

/**
 * How many connections a worker takes: all together, so that descriptors are left for what it needs itself, and from
 * one address. (Those of one user are counted in users.js, once it is known who that is.)
 *
 * A client beyond them is refused with 503 when it begins a session; sessions that are there go on, also with polls
 * over new connections. Only where the reserve itself is in danger are connections closed without a word. Why:
 * docs/decisions/0092-connections.md
 */

/**
 * Of the reserve, connections that are only told to come back take no more than this, and a hundredth of
 * MAX_CONNECTIONS.
 */
const REFUSED_AT_ONCE = 24
const REFUSED_SHARE = 0.01

const kSlot = Symbol('slot')

/** @typedef {{ held: boolean, release: () => void }} Slot of an address */

/**
 * @param {object} dependencies
 * @param {Readonly<{ maxConnections: number, maxConnectionsPerAddress: number }>} dependencies.limits
 * @param {readonly string[]} dependencies.trustedProxies
 * @param {() => number} dependencies.open connections that our listeners have accepted and that are not closed yet
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
   * Sessions, and requests that may begin one, by address; empty where they are not counted.
   * @type {Map<string, number>}
   */
  const addresses = new Map()

  /** Those that another worker handed over: no listener of ours has accepted them. */
  let adopted = 0
  const count = () => open() + adopted

  metrics.onCollect(() => metrics.sockets.set(count()))

  /** @param {string} address @returns {Slot} */
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
    /** @param {import('net').Server} server all of whose connections come here, whoever accepted them */
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
     * @param {any} req that is about to begin a session
     * @param {any} socket
     * @param {import('http').ServerResponse | undefined} res absent: an upgrade
     * @returns {boolean} false: it is to be refused
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
      /** @type {Slot} */
      const slot = (req[kSlot] = take(address))
      // no session may come of it
      ;(res ?? socket).once('close', () => {
        if (!slot.held) slot.release()
      })
      return true
    },

    /** @param {any} conn Engine.IO's socket, new */
    opened (conn) {
      /** @type {Slot | undefined} */
      const slot = conn.request?.[kSlot]
      if (slot === undefined) return
      slot.held = true
      conn.once('close', slot.release)
    }
  }
}
