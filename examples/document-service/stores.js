import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

/** @typedef {import('./service.js').Store} Store */

/**
 * Each document as a JSON file. A product has a database here; what the service needs of it is that a save is whole or
 * not there at all.
 *
 * @param {{ directory: string }} settings
 * @returns {Store & { start: () => Promise<unknown> }}
 */
export function createFileStore ({ directory }) {
  // a guid may hold characters that a file's name may not
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
        await handle.datasync() // published is only what a power cut leaves there
      } finally {
        await handle.close()
      }
      await rename(`${file}.new`, file)
    }
  }
}

/**
 * In memory, for trying out and for tests.
 *
 * @param {{ max?: number }} [settings] documents it takes, default 1,000
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
