import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { loadConfig } from '../../../src/config/load.js'
import { GATEWAY_FLAGS } from '../../../src/base/process/runtime-flags.js'
import { onPath } from '../../services/install.js'

const ROOT = new URL('../../../', import.meta.url)
const FOLDER = new URL('deploy/systemd/', ROOT)
const skip = !onPath('systemd-analyze') && 'there is no systemd-analyze'
/** Exposure that systemd-analyze computes, 0 to 10 times 10; "OK" ends at 44. */
const EXPOSURE = 25

/** @param {string} text @param {string} name @returns {string[]} */
const values = (text, name) => [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value)

describe('units of systemd', () => {
  const units = readdirSync(FOLDER).filter((name) => name.endsWith('.service'))
    .map((name) => ({ name, text: readFileSync(new URL(name, FOLDER), 'utf8') }))

  test('are valid, and give inkcast few rights', { skip }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
    t.after(() => rmSync(folder, { recursive: true }))
    assert.deepEqual(units.map(({ name }) => name), ['inkcast.service', 'inkcast@.service'])
    for (const { name, text } of units) {
      const file = join(folder, name.replace('@', '@gateway'))
      writeFileSync(file, text.replaceAll('/usr/bin/node', process.execPath))
      const { stderr } = await promisify(execFile)('systemd-analyze', ['verify', file])
      assert.equal(stderr.split('\n').filter((line) => line.includes('inkcast')).join('\n'), '')
      const args = ['security', '--offline=true', `--threshold=${EXPOSURE}`, file]
      await promisify(execFile)('systemd-analyze', args).catch((error) => {
        // before systemd 250
        if (!/offline/.test(error.stderr)) throw error
      })
    }
  })

  test('have the limits that a gateway needs, and time to drain', () => {
    const { gateway: { drainTimeout } } = loadConfig({ env: {} })
    for (const { name, text } of units) {
      assert.deepEqual(values(text, 'LimitNOFILE'), ['1048576'], name)
      assert.equal(values(text, 'TasksMax').length, 1, name)
      assert.equal(values(text, 'MemoryMax').length, 1, name)
      assert.ok(Number(values(text, 'TimeoutStopSec')[0]) * 1000 > drainTimeout + 5000, name)
      assert.deepEqual(values(text, 'Restart'), ['always'], name)
      assert.deepEqual(values(text, 'StartLimitIntervalSec'), ['0'], `${name}: repeated crashes must not end it`)
      assert.deepEqual(values(text, 'StartLimitBurst'), [], name)
      assert.ok(Number(values(text, 'RestartSec')[0]) >= 5, name)
    }
    const [{ text }] = units
    assert.deepEqual(values(text, 'KillMode'), ['mixed'], 'the launcher stops its processes')
    assert.deepEqual(values(text, 'OOMPolicy'), ['continue'], 'a worker without memory ends alone')
  })

  test('start files that exist, with the flags of the launcher', () => {
    const [machine, role] = units.map(({ text }) => values(text, 'ExecStart')[0])
    assert.equal(machine, '/usr/bin/node cluster.js')
    assert.equal(role, `/usr/bin/node ${GATEWAY_FLAGS.join(' ')} src/%i.js`)
    for (const name of ['gateway', 'ingest', 'api']) assert.ok(existsSync(new URL(`src/${name}.js`, ROOT)))
  })
})
