import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)
const rows = readFileSync(new URL('docs/internals/promises.md', ROOT), 'utf8').split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| promise '))
  .map((line) => line.split(' | ').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name)))

/** @param {string} folder @param {RegExp} ending @returns {string[]} names without their ending */
const namesIn = (folder, ending) =>
  readdirSync(new URL(`test/simulation/${folder}`, ROOT)).map((file) => file.replace(ending, '')).sort()

test('each test that the table of promises names exists', () => {
  for (const [, , tests] of rows) {
    assert.ok(tests.length > 0)
    for (const name of tests) {
      const path = new URL(`test/${name}`, ROOT)
      assert.ok(existsSync(`${path.pathname}.test.js`) || existsSync(path), name)
    }
  }
})

test('each check of the simulation and each mutation belongs to a promise', () => {
  const named = (/** @type {number} */ column) => new Set(rows.flatMap((cells) => cells[column]))
  const mutations = namesIn('mutations', /\.patch$/)
  assert.deepEqual(mutations.filter((name) => !named(3).has(name)), [])
  assert.deepEqual([...named(3)].filter((name) => !mutations.includes(name)), [])
  assert.deepEqual(namesIn('oracle', /$/).filter((name) => !named(1).has(name)), [])
})
