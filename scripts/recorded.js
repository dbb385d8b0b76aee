/**
 * Runs a ring of tests that report measurements, and saves the table in bench/results.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../bench/measure/environment.js'
import { machineMs, othersShare } from '../bench/measure/machine.js'
import { serviceVersions } from '../bench/measure/services.js'
import { saveResults } from '../bench/report/results.js'
import { makeDirectory, removeDirectory } from '../test/services/directory.js'

/** @typedef {Awaited<ReturnType<typeof environment>>} Environment */

/**
 * Arguments of the command line: names of the ring's files, then after `--` options for node --test.
 *
 * @template Row
 * @param {object} options
 * @param {string} options.ring
 * @param {string} options.variable environment variable with the path of the file to which tests append rows, one line
 *   of JSON each
 * @param {Record<string, string>} [options.env] further environment variables, unless set already
 * @param {(rows: Row[]) => string} options.table
 * @param {(rows: Row[], where: Environment, busy: number) => string} options.page busy: share of the cores' time, 0 to
 *   1
 * @returns {Promise<number>} exit code: that of scripts/test.js, 2 for a file that does not exist
 */
export async function runRecorded ({ ring, variable, env = {}, table, page }) {
  const args = process.argv.slice(2)
  const end = args.indexOf('--')
  const files = (end === -1 ? args : args.slice(0, end)).map((name) => `test/${ring}/${name}.test.js`)
  const unknown = files.filter((file) => !existsSync(file))
  if (unknown.length > 0) {
    console.error(`no such file: ${unknown.join(', ')}`)
    return 2
  }

  const where = environment(await serviceVersions())
  const directory = makeDirectory(ring)
  const path = join(directory, 'rows.jsonl')
  const begin = { worked: machineMs(), at: performance.now() }
  const child = spawn(
    process.execPath,
    ['scripts/test.js', ...(files.length > 0 ? files : [ring]), ...(end === -1 ? [] : args.slice(end))],
    {
      stdio: 'inherit',
      env: { ...env, ...process.env, [variable]: path }
    }
  )
  // the child ends gracefully and its rows are kept; Ctrl-C reaches it directly
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  const [code] = await once(child, 'exit')
  const busy = othersShare(machineMs() - begin.worked, 0, performance.now() - begin.at)

  /** @type {Row[]} */
  const rows = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').map((line) => JSON.parse(line)) : []
  removeDirectory(directory)
  if (rows.length > 0) {
    console.log(table(rows))
    console.log(`saved to ${saveResults(ring, { ...where, busy, rows }, () => page(rows, where, busy)).join(' and ')}`)
  }
  return code ?? 1
}
