import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { isTraced, readUsage } from '../../../src/base/process/usage.js'
import { waitFor } from '../../helpers/wait.js'

const onLinux = { skip: process.platform === 'linux' ? false : 'there is no /proc here' }

test('of a process: its state and its CPU time', onLinux, async (t) => {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  t.after(() => { child.kill('SIGKILL') })
  const pid = /** @type {number} */ (child.pid)
  await waitFor(() => readUsage(pid).cpuMs >= 200, { timeout: 20_000, message: () => readUsage(pid) })
  child.kill('SIGSTOP')
  await waitFor(() => readUsage(pid).state === 'T', { timeout: 20_000, message: () => readUsage(pid) })
  const { cpuMs } = readUsage(pid)
  assert.equal(readUsage(pid).cpuMs, cpuMs)
  assert.ok(readUsage(pid).queuedMs >= 0)
  assert.equal(isTraced(pid), false)
})

test('of a process that has ended: nothing', () => {
  const { cpuMs, queuedMs } = readUsage(2 ** 30)
  assert.deepEqual([cpuMs, queuedMs, isTraced(2 ** 30)], [0, 0, false])
})
