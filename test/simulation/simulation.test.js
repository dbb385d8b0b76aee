import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../services/directory.js'
import { spawnGuarded } from '../services/guard.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Seeds of each of the two blocks. */
const BLOCK = 30

/** @returns {string} the same seeds in each run, and some that only this commit runs */
function seedsOfThisCommit () {
  const always = `1..${BLOCK}`
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const first = 1000 + Number.parseInt(commit.slice(0, 7), 16)
    return `${always},${first}..${first + BLOCK - 1}`
  } catch {
    return always // not a checkout
  }
}

test('no promise is broken in simulated worlds: named seeds, a fixed block, and a block of this commit', async (t) => {
  const directory = makeDirectory('simulation')
  t.after(() => removeDirectory(directory))
  const log = join(directory, 'output')
  const seeds = seedsOfThisCommit()
  t.diagnostic(`seeds ${seeds}`)
  const args = ['scripts/simulate.js', '--seeds', seeds, '--page', 'test/output/simulation.html']
  const child = spawnGuarded(process.execPath, args, { cwd: ROOT, log })
  t.after(() => child.stop(1000))
  const { code } = await child.finished()
  const output = readFileSync(log, 'utf8')
  assert.equal(code, 0, output)
  t.diagnostic(output.trimEnd().split('\n').at(-1) ?? '')
})
