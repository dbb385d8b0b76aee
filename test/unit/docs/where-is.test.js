import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../../../', import.meta.url)

test('architecture.md names an existing file for each behavior', () => {
  const text = readFileSync(new URL('docs/internals/architecture.md', ROOT), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith('Where is')) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| ')).slice(1)
  assert.ok(rows.length >= 60)
  for (const row of rows) {
    const paths = [...row.matchAll(/`((?:src|client|packages|scripts|bench|test)\/[^`]+)`/g)].map(([, path]) => path)
    assert.ok(paths.length > 0, row)
    for (const path of paths) assert.ok(existsSync(new URL(path, ROOT)), path)
  }
})

test('every file that architecture.md names exists', () => {
  const text = readFileSync(new URL('docs/internals/architecture.md', ROOT), 'utf8')
  const paths = new Set([...text.matchAll(/`((?:src|test|client|packages|scripts|bench)\/[\w./-]+)`/g)].map(([, path]) => path))
  assert.ok(paths.size > 40)
  assert.deepEqual([...paths].filter((path) => !existsSync(new URL(path, ROOT))), [])
})

test('every file that architecture.md names without its folder exists', () => {
  const text = readFileSync(new URL('docs/internals/architecture.md', ROOT), 'utf8')
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT }).toString().split('\n')
  const names = new Set(files.map((file) => file.split('/').at(-1)))
  const named = new Set([...text.matchAll(/`([\w.-]+\.(?:js|lua|md))`/g)].map(([, name]) => name))
  assert.ok(named.size > 10)
  assert.deepEqual([...named].filter((name) => !names.has(name)), [])
})

test('the folder table of architecture.md has every folder of src, and of its areas', () => {
  const text = readFileSync(new URL('docs/internals/architecture.md', ROOT), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith('Folders')) ?? ''
  const named = [...section.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell]) => cell.match(/src\/[\w/]+/g) ?? [])
  const foldersOf = (/** @type {string} */ folder) => readdirSync(new URL(folder, ROOT), { withFileTypes: true })
    .filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}${name}/`)
  const folders = foldersOf('src/').flatMap((folder) => {
    const files = readdirSync(new URL(folder, ROOT)).filter((name) => name.endsWith('.js'))
    return files.length > 0 ? [folder] : foldersOf(folder)
  })
  assert.ok(folders.length > 30)
  assert.deepEqual(folders.filter((folder) => !named.includes(folder)), [])
})
