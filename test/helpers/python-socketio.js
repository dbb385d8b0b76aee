import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onPath } from '../services/install.js'

/** python-socketio, a client of the Socket.IO protocol that shares no code with the JavaScript ones. */

const PACKAGES = ['python-socketio==5.18.1', 'requests==2.34.2', 'websocket-client==1.9.2']
const folder = join(homedir(), '.cache', 'inkcast', PACKAGES[0])
const python = join(folder, 'bin', 'python')
const run = promisify(execFile)

/** @returns {Promise<string | false>} why it is not available, as a reason to skip; installs it */
export async function lacksPythonSocketio () {
  if (!onPath('python3')) return 'there is no python3'
  if (existsSync(join(folder, 'complete'))) return false
  try {
    await run('python3', ['-m', 'venv', folder])
    await run(python, ['-m', 'pip', 'install', '--quiet', ...PACKAGES], { timeout: 120_000 })
    await run('touch', [join(folder, 'complete')])
    return false
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    return `python-socketio cannot be installed: ${String(error).split('\n')[0]}`
  }
}

/**
 * Starts test/helpers/python_client.py.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string[]} args
 */
export function startPythonClient (t, ...args) {
  const file = fileURLToPath(new URL('python_client.py', import.meta.url))
  const child = spawn(python, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  /** @type {any[]} */
  const printed = []
  createInterface(child.stdout).on('line', (line) => printed.push(JSON.parse(line)))
  return { printed, end: () => child.stdin.end('\n') }
}
