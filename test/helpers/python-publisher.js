import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onPath } from '../services/install.js'

/** The package `inkcast` for Python, from packages/python, with the one library that it needs. */

const PACKAGE = 'urllib3==2.6.3'
const folder = join(homedir(), '.cache', 'inkcast', PACKAGE)
const python = join(folder, 'bin', 'python')
const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL('../../packages/python', import.meta.url)), PYTHONDONTWRITEBYTECODE: '1' }
const run = promisify(execFile)

/** @returns {Promise<string | false>} why it is not available, as a reason to skip; installs it */
export async function lacksPythonPublisher () {
  if (!onPath('python3')) return 'there is no python3'
  if (existsSync(join(folder, 'complete'))) return false
  try {
    await run('python3', ['-m', 'venv', folder])
    await run(python, ['-m', 'pip', 'install', '--quiet', PACKAGE], { timeout: 120_000 })
    await run('touch', [join(folder, 'complete')])
    return false
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    return `urllib3 cannot be installed: ${String(error).split('\n')[0]}`
  }
}

/** @param {string} code @returns {Promise<string>} what the program prints */
export const runPython = async (code) => (await run(python, ['-c', code], { env })).stdout.trim()

/**
 * A Publisher in Python, whose time passes only while it waits.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 */
export function startPythonPublisher (t, url) {
  const file = fileURLToPath(new URL('python_publisher.py', import.meta.url))
  const child = spawn(python, [file, url], { stdio: ['pipe', 'pipe', 'inherit'], env })
  t.after(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  /**
   * @param {string} method @param {unknown[]} args @param {object} [options]
   * @returns {Promise<{ result?: any, error?: any }>}
   */
  return async function call (method, args, options = {}) {
    child.stdin.write(`${JSON.stringify([method, args, options])}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error('the program in Python has ended')
    return JSON.parse(value)
  }
}
