import { orderName, readOrderName } from '../bus/orders.js'
import { isExcepted } from '../documents/feed.js'
import { Delivery } from '../delivery/delivery.js'
import { leaveDocument } from './handlers/leave.js'

/**
 * Carries out, on this worker, publications that are not for a document: user, socket, everyone, kick and revoke.
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @param {object} dependencies
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {ReturnType<typeof import('../documents/feeds.js').createFeeds>} dependencies.feeds
 * @param {import('../receipts/receipts.js').Receipts} dependencies.receipts
 * @param {import('./life-cycle.js').LifeCycle} dependencies.lifeCycle
 * @param {ReturnType<typeof import('../presence/presence.js').createPresence>} dependencies.presence
 * @param {Pick<ReturnType<typeof import('./local-users.js').createLocalUsers>, 'has'>} dependencies.users
 * @param {import('../bus/orders.js').Orders} dependencies.orders
 */
export function createUserCommands ({ directory, feeds, receipts, lifeCycle, presence, users, orders }) {
  const parts = { feeds, lifeCycle, presence }

  /**
   * @param {Pick<Publication, 'operator' | 'uid' | 'sid'>} publication
   * @returns {Iterable<import('./connection.js').Connection>}
   */
  function targets ({ operator, uid, sid }) {
    if (operator === 'everyone') return directory.all()
    if (sid !== undefined && operator !== 'user' && operator !== 'revoke') {
      const connection = directory.connection(sid)
      return connection === undefined ? [] : [connection]
    }
    return directory.user(/** @type {string} */ (uid))
  }

  /**
   * @param {Pick<Publication, 'operator' | 'guid' | 'uid' | 'sid'>} order kick or revoke
   * @param {number} at when the order was accepted, ms since 1970
   */
  function carryOut (order, at) {
    const { operator, uid, sid } = order
    const ofUser = uid !== undefined && (operator === 'revoke' || sid === undefined)
    // drops repeated orders: a worker that missed one receives it in several ways
    if (ofUser && (!users.has(uid) || !orders.note(uid, orderName(order), at))) return
    if (operator === 'kick') {
      // a copy: disconnecting changes the directory
      for (const connection of [...targets(order)]) connection.disconnect('kicked')
    } else {
      const guid = /** @type {string} */ (order.guid)
      for (const connection of targets(order)) {
        if (leaveDocument(connection, guid, 'revoked', parts)) connection.socket.emit('doc:revoked', { guid })
      }
    }
  }

  return {
    /** @type {import('../bus/contract.js').BusHandlers['onDirect']} */
    onDirect (publication, receiptId, at = 0) {
      const { operator, except } = publication
      if (operator === 'kick' || operator === 'revoke') return carryOut(publication, at)
      const delivery = new Delivery(publication, 0, receipts.open(publication, receiptId))
      for (const connection of targets(publication)) {
        if (!isExcepted(connection, except)) connection.deliver(delivery)
      }
    },

    /** @type {import('../bus/contract.js').BusHandlers['onOrders']} */
    onOrders (uid, known) {
      for (const [name, at] of known) {
        const order = readOrderName(name)
        if (order !== null) carryOut({ ...order, uid }, at)
        else if (users.has(uid)) orders.note(uid, name, at)
      }
    }
  }
}
