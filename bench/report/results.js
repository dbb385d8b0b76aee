/**
 * Results are kept: what is claimed elsewhere is quoted from them.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../results/', import.meta.url))

/**
 * Writes `<name>-<date>.json` with everything and `.md` for people.
 * @param {string} name
 * @param {object} result
 * @param {string} page
 * @param {{ folder?: string, date?: Date }} [options]
 * @returns {string[]} the files, relative to the working directory
 */
export function saveResults (name, result, page, { folder = FOLDER, date = new Date() } = {}) {
  mkdirSync(folder, { recursive: true })
  const base = path.join(folder, `${name}-${date.toISOString().slice(0, 16).replace(/[T:]/g, '-')}`)
  const files = [`${base}.json`, `${base}.md`]
  writeFileSync(files[0], `${JSON.stringify(result, null, 1)}\n`)
  writeFileSync(files[1], page)
  return files.map((file) => path.relative(process.cwd(), file))
}
