/**
 * Saves results that docs quote, with their raw data.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** RESULTS_FOLDER: that of a run whose figures are not the published ones, such as `npm run proof`. */
const FOLDER = process.env.RESULTS_FOLDER ?? fileURLToPath(new URL('../results/', import.meta.url))

/**
 * Writes `<name>.json` with the raw data, a `.md` page and a `.svg` for each plot, in place of those of the run before:
 * docs link to them, and the history has the earlier ones.
 * @param {string} name
 * @param {Record<string, unknown>} result
 * @param {(plotFile: (plot: string) => string) => string} page which says when and how it was measured
 * @param {{ plots?: Record<string, string>, folder?: string }} [options] plots: SVG by name
 * @returns {string[]} paths of the files, relative to the working directory
 */
export function saveResults (name, result, page, { plots = {}, folder = FOLDER } = {}) {
  mkdirSync(folder, { recursive: true })
  const base = path.join(folder, name)
  const plotFile = (/** @type {string} */ plot) => `${base}-${plot}.svg`
  const files = {
    [`${base}.json`]: rawData(result),
    [`${base}.md`]: page((plot) => path.basename(plotFile(plot))),
    ...Object.fromEntries(Object.entries(plots).map(([plot, svg]) => [plotFile(plot), svg]))
  }
  for (const [file, content] of Object.entries(files)) writeFileSync(file, content)
  return Object.keys(files).map((file) => path.relative(process.cwd(), file))
}

/** @param {Record<string, unknown>} result @returns {string} JSON with a line for each part */
const rawData = (result) =>
  `{\n${Object.entries(result).filter(([, part]) => part !== undefined)
    .map(([name, part]) => ` ${JSON.stringify(name)}: ${JSON.stringify(part)}`).join(',\n')}\n}\n`
