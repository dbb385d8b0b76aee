import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'

const PRELOADED = new URL('../helpers/end-of-tests.js', import.meta.url).href

/** @param {import('node:test').TestContext} t @param {string} code of a test file that is run */
function run (t, code) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'inkcast-end-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'one.test.js')
  writeFileSync(file, `const { test } = require('node:test')\n${code}`)
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, TEST_END_PATIENCE: '300' }
  delete env.NODE_TEST_CONTEXT // it is no file of this run
  return spawnSync(process.execPath, ['--test', '--import', PRELOADED, '--test-reporter=spec', file], {
    env, encoding: 'utf8', timeout: 60_000
  })
}

test('a test file whose process stays alive fails, and says what keeps it alive', (t) => {
  const { status, stdout, stderr } = run(t, `test('leaves a server', () => { require('node:net').createServer().listen(0) })`)
  assert.equal(status, 1)
  assert.match(stdout + stderr, /0\.3 s after its last test, "leaves a server", this keeps the process alive:[^]*TCPServerWrap/)
})

test('a test that takes longer than that is not cut', (t) => {
  const { status, stdout } = run(t, `test('slow', () => new Promise((resolve) => { setTimeout(resolve, 900) }))`)
  assert.equal(status, 0, stdout)
})

test('a process that ends during a test fails, and says which', (t) => {
  const { status, stdout, stderr } = run(t, `test('good', () => {}); test('early', () => process.exit(0)); test('late', () => {})`)
  assert.equal(status, 1)
  assert.match(stdout + stderr, /the process ends in the test "early"/)
})

test('skipped tests and tests in tests are no running tests', (t) => {
  const { status, stdout } = run(t, `test('a', (t) => t.skip()); test('b', { skip: true }, () => {}); test('c', { todo: true }, () => {})
    test('d', (t) => t.test('e', () => {})); require('node:test').describe('f', () => { test('g', () => {}) })`)
  assert.equal(status, 0, stdout)
})
