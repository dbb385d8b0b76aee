import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(`${ROOT}docs/glossary.md`, 'utf8')
const [defined, replaced] = page.split('\n## Replaced terms\n')

/** @param {string} text @returns {string[]} first cells of the rows of its tables */
const firstCells = (text) =>
  [...text.matchAll(/^\| (?!-)(.+?) \| .+ \|$/gm)].map(([, cell]) => cell)
    .filter((cell) => cell !== 'term' && cell !== 'not' && !/^-+$/.test(cell))

/** Words of prose without a noun (whoever does …), of which all comments and texts are free. */
/** A value of a setting that says what it means: who may signal. */
const VALUES = /'nobody'|must be nobody,/g

const VAGUE = ['whoever', 'whatever', 'somebody', 'nobody', 'anew']
const PLAIN = readdirSync(`${ROOT}src`, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** Files that have a replaced word because others named it: interfaces of libraries, names of the contract. */
const KEPT = /** @type {Record<string, string[]>} */ ({})

/** @param {string} text @returns {Set<string>} its words in lower case, names of several words taken apart */
function wordsOf (text) {
  // decisions keep their file names
  const own = text.replaceAll(/decisions\/[\w.-]+/g, '')
  return new Set((own.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((word) => word.toLowerCase()))
}

describe('glossary', () => {
  test('has each term once', () => {
    const terms = firstCells(defined).flatMap((cell) => cell.split(', '))
    assert.ok(terms.length > 40)
    assert.deepEqual(terms.filter((term, i) => terms.indexOf(term) !== i), [])
  })

  test('replaces no term that it defines', () => {
    const terms = firstCells(defined).flatMap((cell) => cell.split(', '))
    for (const cell of firstCells(replaced)) assert.ok(!terms.includes(cell.replaceAll('`', '')), cell)
  })

  test('folders that were rewritten stay free of vague subjects', () => {
    for (const folder of PLAIN) {
      for (const name of readdirSync(`${ROOT}src/${folder}`, { recursive: true, encoding: 'utf8' })) {
        if (!name.endsWith('.js')) continue
        const words = wordsOf(readFileSync(`${ROOT}src/${folder}/${name}`, 'utf8').replaceAll(VALUES, ''))
        assert.deepEqual(VAGUE.filter((word) => words.has(word)), [], `src/${folder}/${name}`)
      }
    }
  })

  test('replaced terms are not in src', () => {
    const words = firstCells(replaced).map((cell) => cell.replaceAll('`', ''))
    assert.ok(words.length > 0)
    /** @type {string[]} */
    const found = []
    for (const name of readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.js')) continue
      const there = wordsOf(`${name} ${readFileSync(`${ROOT}src/${name}`, 'utf8')}`)
      for (const word of words) {
        if ((there.has(word) || there.has(`${word}s`)) && !KEPT[word]?.includes(name)) found.push(`src/${name}: ${word}`)
      }
    }
    assert.deepEqual(found, [])
  })
})
