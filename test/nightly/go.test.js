import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { codeBlocks } from '../helpers/code-blocks.js'
import { startEmbedded } from '../helpers/embedded.js'
import { temporaryFolder } from '../helpers/tarballs.js'
import { onPath } from '../services/install.js'

const PAGE = 'docs/how-to/publish-from-your-framework.md'

test('Go publishes a record, and gets the reason of a refusal', {
  skip: onPath('go') ? false : 'there is no go', timeout: 300_000
}, async (t) => {
  const { apiUrl } = await startEmbedded(t)
  const [{ code }] = codeBlocks().filter(({ file, language, code }) =>
    file === PAGE && language === 'go' && code.includes('package inkcast'))
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'inkcast'))
  writeFileSync(join(folder, 'inkcast', 'inkcast.go'), code)
  writeFileSync(join(folder, 'go.mod'), 'module run\n\ngo 1.21\n')
  writeFileSync(join(folder, 'main.go'), [
    'package main', 'import ("context"; "fmt"; "run/inkcast")', 'func main() {',
    `c := inkcast.Client{API: "${apiUrl}", Token: "none"}`,
    'fmt.Println(c.Publish(context.Background(), "a/b", "edit", "one", map[string]int{"line": 1}))',
    'fmt.Println(c.Publish(context.Background(), "a/b", "doc:edit", "two", 1))', '}', ''
  ].join('\n'))
  const env = { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' }
  const { stdout } = await promisify(execFile)('go', ['run', '.'], { cwd: folder, env })
  assert.match(stdout, /^<nil>\nnot published: 400 Bad Request .*reserved_event/)
  const { records } = await (await fetch(`${apiUrl}/v1/documents/a%2Fb/history`)).json()
  assert.deepEqual(records.map((/** @type {any} */ { event, value }) => [event, value]), [['edit', { line: 1 }]])
})
