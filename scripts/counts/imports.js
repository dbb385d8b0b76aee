import { readFileSync } from 'node:fs'
import path from 'node:path'

/** The graph of imports, also of types in JSDoc, which dependency-cruiser does not see. */

const IMPORT = /\bfrom '(\.[^']+\.js)'|\bimport\('(\.[^']+\.js)'\)|^import '(\.[^']+\.js)'/gm

/** @typedef {Map<string, string[]>} Graph imports by file */

/**
 * The areas of src: each one imports only those before it. The linter reads this list too, for imports of code.
 * @type {string[]}
 */
export const AREAS = JSON.parse(readFileSync(new URL('../areas.json', import.meta.url), 'utf8'))

/** @param {(file: string) => string} read @param {string[]} files @returns {Graph} */
export function graphOf (files, read) {
  return new Map(
    files.map((file) => [
      file,
      [...new Set([...read(file).matchAll(IMPORT)].map((found) =>
        path.posix.join(path.posix.dirname(file), found[1] ?? found[2] ?? found[3])
      ))]
    ])
  )
}

/**
 * @param {Graph} graph
 * @returns {string[]} circles as `a → b → a`: the shortest one of each group of files that reach each other
 */
export function circlesOf (graph) {
  const seen = new Set()
  const circles = []
  for (const file of graph.keys()) {
    const circle = shortestCircle(graph, file)
    if (circle === null || circle.some((one) => seen.has(one))) continue
    for (const one of circle) seen.add(one)
    circles.push([...circle, file].join(' → '))
  }
  return circles
}

/** @param {Graph} graph @param {string} start @returns {string[] | null} breadth first */
function shortestCircle (graph, start) {
  /** @type {Map<string, string | null>} the previous file on the path to each file */
  const reached = new Map([[start, null]])
  for (const file of reached.keys()) {
    for (const next of graph.get(file) ?? []) {
      if (next === start) return wayTo(file, reached)
      if (!reached.has(next)) reached.set(next, file)
    }
  }
  return null
}

/** @param {string} file @param {Map<string, string | null>} reached @returns {string[]} */
function wayTo (file, reached) {
  const before = reached.get(file)
  return before == null ? [file] : [...wayTo(before, reached), file]
}

/** @param {Graph} graph @returns {string[]} imports between folders, as `a → b`, each once */
export function arrowsOf (graph) {
  const arrows = [...graph].flatMap(([file, imported]) =>
    imported.map((other) => [path.posix.dirname(file), path.posix.dirname(other)]))
  return [...new Set(arrows.filter(([from, to]) => from !== to).map((arrow) => arrow.join(' → ')))].sort()
}

/** @param {string} file @returns {string} its area, or another folder of src */
const areaOf = (file) => file.split('/')[1]

/**
 * @param {Graph} graph
 * @returns {string[]} imports of an area that stands later in the list, as `file → file`. Demo and load are no areas:
 *   the command and the roles load them
 */
export function upwardsOf (graph) {
  return [...graph].flatMap(([file, imported]) => {
    const later = AREAS.slice(AREAS.indexOf(areaOf(file)) + 1)
    return AREAS.includes(areaOf(file))
      ? imported.filter((other) => later.includes(areaOf(other))).map((other) => `${file} → ${other}`)
      : []
  })
}

/** @param {Graph} graph @returns {number[][]} for each area the number of its imports from each area */
export function importsByArea (graph) {
  const numbers = AREAS.map(() => AREAS.map(() => 0))
  for (const [file, imported] of graph) {
    for (const other of imported) {
      const row = numbers[AREAS.indexOf(areaOf(file))]
      const at = AREAS.indexOf(areaOf(other))
      if (row !== undefined && at >= 0) row[at]++
    }
  }
  return numbers
}
