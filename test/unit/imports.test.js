import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/**
 * Circular imports of modules, and of types in JSDoc, which dependency-cruiser does not see: files that use each
 * other's types can only be understood together.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const IMPORT = /\bfrom '(\.[^']+\.js)'|\bimport\('(\.[^']+\.js)'\)|^import '(\.[^']+\.js)'/gm

/** @param {string} folder @returns {string[]} paths from the root */
const filesOf = (folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js') && !/^(?:demo|admin)\/page\//.test(file))
    .map((file) => path.posix.join(folder, file))

/** @typedef {Map<string, string[]>} Graph imports by file */

/** @param {(file: string) => string} read @param {string[]} files @returns {Graph} */
function graphOf (files, read) {
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
function circlesOf (graph) {
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

test('circular imports are found, also of types', () => {
  /** @type {Record<string, string>} */
  const files = {
    'a.js': 'import { b } from \'./b.js\'',
    'b.js': '/** @param {import(\'./x/c.js\').C} c */',
    'x/c.js': 'export { a } from \'../a.js\'',
    'd.js': 'import \'./a.js\''
  }
  assert.deepEqual(circlesOf(graphOf(Object.keys(files), (file) => files[file])), ['a.js → b.js → x/c.js → a.js'])
})

test('there are no circular imports or JSDoc types', () => {
  const files = [...filesOf('src'), ...filesOf('client')]
  const graph = graphOf(['cluster.js', ...files], (file) => readFileSync(path.join(ROOT, file), 'utf8'))
  assert.ok([...graph.values()].flat().length > files.length, 'imports are found')
  assert.deepEqual(circlesOf(graph), [])
})
