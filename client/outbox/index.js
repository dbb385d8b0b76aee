import { DocumentQueue } from './document-queue.js'
import { InFlight } from './in-flight.js'
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
 * @param {import('../common/log.js').Log} options.log
 * @returns {import('./contract.js').Outbox}
 */
export function createOutbox ({ url, user, store, lock, log }) {
  const inFlight = new InFlight()
  const kept = store === undefined ? browserStore(log) : Promise.resolve(store)
  return {
    async open (guid, events) {
      const queue = new DocumentQueue({
        // the edits of one user are never sent as another
        key: JSON.stringify([url, user, guid]),
        store: await kept,
        lock: lock ?? (hasWebLocks() ? webLock : lockHere),
        inFlight,
        log: (what, detail) => log(what, guid, detail),
        ...events
      })
      await queue.start()
      return queue
    }
  }
}

/** @param {import('../common/log.js').Log} log @returns {Promise<import('./contract.js').Store>} */
async function browserStore (log) {
  try {
    if (!hasWebLocks()) throw new Error('no Web Locks: the page has no TLS, or it is not a page')
    const store = indexedDbStore()
    // some browsers have IndexedDB in private windows, and refuse to open it
    await store.load('')
    return store
  } catch (error) {
    log('queued edits are lost with the page', undefined, String(error))
    return memoryStore()
  }
}
