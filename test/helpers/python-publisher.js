import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pythonEnvironment } from './python-environment.js'

/** The package `inkcast` for Python, from packages/python, with the one library that it needs. */

const { python, lacks } = pythonEnvironment(['urllib3==2.6.3'])
const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL('../../packages/python', import.meta.url)), PYTHONDONTWRITEBYTECODE: '1' }
const run = promisify(execFile)

export { lacks as lacksPythonPublisher }

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
