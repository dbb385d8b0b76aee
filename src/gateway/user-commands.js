import { readOrderName } from '../log/bus/orders.js'
import { isExcepted } from '../documents/feed.js'
import { Delivery } from '../documents/delivery/delivery.js'
import { delivered } from '../observe/metrics/points.js'
import { readFarewell } from '../wire/farewell.js'
import { isOrder } from '../wire/publication.js'
import { leaveDocument } from './handlers/leave.js'
import { NamespaceConnection } from './namespace-connection.js'

/**
 * Carries out, on this worker, publications that are not for a document's log: those for users, connections and
 * everyone, and orders.
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @typedef {import('./connection.js').Connection} Connection
 *
 * @param {object} dependencies
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {import('../documents/feeds.js').Feeds} dependencies.feeds
 * @param {import('../documents/receipts/receipts.js').Receipts} dependencies.receipts
 * @param {import('./connection-listeners.js').ConnectionListeners} dependencies.connectionListeners
 * @param {import('../people/presence/presence.js').Presence} dependencies.presence
 * @param {Pick<ReturnType<typeof import('./local-users.js').createLocalUsers>, 'has'>} dependencies.users
 * @param {Pick<ReturnType<typeof import('./user-logs.js').createUserLogs>, 'has'>} dependencies.userLogs
 * @param {import('../log/bus/orders.js').Orders} dependencies.orders
 * @param {object} dependencies.metrics of the worker
 * @param {(connection: Connection, guid: string) => Promise<boolean>} dependencies.open opens a document on a
 *   connection, as if its client had asked for it in the handshake; whether that succeeded
 */
export function createUserCommands ({
  directory, feeds, receipts, connectionListeners, presence, users, userLogs, orders, metrics, open
}) {
  const parts = { feeds, connectionListeners, presence }

  /**
   * @param {Pick<Publication, 'operator' | 'uid' | 'sid'>} publication
   * @returns {Iterable<Connection>}
   */
  function targets ({ operator, uid, sid }) {
    if (operator === 'everyone' || operator === 'close') return directory.all()
    if (sid !== undefined && operator !== 'user' && operator !== 'revoke') {
      const connection = directory.connection(sid)
      return connection === undefined ? [] : [connection]
    }
    return directory.user(/** @type {string} */ (uid))
  }

  /**
   * @param {Iterable<Connection>} connections
   * @param {string} guid
   * @param {import('./connection-listeners.js').EndReason} reason
   * @param {(connection: Connection) => void} tell
   * @returns {number} connections that had it open, or were opening it
   */
  function takeOff (connections, guid, reason, tell) {
    let count = 0
    for (const connection of connections) {
      if (!leaveDocument(connection, guid, reason, parts)) continue
      count++
      // records that are queued here have not been sent yet
      connection.withdraw(guid)
      tell(connection)
    }
    return count
  }

  /** @param {Pick<Publication, 'operator' | 'uid' | 'sid'>} order @returns {number} */
  function disconnect (order) {
    // a copy: disconnecting changes the directory
    const connections = [...targets(order)]
    for (const connection of connections) connection.disconnect('kicked')
    return connections.length
  }

  /** @param {Pick<Publication, 'operator' | 'uid' | 'sid'>} order @param {string} guid @returns {number} */
  const revoke = (order, guid) =>
    takeOff(targets(order), guid, 'revoked', ({ socket }) => socket.emit('doc:revoked', { guid }))

  /** @param {Publication} order @param {string} guid @returns {Promise<number>} */
  async function join (order, guid) {
    const connections = [...targets(order)].filter((connection) => !(connection instanceof NamespaceConnection))
    const opened = await Promise.all(
      connections.map((connection) => connection.document(guid)?.joined ? true : open(connection, guid))
    )
    return opened.filter(Boolean).length
  }

  /**
   * @param {Publication} order
   * @param {number} at when the order was accepted, ms since 1970
   * @returns {number | Promise<number>} connections that it was carried out for
   */
  function carryOut (order, at) {
    const { operator, uid, sid } = order
    const guid = /** @type {string} */ (order.guid)
    const lasts = operator === 'revoke' || operator === 'restore' || (operator === 'kick' && sid === undefined)
    // drops repeated orders: a worker that missed one receives it in several ways
    if (lasts && (!users.has(/** @type {string} */ (uid)) ||
      !orders.noteOrder({ ...order, uid: /** @type {string} */ (uid) }, at))) return 0
    switch (operator) {
      case 'kick': return disconnect(order)
      case 'revoke': return revoke(order, guid)
      case 'restore': return 0
      case 'join': return join(order, guid)
    }
    const farewell = { guid, code: operator === 'close' ? 'closed' : 'removed', ...readFarewell(order) }
    return takeOff(targets(order), guid, 'left', ({ socket }) => socket.emit('doc:closed', farewell))
  }

  /** @param {Publication} publication @param {string} [receiptId] */
  function deliver (publication, receiptId) {
    const delivery = new Delivery(publication, 0, receipts.open(publication, receiptId))
    if (delivered.hasSubscribers) delivered.publish({ by: metrics, delivery })
    for (const connection of targets(publication)) {
      // it gets the record from the user's log
      if (publication.keep && userLogs.has(connection)) continue
      if (!isExcepted(connection, publication.except)) connection.deliver(delivery)
    }
  }

  return {
    /** @type {import('../log/bus/contract.js').BusHandlers['onDirect']} */
    onDirect (publication, receiptId, at = 0) {
      if (isOrder(publication)) return carryOut(publication, at)
      deliver(publication, receiptId)
      return undefined
    },

    /** @type {import('../log/bus/contract.js').BusHandlers['onOrders']} */
    onOrders (uid, known) {
      if (!users.has(uid)) return
      for (const [name] of orders.noteAll(uid, known)) {
        const order = readOrderName(name)
        if (order === null) continue
        if (order.operator === 'kick') disconnect({ operator: 'kick', uid })
        else revoke({ operator: 'revoke', uid }, order.guid)
      }
    }
  }
}
