import { InkcastError } from '../base/common/errors.js'
import { kOwner } from '../transport/engine/link.js'
import { assertMayAct } from './handlers/standing.js'
import { kConnection } from './socketio-connection.js'

/**
 * The connection that owns a session (Engine.IO's socket), and its user: registered when the client is admitted, and
 * released if the session ends before the client is connected.
 *
 * @typedef {import('socket.io').Socket} Socket
 * @typedef {import('./socketio-connection.js').SocketIoConnection} Connection
 * @typedef {import('../people/auth/identity.js').Identity} Identity
 *
 * @typedef {Pick<Socket, 'id' | 'conn' | 'handshake'> & { exclusive?: boolean }} Admitted the part of a client that its
 *   admission uses; exclusive: as of its connection
 *
 * @typedef {object} Registration
 * @property {Promise<void>} done of LocalUsers
 * @property {Connection | undefined} of undefined: it has ended
 *
 * @typedef {object} Rights what clients may do on this worker
 * @property {ReturnType<typeof import('../documents/access.js').createAccess>} access
 * @property {() => boolean} mayAct whether clients may use their rights now (people/workers/standing.js)
 * @property {Pick<import('./login.js').Login, 'endedBy'>} login
 */
export class SessionOwners {
  #users
  #directory
  #maxPerUser
  #rights
  #metrics
  /** Listeners to the end of sessions that have several namespaces. @type {WeakMap<Connection, () => void>} */
  #releases = new WeakMap()
  /** Of connections that are connected already. @type {WeakMap<Connection, Registration>} */
  #registrations = new WeakMap()
  /** The listener of all others. @type {(this: any) => void} */
  #release

  /**
   * @param {object} dependencies
   * @param {import('./local-users.js').LocalUsers} dependencies.users
   * @param {Pick<import('./directory.js').Directory, 'user'>} dependencies.directory
   * @param {number} dependencies.maxPerUser connections; 0: any number
   * @param {Pick<Rights, 'mayAct' | 'login'> & { access: Pick<Rights['access'], 'isBanned' | 'orders'> }}
   *   dependencies.rights
   * @param {import('../observe/metrics/metrics.js').Metrics} dependencies.metrics
   */
  constructor ({ users, directory, maxPerUser, rights, metrics }) {
    this.#users = users
    this.#directory = directory
    this.#maxPerUser = maxPerUser
    this.#rights = rights
    this.#metrics = metrics
    this.#release = function () { users.release(this[kOwner].uid) }
  }

  /**
   * Registers the user of a new connection.
   * @param {Pick<Admitted, 'conn' | 'exclusive'>} socket
   * @param {Identity} identity
   * @param {string | null} [client] its id
   */
  async register (socket, identity, client) {
    const { conn } = /** @type {any} */ (socket)
    const { uid } = identity
    const owner = openOwner(socket)
    if (owner !== undefined && owner.uid !== uid)
      throw new InkcastError('forbidden', 'the connection belongs to another user')
    // the namespaces of one client are one connection
    const isAnother = conn[kOwner]?.uid !== uid
    if (this.#maxPerUser > 0 && isAnother && this.#isTooMany(socket, uid, client)) {
      this.#metrics.connections_refused.inc({ reason: 'user' })
      throw new InkcastError('too_many_connections')
    }
    assertMayAct(this.#rights)
    await this.#users.register(uid)
    const refusal = this.#refusalOf(conn, identity)
    if (refusal === undefined) return
    this.#users.release(uid)
    throw refusal
  }

  /**
   * The reason to refuse that came up while the user was being registered, or before, as Redis knows.
   * @param {{ readyState: string }} conn
   * @param {Identity} identity
   */
  #refusalOf ({ readyState }, identity) {
    const { access, login } = this.#rights
    const { uid } = identity
    if (readyState !== 'open') return new InkcastError('unavailable', 'the connection has gone')
    if (access.isBanned(uid)) return new InkcastError('banned')
    return login.endedBy(identity, access.orders.kickedAt(uid))
      ? new InkcastError('unavailable', 'the user was kicked meanwhile, log in again')
      : undefined
  }

  /**
   * A device that comes back while its old connection is here takes the place of that one (takeovers.js).
   * @param {{ exclusive?: boolean }} socket
   * @param {string} uid
   * @param {string | null | undefined} client
   */
  #isTooMany ({ exclusive }, uid, client) {
    const more = this.#users.count(uid) - this.#maxPerUser
    // one that is being replaced already counts
    if (more !== 0 || !exclusive || !client) return more >= 0
    for (const one of this.#directory.user(uid)) if (one.exclusive && one.client === client) return false
    return true
  }

  /**
   * Makes a connection the owner of its session. Its user is released if it ends before it is connected: a middleware
   * of an extension may refuse it.
   * @param {Connection} connection
   * @param {boolean} isOnly whether the client is in no other namespace
   */
  own (connection, isOnly) {
    const { socket, conn } = connection
    Object.assign(socket, { [kConnection]: connection })
    conn[kOwner] = connection
    const { decoder } = /** @type {any} */ (socket.client)
    decoder.connection = connection
    if (isOnly) return conn.on('close', this.#release)
    const release = () => this.#users.release(connection.uid)
    this.#releases.set(connection, release)
    conn.on('close', release)
  }

  /**
   * A connection is connected already: it ends if its user cannot be registered.
   * @param {Connection} connection
   * @param {Promise<void>} done of LocalUsers
   */
  registers (connection, done) {
    /** @type {Registration} */
    const registration = { done, of: connection }
    this.#registrations.set(connection, registration)
    done.catch(() => registration.of?.giveUp('unavailable, reconnect'))
  }

  /**
   * @param {Connection} from ends
   * @param {Connection} to of the same session, is counted in its place
   */
  passOn (from, to) {
    const registration = this.#registrations.get(from)
    if (registration === undefined) return
    registration.of = to
    this.#registrations.set(to, registration)
  }

  /** Releases the user of a connection that has ended: as often as it was counted. @param {Connection} connection */
  release (connection) {
    const registration = this.#registrations.get(connection)
    if (registration === undefined) return this.#users.release(connection.uid)
    registration.of = undefined
    registration.done.then(() => this.#users.release(connection.uid), () => {})
  }

  /** @param {Connection | undefined} connection outside the main namespace */
  isPending (connection) { return connection !== undefined && this.#releases.has(connection) }

  /** @param {Connection} connection that is connected or refused */
  keepUser (connection) {
    connection.conn.off('close', this.#releases.get(connection) ?? this.#release)
    this.#releases.delete(connection)
  }
}

/**
 * @param {Pick<Socket, 'conn'>} socket
 * @returns {Connection | undefined} the connection of another namespace of the same client that is connected
 */
export function openOwner ({ conn }) {
  /** @type {Connection | undefined} */
  const owner = /** @type {any} */ (conn)[kOwner]
  return owner?.open ? owner : undefined
}
