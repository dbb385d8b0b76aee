import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const HOST = new URL('../../../src/operate/launcher/host.js', import.meta.url)

/** A launcher whose folder another one replaces, as in an upgrade. Its processes print what they read. */
const LAUNCHER = `
  import { once } from 'node:events'
  import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
  import { launcherHost } from ${JSON.stringify(HOST.href)}
  writeFileSync('.env', 'old')
  const folder = process.cwd()
  writeFileSync('../child.mjs', "import { readFileSync } from 'node:fs'; console.log(readFileSync('.env', 'utf8')); process.exit()")
  renameSync(folder, folder + '-old')
  mkdirSync(folder)
  writeFileSync(folder + '/.env', 'new')
  for (const clustered of [false, true])
    await once(launcherHost.fork({ file: folder + '/../child.mjs', clustered, env: process.env, execArgv: [] }), 'exit')
`

test('after an upgrade processes read the .env of the new folder, although the launcher runs in the old one', async (t) => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'inkcast-host-')))
  t.after(() => rmSync(directory, { recursive: true }))
  const { stdout } = await promisify(execFile)('/bin/sh', [
    '-c', 'mkdir current && cd current && exec "$0" --input-type=module --eval "$1"', process.execPath, LAUNCHER
  ], { cwd: directory })
  assert.equal(stdout, 'new\nnew\n')
})
