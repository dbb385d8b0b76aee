import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'

/**
 * docs/internals/mqtt.md has every numbered statement of both versions once, and what it says is shown by a test.
 */

const PAGE = 'docs/internals/mqtt.md'
/** Statements of the specifications, by the prefix that code and tests give their numbers. */
const COUNTS = { MQTT: 141, MQTT5: 251 }
const NUMBER = /\[(MQTT5?)-(\d+[-.]\d+(?:\.\d+)?-\d+)\]/g
const root = new URL('../../../', import.meta.url)
const read = (/** @type {string} */ path) => readFileSync(new URL(path, root), 'utf8')
const page = read(PAGE)

/** Statements with the tests of their row; none: the row needs no test. */
const statements = page.split('\n## ').flatMap((section) => {
  const intro = section.slice(0, section.indexOf('\n|'))
  const own = [...intro.matchAll(/\]\(\.\.\/\.\.\/(test\/[^)]+)\)/g)].map(([, path]) => path)
  return section.split('\n').filter((line) => line.startsWith('| ') && !line.includes('---')).slice(1).flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    const tests = [...own, ...[...line.matchAll(/\]\(\.\.\/\.\.\/(test\/[^)]+)\)/g)].map(([, path]) => path)]
    // in the last table the statements come after their group
    const [four, five] = section.startsWith('Others') ? cells.slice(2) : cells.slice(1)
    const named = (/** @type {string} */ prefix, /** @type {string} */ cell) =>
      cell.split(',').map((one) => one.trim()).filter(Boolean).map((one) => ({ name: `[${prefix}-${one}]`, tests }))
    return [...named('MQTT', four), ...named('MQTT5', five)]
  })
})

test('every statement of both versions is there, once', () => {
  for (const [prefix, count] of Object.entries(COUNTS)) {
    const names = statements.map(({ name }) => name).filter((name) => name.startsWith(`[${prefix}-`))
    assert.equal(names.length, count, prefix)
    assert.equal(new Set(names).size, count, prefix)
    for (const name of names) assert.match(name, new RegExp(`^${NUMBER.source}$`))
  }
})

test('a test that the row names shows each', () => {
  const texts = new Map([...new Set(statements.flatMap(({ tests }) => tests))].map((path) => [path, read(path)]))
  const missing = statements.filter(({ name, tests }) =>
    tests.length > 0 && !tests.some((path) => texts.get(path)?.includes(name)))
  assert.deepEqual(missing, [])
  for (const [path, text] of texts) {
    const wanted = statements.filter(({ tests }) => tests.includes(path))
    assert.ok(wanted.some(({ name }) => text.includes(name)), `${path} shows none of its rows`)
  }
})

test('every number in code and tests is a statement', () => {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true }).map((path) => `${folder}/${path}`).filter((path) => path.endsWith('.js')))
  const known = new Set(statements.map(({ name }) => name))
  const wrong = files.flatMap((path) =>
    [...read(path).matchAll(NUMBER)].map(([name]) => name).filter((name) => !known.has(name)).map((name) => `${path}: ${name}`))
  assert.deepEqual(wrong, [])
})
