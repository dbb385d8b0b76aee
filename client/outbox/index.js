import { DocumentQueue } from './document-queue.js'
import { InFlight } from './in-flight.js'
import { indexedDbStore } from './indexed-db.js'
import { hasWebLocks, processLock, webLock } from './locks.js'
import { memoryStore } from './memory-store.js'

/** Timeout of the answer to a queued edit, ms: the gateway's own are shorter. */
const ANSWER_TIMEOUT = 20_000
/** In place of an edit's place in its queue, which is not known before its size is checked. */
const LONGEST_PLACE = { queue: { id: '0'.repeat(64), seq: 1e9 } }
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
    async open (document) {
      const { guid } = document
      const notify = (/** @type {string} */ event, /** @type {() => unknown[]} */ args) => {
        for (const { emitter } of document.inboxes) if (emitter.has(event)) emitter.emit(event, ...args())
      }
      const queue = new DocumentQueue({
        // the edits of one user are never sent as another
        key: JSON.stringify([url, user, guid]),
        store: await kept,
        lock: lock ?? (hasWebLocks() ? webLock : lockHere),
        inFlight,
        log: (what, detail) => log(what, guid, detail),
        check: (argument) => document.link.connection.check('doc:send', { guid, ...argument, ...LONGEST_PLACE }),
        send: (argument) => document.ask('doc:send', argument, ANSWER_TIMEOUT),
        onPending: (pending) => {
          document.pending = pending
          notify('doc:pending', () => [pending()])
        },
        onDropped: (edit, error) => notify('doc:dropped', () => [edit, error])
      })
      try {
        await queue.start()
      } catch (error) {
        queue.close() // its names are free for the next try
        throw error
      }
      document.outbox = queue
      if (document.inboxes.size === 0) queue.close() // the document was closed meanwhile
      else if (document.joined) queue.joined()
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
