/**
 * Runs the parts of the proof, one after the other.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * @typedef {import('./parts.js').Part} Part
 *
 * @typedef {object} Outcome
 * @property {Part} part
 * @property {string} command
 * @property {string} date of its end, ISO 8601
 * @property {number} minutes
 * @property {import('./parts.js').Shown | undefined} shown undefined: it did not run to its end
 * @property {number | null} code exit code of the command; null: it was ended by a signal
 */

/**
 * @param {Part[]} parts
 * @param {object} options
 * @param {'full' | 'quick'} options.scale
 * @param {string} options.folder for the results of the parts; what they had there before is removed
 * @param {AbortSignal} options.signal aborted: the running part is interrupted, and no further one begins
 * @param {(text: string) => void} options.say
 * @param {boolean} [options.goOn] a part whose command ran to its end with results in this folder is not run again
 * @returns {Promise<Outcome[]>} of those that ran
 */
export async function runParts (parts, { scale, folder, signal, say, goOn = false }) {
  let left = parts.reduce((sum, part) => sum + part[scale].minutes, 0)
  /** @type {Outcome[]} */
  const outcomes = []
  for (const part of parts) {
    if (signal.aborted) break
    say(`\n== ${part.name}: ${part.question} (${outcomes.length + 1} of ${parts.length}, about ${left} min remain)`)
    outcomes.push((goOn && earlier(part, scale, folder)) || await runPart(part, { scale, folder, signal }))
    left -= part[scale].minutes
  }
  return outcomes
}

/**
 * @param {Part} part
 * @param {{ scale: 'full' | 'quick', folder: string, signal: AbortSignal }} options
 * @returns {Promise<Outcome>}
 */
async function runPart (part, { scale, folder, signal }) {
  const { args } = part[scale]
  const files = filesOf(part, folder)
  for (const file of Object.values(files)) rmSync(file, { force: true })
  const begin = performance.now()
  const env = { ...process.env, ...part.env, RESULTS_FOLDER: folder }
  const child = spawn(process.execPath, args, { stdio: 'inherit', env })
  const interrupt = () => { child.kill('SIGINT') }
  signal.addEventListener('abort', interrupt)
  const [code] = await once(child, 'exit')
  signal.removeEventListener('abort', interrupt)
  const ran = {
    command: commandOf(part, scale), code,
    date: new Date().toISOString(), minutes: (performance.now() - begin) / 60_000
  }
  // a test or a limit may fail although all was measured: the results say what
  if (signal.aborted || !existsSync(files.results)) return { part, ...ran, shown: undefined }
  writeFileSync(files.ran, JSON.stringify(ran))
  return { part, ...ran, shown: part.read(JSON.parse(readFileSync(files.results, 'utf8'))) }
}

/** @param {Part} part @param {'full' | 'quick'} scale */
const commandOf = (part, scale) => ['node', ...part[scale].args].join(' ')

/** @param {Part} part @param {string} folder */
const filesOf = (part, folder) => ({
  results: path.join(folder, `${part.results}.json`),
  ran: path.join(folder, `${part.name}.ran.json`)
})

/**
 * @param {Part} part
 * @param {'full' | 'quick'} scale
 * @param {string} folder
 * @returns {Outcome | undefined} of an earlier run with the same command, or of the full one, which shows more
 */
function earlier (part, scale, folder) {
  const files = filesOf(part, folder)
  if (!existsSync(files.ran) || !existsSync(files.results)) return
  const ran = JSON.parse(readFileSync(files.ran, 'utf8'))
  if (![commandOf(part, scale), commandOf(part, 'full')].includes(ran.command)) return
  return { part, ...ran, shown: part.read(JSON.parse(readFileSync(files.results, 'utf8'))) }
}

/**
 * @param {Outcome} outcome
 * @returns {string[]} what was lost; also what failed without a reason in the results, such as a test of an attack
 */
export function lostOf ({ shown, code, command }) {
  if (shown === undefined) return [`the part did not run to its end: ${command}`]
  const { lost, limits = [] } = shown
  return code === 0 || lost.length > 0 || limits.length > 0 ? lost : [`exit code ${code} of ${command}: see what it printed`]
}
