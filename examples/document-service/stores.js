import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

/** @typedef {import('./service.js').Store} Store */

/**
 * Stores each document as a JSON file. A product has a database here; the service requires that a save is atomic.
 *
 * @param {{ directory: string }} settings
 * @returns {Store & { start: () => Promise<unknown> }}
 */
export function createFileStore ({ directory }) {
  // a guid may contain characters that are not allowed in file names
  const fileOf = (/** @type {string} */ guid) =>
    join(directory, `${createHash('sha256').update(guid).digest('hex').slice(0, 32)}.json`)
  return {
    start: () => mkdir(directory, { recursive: true }),
    async load (guid) {
      try {
        return JSON.parse(await readFile(fileOf(guid), 'utf8')).stored
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null
        throw error
      }
    },
    async save (guid, stored) {
      const file = fileOf(guid)
      const handle = await open(`${file}.new`, 'w')
      try {
        await handle.writeFile(JSON.stringify({ guid, stored }))
        await handle.datasync() // only a change that survives a power loss may be published
      } finally {
        await handle.close()
      }
      await rename(`${file}.new`, file)
    }
  }
}

/**
 * A store in memory, for demos and tests.
 *
 * @param {{ max?: number }} [settings] maximum number of documents, default 1,000
 * @returns {Store}
 */
export function createMemoryStore ({ max = 1000 } = {}) {
  /** @type {Map<string, import('./service.js').Stored>} */
  const documents = new Map()
  return {
    load: async (guid) => structuredClone(documents.get(guid) ?? null),
    async save (guid, stored) {
      if (!documents.has(guid) && documents.size >= max) throw new Error(`there are ${max} documents already`)
      documents.set(guid, structuredClone(stored))
    }
  }
}
