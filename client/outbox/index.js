import { DocumentQueue } from './document-queue.js'
import { indexedDbStore } from './indexed-db.js'
import { hasWebLocks, processLock, webLock } from './locks.js'
import { memoryStore } from './memory-store.js'

/** Names among the clients of this process, where there are no Web Locks. */
const lockHere = processLock()

/**
 * @param {object} options
 * @param {string} options.url of the gateway
 * @param {string} options.user whose edits they are
 * @param {import('./contract.js').Store | undefined} [options.store] default: IndexedDB; in Node, and on pages where
 *   the browser has no IndexedDB or no Web Locks, memory
 * @param {import('./contract.js').Lock} [options.lock] for tests
 * @param {import('../log.js').Log} options.log
 * @returns {import('./contract.js').Outbox}
 */
export function createOutbox ({ url, user, store, lock, log }) {
  const outlives = /** @type {any} */ (globalThis).indexedDB !== undefined && hasWebLocks()
  const kept = store ?? (outlives ? indexedDbStore() : memoryStore())
  if (store === undefined && !outlives) log('queued edits are lost with the page: it has no IndexedDB, or no TLS')
  return {
    async open (guid, events) {
      const queue = new DocumentQueue({
        // the edits of one user are never sent as another
        key: JSON.stringify([url, user, guid]),
        store: kept,
        lock: lock ?? (hasWebLocks() ? webLock : lockHere),
        log: (what, detail) => log(what, guid, detail),
        ...events
      })
      await queue.start()
      return queue
    }
  }
}
