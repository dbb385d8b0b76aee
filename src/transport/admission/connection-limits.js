import { createAddressOf, isPrivate, proxyList } from './address.js'

/**
 * Connections above MAX_CONNECTIONS that are accepted only to be refused: this number plus a share of MAX_CONNECTIONS.
 */
const REFUSED_AT_ONCE = 24
const REFUSED_SHARE = 0.01

/** Property of a request: the emitter of its end. */
const kEnd = Symbol('end')
/** Property of that end, then of a session: the address for which it is counted. */
const kAddress = Symbol('address')

/**
 * Limits of a worker's connections: in total, so that descriptors remain for its own needs, and per address. (The limit
 * per user is in gateway/session-owners.js: it needs the token.)
 *
 * Above a limit a new session is refused with 503; existing sessions continue, also with polls over new connections.
 * Only when the reserve of descriptors runs out are connections closed without a response: first those above the limit
 * that have sent nothing, oldest first, so that silent ones do not take the place of clients that wait for a response.
 * Why: docs/internals/decisions/0090-limits-of-clients.md
 */
export class ConnectionLimits {
  /**
   * Sessions, and requests that may begin one, by address; empty without a limit per address. Numbers, and no listener
   * per session: every connection is counted.
   * @type {Map<string, number>}
   */
  #addresses = new Map()
  /** Connections that another worker handed over: this worker's listeners did not accept them. */
  #adopted = 0
  /** Connections above maxConnections that had sent nothing when looked at last. @type {Set<import('net').Socket>} */
  #silent = new Set()
  #warned = false
  /** The request has ended without a session; `this`: the request, or the socket of an upgrade. */
  #onEnd

  /**
   * @param {object} dependencies
   * @param {Readonly<{ maxConnections: number, maxConnectionsPerAddress: number }>} dependencies.limits
   * @param {readonly string[]} dependencies.trustedProxies
   * @param {boolean} dependencies.production
   * @param {() => number} dependencies.open open connections that this worker's listeners accepted
   * @param {import('../../observe/metrics/metrics.js').Metrics} dependencies.metrics
   * @param {import('../../base/common/log.js').Log} dependencies.log
   */
  constructor ({ limits, trustedProxies, production, open, metrics, log }) {
    this.limits = limits
    this.trustsProxies = trustedProxies.length > 0
    this.production = production
    this.open = open
    this.metrics = metrics
    this.log = log
    this.addressOf = createAddressOf(proxyList(trustedProxies))
    const release = (/** @type {any} */ counted) => this.ended(counted)
    this.#onEnd = /** @this {any} */ function () { release(this) }
    metrics.onCollect(() => metrics.sockets.set(this.#total))
  }

  get #total () { return this.open() + this.#adopted }

  /** @param {string} address @returns {number} its sessions, and its requests that may begin one */
  count (address) { return this.#addresses.get(address) ?? 0 }

  /** Addresses that are counted. */
  get addresses () { return this.#addresses.size }

  /** @param {import('net').Server} server that gets all connections, handed-over ones included */
  watch (server) {
    const { maxConnections } = this.limits
    const last = maxConnections + REFUSED_AT_ONCE + Math.floor(REFUSED_SHARE * maxConnections)
    server.prependListener('connection', (socket) => {
      const isAdopted = /** @type {any} */ (socket)._server == null
      if (isAdopted) {
        this.#adopted++
        socket.once('close', () => { this.#adopted-- })
      }
      const open = this.#total
      if (open <= maxConnections) return
      // a connection that was handed over has sent its request to the other worker
      if (!isAdopted) {
        this.#silent.add(socket)
        socket.once('close', () => this.#silent.delete(socket))
      }
      if (open <= last) return
      this.metrics.connections_refused.inc({ reason: 'descriptors' })
      ;(this.#oldestSilent() ?? socket).destroy()
    })
  }

  /** @returns {import('net').Socket | undefined} the oldest of them that has still sent nothing */
  #oldestSilent () {
    for (const socket of this.#silent) {
      this.#silent.delete(socket)
      if (socket.bytesRead === 0 && !socket.destroyed) return socket
    }
    return undefined
  }

  /**
   * @param {any} req for a new session
   * @param {any} socket
   * @param {import('http').ServerResponse | undefined} res absent: an upgrade
   * @returns {boolean} false: refuse it
   */
  admits (req, socket, res) {
    if (this.#total > this.limits.maxConnections) {
      this.metrics.connections_refused.inc({ reason: 'worker' })
      return false
    }
    if (!this.#counts(req, socket)) return true
    const address = this.addressOf(socket.remoteAddress, req.headers['x-forwarded-for'])
    const count = this.count(address)
    if (count >= this.limits.maxConnectionsPerAddress) {
      this.metrics.connections_refused.inc({ reason: 'address' })
      return false
    }
    this.#addresses.set(address, count + 1)
    // Node does not tell of the end of a response that was still queued behind others of the connection.
    const end = res === undefined ? socket : req
    end[kAddress] = address
    end.once('close', this.#onEnd)
    req[kEnd] = end
    return true
  }

  /**
   * Without a trusted proxy a private peer does not count: it may be a proxy, and all its clients would be one.
   * @param {any} req @param {any} socket
   * @returns {boolean} whether the address of its client is counted
   */
  #counts (req, socket) {
    if (this.limits.maxConnectionsPerAddress === 0) return false
    if (this.trustsProxies || !isPrivate(socket.remoteAddress)) return true
    // In development everything is on one machine.
    if (!this.#warned && (this.production || req.headers['x-forwarded-for'] !== undefined)) {
      this.#warned = true
      this.log.warn(
        `a client has the private address ${socket.remoteAddress}, as behind a proxy: such clients do not count for ` +
        'MAX_CONNECTIONS_PER_ADDRESS. Set TRUSTED_PROXIES to the addresses of the proxies'
      )
    }
    return false
  }

  /** @param {any} session Engine.IO's socket, new */
  opened (session) {
    const end = session.request?.[kEnd]
    if (end === undefined) return
    session.request[kEnd] = undefined
    end.off('close', this.#onEnd)
    session[kAddress] = end[kAddress]
    end[kAddress] = undefined
  }

  /** @param {any} counted a session that has ended, or the end of a request without one; may be called again */
  ended (counted) {
    /** @type {string | undefined} */
    const address = counted[kAddress]
    if (address === undefined) return
    counted[kAddress] = undefined
    const count = this.count(address) - 1
    if (count === 0) this.#addresses.delete(address)
    else this.#addresses.set(address, count)
  }
}
