import { isExcepted } from '../documents/feed.js'
import { Delivery } from './delivery.js'
import { leaveDocument } from './handlers/leave.js'

/**
 * Carries out on this worker what is not for a document: user, socket, everyone, kick and revoke.
 *
 * @typedef {import('../wire/publication.js').Publication} Publication
 * @param {object} dependencies
 * @param {import('./directory.js').Directory} dependencies.directory
 * @param {ReturnType<typeof import('../documents/feeds.js').createFeeds>} dependencies.feeds
 * @param {import('./receipts.js').Receipts} dependencies.receipts
 * @param {import('./life-cycle.js').LifeCycle} dependencies.lifeCycle
 * @param {ReturnType<typeof import('../presence/presence.js').createPresence>} dependencies.presence
 * @returns {(publication: Publication, receiptId?: string) => void}
 */
export function createDirect ({ directory, feeds, receipts, lifeCycle, presence }) {
  const parts = { feeds, lifeCycle, presence }

  /** @param {Publication} publication @returns {Iterable<import('./connection.js').Connection>} */
  function targets ({ operator, uid, sid }) {
    if (operator === 'everyone') return directory.all()
    if (sid !== undefined && operator !== 'user' && operator !== 'revoke') {
      const connection = directory.connection(sid)
      return connection === undefined ? [] : [connection]
    }
    return directory.user(/** @type {string} */ (uid))
  }

  return (publication, receiptId) => {
    const { operator, except } = publication
    if (operator === 'kick') {
      // a copy: disconnecting changes the directory
      for (const connection of [...targets(publication)]) connection.disconnect('kicked')
    } else if (operator === 'revoke') {
      const guid = /** @type {string} */ (publication.guid)
      for (const connection of targets(publication)) {
        if (leaveDocument(connection, guid, 'revoked', parts)) connection.socket.emit('doc:revoked', { guid })
      }
    } else {
      const delivery = new Delivery(publication, 0, receipts.open(publication, receiptId))
      for (const connection of targets(publication)) {
        if (!isExcepted(connection, except)) connection.deliver(delivery)
      }
    }
  }
}
