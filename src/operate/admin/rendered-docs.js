import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * The pages of the docs as HTML. Rendering one takes 10 ms and more of the launcher's CPU time, so each page is kept
 * until its file changes: one for each file of the folder.
 *
 * @param {string} folder
 * @param {Parameters<typeof import('./doc-page.js').renderDoc>[1]} [options]
 * @returns {(name: string) => Promise<Buffer>} name: a file of the folder. Rejects if there is no such file
 */
export function createRenderedDocs (folder, options) {
  /** @type {Map<string, { version: string, page: Promise<Buffer> }>} */
  const kept = new Map()

  return async (name) => {
    const file = path.join(folder, name)
    const { mtimeMs, size } = await stat(file)
    const version = `${mtimeMs} ${size}`
    const known = kept.get(name)
    if (known?.version === version) return known.page
    const page = render(file, options)
    kept.set(name, { version, page })
    page.catch(() => kept.delete(name))
    return page
  }
}

/**
 * @param {string} file
 * @param {Parameters<typeof import('./doc-page.js').renderDoc>[1]} options
 * @returns {Promise<Buffer>}
 */
async function render (file, options) {
  const text = await readFile(file, 'utf8')
  const { renderDoc } = await import('./doc-page.js')
  return Buffer.from(renderDoc(text, options))
}
