import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * API_CALLERS_FILE in a folder of its own.
 * @param {import('node:test').TestContext} t removes it
 * @param {object} content
 */
export function callersFile (t, content) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'callers.json')
  /** Replaces it as a whole. @param {object | string} next */
  function write (next) {
    writeFileSync(`${path}.new`, typeof next === 'string' ? next : JSON.stringify(next))
    renameSync(`${path}.new`, path)
  }
  write(content)
  return { path, folder, write }
}
