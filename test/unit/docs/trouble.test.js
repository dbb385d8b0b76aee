import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ERRORS } from '../../../src/base/common/errors.js'
import { SETTINGS } from '../../helpers/settings.js'

/** Codes, metrics, settings and log lines that the how-tos quote exist in the code. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const read = (/** @type {string} */ path) => readFileSync(ROOT + path, 'utf8')
const pages = ['how-to', 'tutorials'].flatMap((folder) =>
  readdirSync(`${ROOT}docs/${folder}`).map((name) => ({ name, text: read(`docs/${folder}/${name}`).replaceAll(/^```[^]*?^```/gm, '') })))
const code = ['src', 'client'].flatMap((folder) => readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.js') && !name.startsWith('dist/')).map((name) => read(`${folder}/${name}`))).join('\n')

/** @param {RegExp} pattern @returns {{ page: string, found: string }[]} */
const all = (pattern) => pages.flatMap(({ name, text }) =>
  [...text.matchAll(pattern)].map(([, found]) => ({ page: name, found })))

test('metrics that the how-tos name are documented', () => {
  const metrics = read('docs/metrics.md')
  const named = all(/\b(inkcast_[a-z_]+)/g)
  assert.ok(named.length > 15)
  assert.deepEqual(named.filter(({ found }) => !metrics.includes(`\`${found}\``)), [])
})

/** Variables of the environment that no file of settings has. */
const ENVIRONMENT = ['NODE_ENV', 'INKCAST_ENV_FILE']

test('settings that the how-tos name exist', () => {
  const named = all(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g).filter(({ found }) => !ENVIRONMENT.includes(found))
  assert.ok(named.length > 30)
  assert.deepEqual(named.filter(({ found }) => !SETTINGS.has(found)), [])
})

test('log lines that the how-tos quote are in the code', () => {
  const lines = all(/(?:log|[Ll]og lines?|has the line)(?: says)? ((?:`[^`]+`(?:, )?)+)/g)
    .flatMap(({ page, found }) => [...found.matchAll(/`([^`]+)`/g)].map(([, line]) => ({ page, found: line })))
  assert.ok(lines.length > 6)
  assert.deepEqual(lines.filter(({ found }) => !code.includes(found)), [])
})

/** First cells that are stages, reasons of a resync, columns and metrics. */
const NOT_CODES = /^(?:inkcast_.*|\w+_ingested|\w+_received|\w+_written|trimmed|epoch|opened|overflow|reason)$/

test('codes in the first column of the trouble page are errors', () => {
  const { text } = /** @type {{ text: string }} */ (pages.find(({ name }) => name === 'trouble.md'))
  const codes = [...text.matchAll(/^\| (?:4\d\d )?`([a-z]+_?[a-z_]+)`/gm)].map(([, one]) => one)
    .filter((one) => !NOT_CODES.test(one))
  assert.ok(codes.length > 12)
  assert.deepEqual(codes.filter((one) => !(one in ERRORS)), [])
})
