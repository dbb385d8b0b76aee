/**
 * Saves results that docs quote, with their raw data.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../results/', import.meta.url))

/**
 * Writes `<name>-<date>.json` with the raw data, a `.md` page and a `.svg` for each plot.
 * @param {string} name
 * @param {object} result
 * @param {(plotFile: (plot: string) => string) => string} page
 * @param {{ plots?: Record<string, string>, folder?: string, date?: Date }} [options] plots: SVG by name
 * @returns {string[]} paths of the files, relative to the working directory
 */
export function saveResults (name, result, page, { plots = {}, folder = FOLDER, date = new Date() } = {}) {
  mkdirSync(folder, { recursive: true })
  const base = path.join(folder, `${name}-${date.toISOString().slice(0, 16).replace(/[T:]/g, '-')}`)
  const plotFile = (/** @type {string} */ plot) => `${base}-${plot}.svg`
  const files = {
    [`${base}.json`]: `${JSON.stringify(result, null, 1)}\n`,
    [`${base}.md`]: page((plot) => path.basename(plotFile(plot))),
    ...Object.fromEntries(Object.entries(plots).map(([plot, svg]) => [plotFile(plot), svg]))
  }
  for (const [file, content] of Object.entries(files)) writeFileSync(file, content)
  return Object.keys(files).map((file) => path.relative(process.cwd(), file))
}
