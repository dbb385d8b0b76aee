import { InkcastError } from '../base/common/errors.js'
import { kOwner } from '../transport/engine/link.js'
import { assignId } from '../transport/socketio/handshake-hooks.js'
import { readAuth } from './handshake-auth.js'
import { NamespaceConnection } from './namespace-connection.js'
import { describeSocket } from './socket-data.js'
import { kConnection } from './socketio-connection.js'

/** Maximum namespaces per client. */
const MAX_NAMESPACES = 100

/**
 * Admission to namespaces besides the main one: those of extensions. The first namespace of a client creates its
 * connection; admissions of one client wait for each other.
 *
 * @typedef {import('socket.io').Socket} Socket
 * @typedef {import('./socketio-connection.js').SocketIoConnection} Connection
 */
export class NamespaceAdmission {
  #login
  #users
  #owners
  #newConnectionId
  #connectionContext
  /** Namespaces that a client is in or connects to, by Engine.IO's socket. @type {WeakMap<object, Set<string>>} */
  #names = new WeakMap()
  /** First admissions that are in progress, by Engine.IO's socket. @type {WeakMap<object, Promise<unknown>>} */
  #first = new WeakMap()
  /** Admissions that wait for the one to the main namespace. @type {Map<object, (() => void)[]>} */
  #waiting = new Map()
  /** Owners by socket, as of its admission. @type {WeakMap<Socket, Connection>} */
  #ownerOf = new WeakMap()

  /**
   * @param {object} dependencies
   * @param {import('./login.js').Login} dependencies.login
   * @param {import('./local-users.js').LocalUsers} dependencies.users
   * @param {import('./session-owners.js').SessionOwners} dependencies.owners
   * @param {() => string} dependencies.newConnectionId
   * @param {import('./connection.js').ConnectionContext} dependencies.connectionContext
   */
  constructor ({ login, users, owners, newConnectionId, connectionContext }) {
    this.#login = login
    this.#users = users
    this.#owners = owners
    this.#newConnectionId = newConnectionId
    this.#connectionContext = connectionContext
  }

  /** @param {object} conn @returns {boolean} whether its client is, or was, in one of these namespaces */
  has (conn) { return this.#names.has(conn) }

  /** @param {object} conn @returns {Promise<unknown> | undefined} the admission of its client that is in progress */
  inProgress (conn) { return this.#first.get(conn) }

  /** The admission to the main namespace has ended. @param {object} conn */
  goOn (conn) {
    if (this.#waiting.size === 0) return
    for (const resolve of this.#waiting.get(conn) ?? []) resolve()
    this.#waiting.delete(conn)
  }

  /** Lets a client connect to a namespace again. @param {object} conn @param {string} name of the namespace */
  left (conn, name) { this.#names.get(conn)?.delete(name) }

  /** @param {Socket} socket @param {import('../transport/socketio/codec.js').Codec} codec */
  async admit (socket, codec) {
    const { conn } = /** @type {any} */ (socket)
    let names = this.#names.get(conn)
    if (names === undefined) this.#names.set(conn, names = new Set())
    const { name } = socket.nsp
    if (names.has(name)) throw new InkcastError('bad_request', 'there is a connection to this namespace already')
    if (names.size >= MAX_NAMESPACES)
      throw new InkcastError('bad_request', `a client may connect to ${MAX_NAMESPACES} namespaces`)
    names.add(name)
    try {
      assignId(socket, this.#newConnectionId())
      await this.#enter(socket, codec)
      this.#ownerOf.set(socket, conn[kOwner])
      describeSocket(socket, conn[kOwner])
    } catch (error) {
      names.delete(name)
      throw error
    }
  }

  /**
   * Enters as the user whose connection it is. A token is not needed then, but one of another user is refused.
   * @param {Socket} socket
   * @param {import('../transport/socketio/codec.js').Codec} codec
   * @throws {InkcastError} (rejects with) forbidden; what Login has
   */
  async #enter (socket, codec) {
    const { conn, handshake } = /** @type {any} */ (socket)
    /** @type {string | undefined} */
    let uid
    // the first namespace may be refused meanwhile
    for (;;) {
      const owner = conn[kOwner]
      if (owner === undefined) {
        if (await this.#becomeFirst(socket, codec)) return
      } else if (handshake.auth?.token == null || uid === owner.uid) {
        return
      } else if (uid === undefined) {
        uid = (await this.#login.identify(socket, readAuth(handshake.auth).token)).uid
      } else {
        throw new InkcastError('forbidden', 'the connection belongs to another user')
      }
    }
  }

  /**
   * Admits a client that is in no namespace yet. If another admission of the client is in progress, waits for that one.
   * @param {Socket} socket
   * @param {import('../transport/socketio/codec.js').Codec} codec
   * @returns {Promise<boolean>} false: another namespace may be the first
   */
  async #becomeFirst (socket, codec) {
    const { conn, client } = /** @type {any} */ (socket)
    if (client.decoder.taken) {
      await new Promise((resolve) => {
        const others = this.#waiting.get(conn)
        if (others === undefined) this.#waiting.set(conn, [() => resolve(undefined)])
        else others.push(() => resolve(undefined))
      })
    }
    while (this.#first.has(conn)) await this.#first.get(conn)?.catch(() => {})
    if (conn[kOwner] !== undefined) return false
    const admission = this.#makeFirst(socket, codec)
    this.#first.set(conn, admission)
    try {
      return await admission
    } finally {
      this.#first.delete(conn)
    }
  }

  /**
   * @param {Socket} socket
   * @param {import('../transport/socketio/codec.js').Codec} codec
   * @returns {Promise<boolean>} false: the main namespace has admitted the client meanwhile
   */
  async #makeFirst (socket, codec) {
    const { token, client } = readAuth(socket.handshake.auth)
    const identity = await this.#login.identify(socket, token)
    await this.#owners.register(socket, identity)
    if (/** @type {any} */ (socket.conn)[kOwner] !== undefined) {
      this.#users.release(identity.uid)
      return false
    }
    const connection = new NamespaceConnection(socket, identity, codec, client ?? undefined, this.#connectionContext)
    this.#owners.own(connection, false)
    return true
  }

  /**
   * The first namespace of a client is not connected yet, and may be refused: this one, which is connected, gets a
   * connection of its own.
   * @param {Socket} socket admitted to another namespace
   * @returns {Connection}
   */
  standIn (socket) {
    const { identity, codec, client } = /** @type {Connection} */ (this.#ownerOf.get(socket))
    // first: the connection uses the budget of the user
    const registering = this.#users.register(identity.uid)
    const connection = new NamespaceConnection(socket, identity, codec, client, this.#connectionContext)
    Object.assign(socket, { [kConnection]: connection })
    this.#owners.registers(connection, registering)
    return connection
  }
}
