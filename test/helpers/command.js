import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../services/directory.js'

const COMMAND = fileURLToPath(new URL('../../cluster.js', import.meta.url))

/**
 * A folder to run the command `inkcast` in.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {{ dotenv?: string, env?: Record<string, string> }} [options] dotenv: text of .env; env: the whole environment
 */
export function commandFolder (t, { dotenv, env = {} } = {}) {
  const folder = makeDirectory('command')
  t.after(() => removeDirectory(folder))
  if (dotenv !== undefined) writeFileSync(path.join(folder, '.env'), dotenv)

  /**
   * @param {string[]} args
   * @param {object} [options]
   * @param {string} [options.input]
   * @param {string} [options.before] shell commands
   * @param {Record<string, string>} [options.env]
   * @param {number} [options.timeout] ms
   */
  function start (args, { input, before = '', env: more = {}, timeout } = {}) {
    const child = spawn('sh', ['-c', `${before} exec "$0" "$@"`, process.execPath, COMMAND, ...args], {
      cwd: folder, env: { PATH: process.env.PATH, ...env, ...more }, stdio: ['pipe', 'pipe', 'pipe'], timeout
    })
    t.after(() => { child.kill('SIGKILL') })
    const output = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (chunk) => { output.stdout += chunk })
    child.stderr.setEncoding('utf8').on('data', (chunk) => { output.stderr += chunk })
    child.stdin.end(input)
    return {
      output,
      /** @type {Promise<{ code: number | null, stdout: string, stderr: string }>} */
      closed: once(child, 'close').then(([code]) => ({ code, ...output })),
      kill: (/** @type {NodeJS.Signals} */ signal) => child.kill(signal)
    }
  }

  return {
    folder,
    start,
    /** @param {string[]} args @param {Parameters<typeof start>[1]} [options] */
    run: (args, options) => start(args, { timeout: 120_000, ...options }).closed
  }
}
