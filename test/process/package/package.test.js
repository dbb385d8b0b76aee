import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** npm's errors without access to its registry. */
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED/

/** @param {string} cwd @param {string[]} args @returns {Promise<{ stdout: string, stderr: string }>} */
const npm = (cwd, ...args) =>
  promisify(execFile)('npm', [...args, '--no-audit', '--no-fund', '--ignore-scripts'], { cwd, timeout: 100_000 })

test('the package installs in an empty folder without a warning about this version of Node', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { stdout } = await npm(ROOT, 'pack', '--pack-destination', folder)
  const consumer = mkdtempSync(join(folder, 'consumer-'))
  writeFileSync(join(consumer, 'package.json'), '{}')
  try {
    // overrides of a package do not apply to dependencies: this is the tree that users get
    const { stderr } = await npm(
      consumer,
      'install',
      join(folder, /** @type {string} */ (stdout.trim().split('\n').at(-1))),
      '--package-lock-only',
      '--prefer-offline'
    )
    assert.doesNotMatch(stderr, /EBADENGINE|ERESOLVE|deprecated/)
  } catch (error) {
    if (!NO_REGISTRY.test(/** @type {any} */ (error).stderr ?? '')) throw error
    t.skip('npm cannot reach its registry')
  }
})
