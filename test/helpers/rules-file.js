import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * DOCUMENT_RULES_FILE in a folder of its own.
 * @param {{ after: (stop: () => unknown) => void }} t removes it
 * @param {object | string} content
 */
export function rulesFile (t, content) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'rules.json')
  /** Replaces it as a whole. @param {object | string} next */
  function write (next) {
    writeFileSync(`${path}.new`, typeof next === 'string' ? next : JSON.stringify(next))
    renameSync(`${path}.new`, path)
  }
  write(content)
  return { path, write }
}
