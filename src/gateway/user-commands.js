import { readOrderName } from '../log/bus/orders.js'
import { isExcepted } from '../documents/feed.js'
import { Delivery } from '../documents/delivery/delivery.js'
import { delivered } from '../observe/metrics/points.js'
import { readFarewell } from '../wire/farewell.js'
import { isOrder, lasts } from '../wire/publication.js'
import { openDocument } from './asked-documents.js'
import { leaveDocument } from './handlers/leave.js'
import { NamespaceConnection } from './namespace-connection.js'

/**
 * Carries out, on this worker, publications that are not for a document's log: those for users, connections and
 * everyone, and orders.
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {Pick<Publication, 'operator' | 'uid' | 'sid' | 'device'>} Targeted
 * @typedef {import('./connection.js').Connection} Connection
 */
export class UserCommands {
  #context
  #directory
  #receipts
  #users
  #userLogs

  /**
   * @param {import('./handlers/context.js').HandlerContext} context
   * @param {object} parts
   * @param {import('./directory.js').Directory} parts.directory
   * @param {import('../documents/receipts/receipts.js').Receipts} parts.receipts
   * @param {Pick<import('./local-users.js').LocalUsers, 'has'>} parts.users
   * @param {Pick<import('./user-logs.js').UserLogs, 'has'>} parts.userLogs
   */
  constructor (context, { directory, receipts, users, userLogs }) {
    this.#context = context
    this.#directory = directory
    this.#receipts = receipts
    this.#users = users
    this.#userLogs = userLogs
  }

  /**
   * Carries out an order, or delivers a record.
   * @param {Publication} publication
   * @param {string} [receiptId]
   * @param {number} [at] when an order was accepted, ms since 1970
   * @returns {number | Promise<number> | undefined} connections that an order was carried out for
   */
  onDirect (publication, receiptId, at = 0) {
    if (isOrder(publication)) return this.#carryOut(publication, at)
    this.#deliver(publication, receiptId)
    return undefined
  }

  /**
   * Carries out orders that this worker may have missed.
   * @type {import('../log/bus/contract.js').BusHandlers['onOrders']}
   */
  onOrders (uid, known) {
    if (!this.#users.has(uid)) return
    for (const [name] of this.#orders.noteAll(uid, known)) {
      const order = readOrderName(name)
      if (order === null) continue
      if (order.operator === 'kick') this.#disconnect({ operator: 'kick', uid })
      else this.#revoke({ operator: 'revoke', uid }, order.guid)
    }
  }

  get #orders () { return this.#context.access.orders }

  /**
   * @param {Targeted} publication
   * @returns {Iterable<Connection>}
   */
  #targets ({ operator, uid, sid, device }) {
    if (operator === 'everyone' || operator === 'close') return this.#directory.all()
    if (sid !== undefined && operator !== 'user' && operator !== 'revoke') {
      const connection = this.#directory.connection(sid)
      return connection === undefined ? [] : [connection]
    }
    const connections = this.#directory.user(/** @type {string} */ (uid))
    return device === undefined ? connections : [...connections].filter(({ client }) => client === device)
  }

  /**
   * @param {Iterable<Connection>} connections
   * @param {string} guid
   * @param {import('./connection-listeners.js').EndReason} reason
   * @param {(connection: Connection) => void} tell
   * @returns {number} connections that had it open, or were opening it
   */
  #takeOff (connections, guid, reason, tell) {
    let count = 0
    for (const connection of connections) {
      if (!leaveDocument(connection, guid, reason, this.#context)) continue
      count++
      // records that are queued here have not been sent yet
      connection.withdraw(guid)
      tell(connection)
    }
    return count
  }

  /** @param {Targeted & Pick<Publication, 'from'>} order @returns {number} */
  #disconnect (order) {
    // a copy: disconnecting changes the directory
    const connections = [...this.#targets(order)]
    const replaced = order.from !== undefined
    for (const connection of connections) connection.disconnect(replaced ? 'replaced' : 'kicked')
    if (replaced) this.#context.metrics.connections_replaced.inc(connections.length)
    return connections.length
  }

  /** @param {Targeted} order @param {string} guid @returns {number} */
  #revoke (order, guid) {
    return this.#takeOff(this.#targets(order), guid, 'revoked', (connection) => connection.send('doc:revoked', { guid }))
  }

  /** @param {Publication} order @param {string} guid @returns {Promise<number>} */
  async #join (order, guid) {
    const { access } = this.#context
    const connections = [...this.#targets(order)].filter((connection) =>
      !(connection instanceof NamespaceConnection) && access.mayMeet(connection.uid, guid))
    const opened = await Promise.all(
      connections.map((connection) =>
        connection.document(guid)?.joined ? true : openDocument(connection, guid, null, this.#context))
    )
    return opened.filter(Boolean).length
  }

  /**
   * @param {Publication} order
   * @param {number} at when the order was accepted, ms since 1970
   * @returns {number | Promise<number>} connections that it was carried out for
   */
  #carryOut (order, at) {
    const { operator, uid } = order
    const guid = /** @type {string} */ (order.guid)
    // drops repeated orders: a worker that missed one receives it in several ways
    if (lasts(order) && (!this.#users.has(/** @type {string} */ (uid)) ||
      !this.#orders.noteOrder({ ...order, uid: /** @type {string} */ (uid) }, at))) return 0
    switch (operator) {
      case 'kick': return this.#disconnect(order)
      case 'revoke': return this.#revoke(order, guid)
      case 'restore': return 0
      case 'join': return this.#join(order, guid)
    }
    const farewell = { guid, code: operator === 'close' ? 'closed' : 'removed', ...readFarewell(order) }
    return this.#takeOff(this.#targets(order), guid, 'left', (connection) => connection.send('doc:closed', farewell))
  }

  /** @param {Publication} publication @param {string} [receiptId] */
  #deliver (publication, receiptId) {
    const delivery = new Delivery(publication, 0, this.#receipts.open(publication, receiptId))
    if (delivered.hasSubscribers) delivered.publish({ by: this.#context.metrics, delivery })
    for (const connection of this.#targets(publication)) {
      // it gets the record from the user's log
      if (publication.keep && this.#userLogs.has(connection)) continue
      if (!isExcepted(connection, publication)) connection.deliver(delivery)
    }
  }
}
