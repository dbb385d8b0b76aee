import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { HOOKS } from '../../src/base/common/hooks.js'
import { BLOCKS } from '../../src/config/blocks.js'
import { arrowsOf, circlesOf, graphOf, upwardsOf } from './imports.js'

/**
 * The size of the project. `src` is the server: the demo and the load generator are packages. Lines count in
 * hundreds, so that a sentence in a comment is no growth.
 *
 * @typedef {Record<'src files' | 'src lines' | 'settings' | 'private parts' | 'arrows' | 'arrows up' | 'circles' |
 *   'test files' | 'test lines', number>} Counts
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const NUMBERS = path.join(ROOT, 'scripts/counts/counts.json')
const COMMAND = 'npm run counts -- --write'

/** @param {string} folder @returns {string[]} all files of text, as paths from the root */
const filesIn = (folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:png|ico|woff2?)$/.test(entry.name))
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))

/** @param {string} file */
const read = (file) => readFileSync(path.join(ROOT, file), 'utf8')

/** @param {string[]} files */
const linesOf = (files) =>
  100 * Math.round(files.reduce((sum, file) => sum + read(file).split('\n').length - 1, 0) / 100)

/**
 * @param {string[]} [src] its files
 * @returns {import('./imports.js').Graph} without the pages, which browsers import
 */
export const graphOfServer = (src = filesIn('src')) =>
  graphOf(src.filter((file) => file.endsWith('.js') && !file.startsWith('src/operate/admin/page/')), read)

/** @returns {Counts} */
export function count () {
  // extensions/types is built
  const src = filesIn('src').filter((file) => !file.startsWith('src/gateway/extensions/types/'))
  const tests = filesIn('test').filter((file) => !file.startsWith('test/output/'))
  const graph = graphOfServer(src)
  return {
    'src files': src.length,
    'src lines': linesOf(src),
    settings: Object.values(BLOCKS).flatMap(({ settings }) => Object.keys(settings)).length,
    'private parts': HOOKS.length,
    arrows: arrowsOf(graph).length,
    'arrows up': upwardsOf(graph).length,
    circles: circlesOf(graph).length,
    'test files': tests.length,
    'test lines': linesOf(tests)
  }
}

/** @returns {Counts} the committed ones */
export const committed = () => JSON.parse(readFileSync(NUMBERS, 'utf8'))

/** @param {Counts} counts @returns {string} the file of committed counts */
export const written = (counts) => `${JSON.stringify(counts, null, 2)}\n`

/**
 * @param {Counts} before
 * @param {Counts} now
 * @returns {string[]} a sentence for each count that differs
 */
export const changes = (before, now) =>
  /** @type {(keyof Counts)[]} */ (Object.keys(now)).flatMap((name) => {
    const [was, is] = [before[name], now[name]]
    if (is === was) return []
    return is > was
      ? [`${name} grew from ${was} to ${is}: take something away, or accept the growth deliberately with \`${COMMAND}\``]
      : [`${name} went from ${was} to ${is}: keep the smaller number with \`${COMMAND}\``]
  })
