import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { PAGES, outdated } from '../../scripts/docs.js'
import { allowedValues, exampleOf } from '../../scripts/settings-page.js'
import { BLOCKS } from '../../src/config/blocks.js'
import { EXAMPLES } from '../../src/config/examples.js'
import { loadConfig } from '../../src/config/load.js'
import { ERRORS } from '../../src/base/common/errors.js'
import { parse } from '../../src/base/common/schema.js'
import { METRICS } from '../../src/observe/metrics/table/metrics-table.js'

test('the generated pages match the code (if not: npm run docs)', async () => {
  assert.deepEqual(await outdated(), [])
})

/** @type {[string, import('../../src/config/setting.js').Setting][]} */
const settings = Object.values(BLOCKS).flatMap((block) => Object.entries(block.settings))

test('every setting, error and metric has a row', () => {
  const rows = (/** @type {string} */ page) => page.split('\n').filter((line) => line.startsWith('| `'))
  const [configuration, errors, metrics] = [
    rows(PAGES['docs/configuration.md']().split('\n## ').slice(2).join('\n')),
    rows(PAGES['docs/errors.md']()),
    rows(PAGES['docs/metrics.md']().split('\n## ', 1)[0])
  ]
  assert.deepEqual(configuration.map((row) => /^\| `(\w+)` \|/.exec(row)?.[1]), settings.map(([name]) => name))
  assert.deepEqual(errors.map((row) => /^\| `(\w+)` \|/.exec(row)?.[1]), Object.keys(ERRORS))
  assert.equal(metrics.length, Object.keys(METRICS).length)
  // a | in a text would break its row
  for (const [list, columns] of /** @type {const} */ ([[configuration, 4], [errors, 5], [metrics, 5]])) {
    for (const row of list) assert.equal(row.match(/(?<!\\)\|/g)?.length, columns + 1, row)
  }
})

test('defaults of secrets are not shown', () => {
  const secrets = settings.filter(([, setting]) => setting.secret)
  assert.ok(secrets.length >= 4)
  for (const [name] of secrets) {
    assert.match(PAGES['docs/configuration.md'](), new RegExp(`^\\| \`${name}\` \\|  \\| .* Secret\\. \\|$`, 'm'))
    assert.doesNotMatch(PAGES['.env.example'](), new RegExp(`^#${name}=.`, 'm'))
  }
})

test('every setting has bounds or choices, and an example that is valid and not the default', () => {
  for (const [name, setting] of settings) {
    assert.notEqual(allowedValues(setting), '', name)
    assert.doesNotMatch(allowedValues(setting), /undefined|Infinity/, name)
    const example = exampleOf(name, setting)
    assert.notEqual(example, setting.default ?? '', name)
    assert.ok('value' in parse(setting.type, example), `${name}=${example}`)
  }
  const known = settings.map(([name]) => name)
  assert.deepEqual(Object.keys(EXAMPLES).filter((name) => !known.includes(name)), [])
})

test('.env.example has the settings that production needs, on one screen', () => {
  const text = PAGES['.env.example']()
  assert.ok(text.split('\n').length <= 40)
  const names = [...text.matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name)
  const required = readFileSync(new URL('../../docs/deployment.md', import.meta.url), 'utf8')
    .split('\n## ').find((part) => part.startsWith('Required settings')) ?? ''
  const cells = [...required.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell).join()
  const needed = [...cells.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name)
  assert.ok(needed.length >= 14)
  assert.deepEqual(needed.filter((name) => !names.includes(name)), [])
})

test('.env.example sets nothing, and with every line enabled it is valid and equals the defaults', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, '.env')
  const example = PAGES['.env.example']()
  const defaults = loadConfig({ env: {} })
  for (const text of [example, example.replaceAll(/^#([A-Z_]+=)/gm, '$1')]) {
    writeFileSync(file, text)
    assert.deepEqual(loadConfig({ env: {}, file }), defaults)
  }
})
