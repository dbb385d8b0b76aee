import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { arrowsOf, circlesOf, graphOf } from '../../scripts/counts/imports.js'

/**
 * Circular imports of modules, and of types in JSDoc, which dependency-cruiser does not see: files that use each
 * other's types can only be understood together.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** @param {string} folder @returns {string[]} paths from the root */
const filesOf = (folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js') && !/^(?:demo|operate\/admin)\/page\//.test(file))
    .map((file) => path.posix.join(folder, file))

test('circular imports are found, also of types', () => {
  /** @type {Record<string, string>} */
  const files = {
    'a.js': 'import { b } from \'./b.js\'',
    'b.js': '/** @param {import(\'./x/c.js\').C} c */',
    'x/c.js': 'export { a } from \'../a.js\'',
    'd.js': 'import \'./a.js\''
  }
  assert.deepEqual(circlesOf(graphOf(Object.keys(files), (file) => files[file])), ['a.js → b.js → x/c.js → a.js'])
  assert.deepEqual(arrowsOf(graphOf(Object.keys(files), (file) => files[file])), ['. → x', 'x → .'])
})

test('there are no circular imports or JSDoc types', () => {
  const files = [...filesOf('src'), ...filesOf('client')]
  const graph = graphOf(['cluster.js', ...files], (file) => readFileSync(path.join(ROOT, file), 'utf8'))
  assert.ok([...graph.values()].flat().length > files.length, 'imports are found')
  assert.deepEqual(circlesOf(graph), [])
})
