import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onPath } from '../services/install.js'

const run = promisify(execFile)
/** For the packages and what they need, ms. */
const TIMEOUT = 180_000

/**
 * Packages for Python, in an environment of their own that later runs use again.
 * @param {readonly string[]} packages with their versions; the first one names the environment
 */
export function pythonEnvironment (packages) {
  const folder = join(homedir(), '.cache', 'inkcast', packages[0])
  const python = join(folder, 'bin', 'python')
  const complete = join(folder, 'complete')
  return {
    /** the interpreter that has them */
    python,
    /** @returns {Promise<string | false>} why they are not available, as a reason to skip; installs them */
    async lacks () {
      if (!onPath('python3')) return 'there is no python3'
      if (existsSync(complete)) return false
      try {
        await run('python3', ['-m', 'venv', folder])
        await run(python, ['-m', 'pip', 'install', '--quiet', ...packages], { timeout: TIMEOUT })
        await run('touch', [complete])
        return false
      } catch (error) {
        await rm(folder, { recursive: true, force: true })
        return `${packages[0]} cannot be installed: ${String(error).split('\n')[0]}`
      }
    }
  }
}
