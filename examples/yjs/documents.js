import { Document } from './document.js'

/** Documents that are merged at the same time. */
const CONCURRENCY = 4
/** A document without new records is read this often at last, ms: well below the gateway's HISTORY_TTL. */
const MAX_INTERVAL = 30_000
/** A document that nobody has used for this time is removed from memory, ms. */
const IDLE = 300_000
/** Documents that are known to this process. In your product it is a cache: the oldest leave it. */
const MAX_DOCUMENTS = 100_000

/**
 * All documents: each is merged soon after it has changed, and less often while it does not change.
 *
 * @param {object} dependencies
 * @param {ReturnType<typeof import('./store.js').createStore>} dependencies.store
 * @param {ReturnType<typeof import('./inkcast.js').createInkcast>} dependencies.inkcast
 * @param {import('./inkcast.js').Log} dependencies.log
 * @param {object} settings
 * @param {number} settings.interval of reading a document that changes, ms
 * @param {number} settings.keep records that stay in the log when it is cut
 */
export function createDocuments ({ store, inkcast, log }, { interval, keep }) {
  /** @type {Map<string, { document: Document, interval: number, due: number, usedAt: number }>} */
  const entries = new Map()
  /** @type {ReturnType<typeof setInterval>} */
  let timer
  let running = Promise.resolve()
  let isRunning = false

  /** @param {string} guid @param {import('./inkcast.js').Position | null} [position] */
  function entryOf (guid, position = null) {
    let entry = entries.get(guid)
    if (entry === undefined) {
      if (entries.size >= MAX_DOCUMENTS) throw Object.assign(new Error('too many documents'), { status: 503 })
      const document = new Document({ guid, position, store, inkcast, log, keep })
      entries.set(guid, entry = { document, interval, due: 0, usedAt: performance.now() })
    }
    return entry
  }

  /** @param {string} guid */
  function use (guid) {
    const entry = entryOf(guid)
    entry.usedAt = performance.now()
    entry.interval = interval
    entry.due = Math.min(entry.due, entry.usedAt + interval)
    return entry.document
  }

  /** @param {NonNullable<ReturnType<typeof entries.get>>} entry */
  async function merge (entry) {
    try {
      if (await entry.document.merge()) use(entry.document.guid)
      else entry.interval = Math.min(MAX_INTERVAL, entry.interval * 2)
      if (performance.now() - entry.usedAt > IDLE) await entry.document.close()
    } catch (error) {
      entry.interval = Math.min(MAX_INTERVAL, entry.interval * 2)
      log.error(`${entry.document.guid}: ${/** @type {Error} */ (error).message}`)
    }
    entry.due = performance.now() + entry.interval
  }

  async function run () {
    isRunning = true
    const now = performance.now()
    const due = [...entries.values()].filter((entry) => entry.due <= now)
    await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
      for (let entry = due.shift(); entry !== undefined; entry = due.shift()) await merge(entry)
    }))
    isRunning = false
  }

  return {
    async start () {
      for (const { guid, position } of await store.start()) entryOf(guid, position)
      timer = setInterval(() => { if (!isRunning) running = run() }, Math.min(interval, 200))
    },

    /** @param {string} guid */
    read: (guid) => use(guid).read(),

    /** @param {string} guid @param {Uint8Array} update */
    add: (guid, update) => use(guid).add(update),

    /** A document has changed. @param {string} guid */
    touch (guid) { use(guid) },

    async stop () {
      clearInterval(timer)
      await running
    }
  }
}
