import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * @typedef {object} Stored
 * @property {import('inkcast-client').Position | null} position of the last record in the update
 * @property {Uint8Array} update the document
 */

/**
 * Stores each document and its position in one file, replaced as a whole: after a crash both are the old ones, or both
 * the new ones. The file is a line of JSON, then the update. A product has a database here, and one transaction.
 *
 * @param {{ directory: string }} settings
 */
export function createStore ({ directory }) {
  // a guid may contain characters that are not allowed in file names
  const fileOf = (/** @type {string} */ guid) =>
    join(directory, `${createHash('sha256').update(guid).digest('hex').slice(0, 32)}.yjs`)

  return {
    /** @returns {Promise<{ guid: string, position: Stored['position'] }[]>} all documents */
    async start () {
      await mkdir(directory, { recursive: true })
      const names = (await readdir(directory)).filter((name) => name.endsWith('.yjs'))
      return Promise.all(names.map(async (name) => parse(await readFile(join(directory, name)))))
    },

    /** @param {string} guid @returns {Promise<Stored | null>} */
    async load (guid) {
      try {
        return parse(await readFile(fileOf(guid)))
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null
        throw error
      }
    },

    /** One call at a time for a document. @param {string} guid @param {Stored} stored */
    async save (guid, { position, update }) {
      const file = fileOf(guid)
      const handle = await open(`${file}.new`, 'w')
      try {
        await handle.writeFile(Buffer.concat([Buffer.from(`${JSON.stringify({ guid, position })}\n`), update]))
        await handle.datasync() // the log is cut after this
      } finally {
        await handle.close()
      }
      await rename(`${file}.new`, file)
    }
  }
}

/** @param {Buffer} content */
function parse (content) {
  const end = content.indexOf('\n')
  const { guid, position } = JSON.parse(content.subarray(0, end).toString())
  return { guid, position, update: new Uint8Array(content.subarray(end + 1)) }
}
