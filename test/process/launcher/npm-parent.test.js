import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isAlive } from '../../../src/base/process/alive.js'
import { waitFor } from '../../helpers/wait.js'

/** @param {number} pid @returns {number[]} */
const descendants = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  .flatMap((child) => [child, ...descendants(child)])

/** @param {number} pid @returns {string[]} the arguments of its command, without the shell that has them as one */
const commandOf = (pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGKILL'])) {
  test(`${signal} to "npm start" also ends the process that npm has started`, async (t) => {
    const npm = spawn('npm', ['start', '--silent'], {
      cwd: ROOT,
      env: { ...process.env, PORT: '0', WORKERS: '1', API_PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'info', INKCAST_ENV_FILE: '' },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let output = ''
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (/** @type {Buffer} */ data) => { output += data })
    t.after(() => npm.kill('SIGKILL'))
    await waitFor(() => output.includes('inkcast is running'), { timeout: 20_000, message: () => output })
    const pid = /** @type {number} */ (descendants(/** @type {number} */ (npm.pid)).find((id) => commandOf(id).includes('cluster.js')))
    t.after(() => { if (isAlive(pid)) process.kill(pid, 'SIGKILL') })
    assert.ok(isAlive(pid))
    npm.kill(signal)
    await waitFor(() => !isAlive(pid), { timeout: 10_000, message: () => output })
    if (npm.exitCode === null && npm.signalCode === null) await once(npm, 'exit')
  })
}
