const EDITS = 'edits'

/** The browser's; not in the types of Node. @type {any} */
const browser = globalThis

/**
 * A store in the browser's IndexedDB, which outlives the page.
 * @param {string} [name] of the database
 * @returns {import('./contract.js').Store}
 */
export function indexedDbStore (name = 'inkcast-outbox') {
  /** @type {Promise<any> | undefined} */
  let database

  function open () {
    return database ??= new Promise((resolve, reject) => {
      const request = browser.indexedDB.open(name, 1)
      request.onupgradeneeded = () =>
        request.result.createObjectStore(EDITS, { keyPath: ['key', 'queue', 'seq'] })
      request.onsuccess = () => {
        const db = request.result
        const forget = () => { database = undefined }
        // a later version of the page upgrades the database
        db.onversionchange = () => {
          db.close()
          forget()
        }
        db.onclose = forget
        resolve(db)
      }
      request.onerror = () => {
        database = undefined
        reject(request.error)
      }
    })
  }

  /**
   * @template T
   * @param {'readonly' | 'readwrite'} mode
   * @param {(edits: any) => any} work returns a request
   * @returns {Promise<T>} its result, when the transaction is complete
   */
  async function transact (mode, work) {
    const begin = async () => (await open()).transaction(EDITS, mode)
    const transaction = await begin().catch((error) => {
      if (error?.name !== 'InvalidStateError') throw error
      // the browser has closed the database: a page that was frozen, or site data that were deleted
      database = undefined
      return begin()
    })
    return new Promise((resolve, reject) => {
      const request = work(transaction.objectStore(EDITS))
      transaction.oncomplete = () => resolve(request.result)
      transaction.onabort = () => reject(transaction.error ?? request.error)
    })
  }

  return {
    async load (key) {
      // an array sorts after every string and number
      const range = browser.IDBKeyRange.bound([key], [key, []])
      /** @type {Map<string, import('./contract.js').Stored[]>} */
      const queues = new Map()
      for (const { queue, seq, event, data, cut } of await transact('readonly', (edits) => edits.getAll(range))) {
        const edit = { seq, ...(event !== undefined && { event }), data, ...(cut && { cut }) }
        queues.set(queue, [...queues.get(queue) ?? [], edit])
      }
      return queues
    },
    async add (key, queue, edit) { await transact('readwrite', (edits) => edits.put({ key, queue, ...edit })) },
    async remove (key, queue, seq) { await transact('readwrite', (edits) => edits.delete([key, queue, seq])) }
  }
}
