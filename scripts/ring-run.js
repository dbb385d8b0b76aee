/**
 * A running ring of tests: `node --test` with its files, and the results reported so far.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../test/services/directory.js'
import { spawnGuarded } from '../test/services/guard.js'
import { partsOf } from './ring-parts.js'
import { RINGS } from './rings.js'

const REPORTER = fileURLToPath(new URL('ring-reporter.js', import.meta.url))
const PRELOADED = new URL('../test/helpers/end-of-tests.js', import.meta.url).href
/**
 * Of each process with tests. Loaded modules live on, and a young generation of 1 MB is collected until it grows. Most
 * functions run for one test: optimizing them as early as in a server takes up to a sixth of the CPU time of a ring.
 */
const FLAGS = [
  '--min-semi-space-size=16',
  // V8 has counted calls since Node 22, and the bytes of what it runs before
  Number(process.versions.node.split('.')[0]) < 22 ? '--interrupt-budget=600000' : '--invocation-count-for-turbofan=27000'
]
/** File that a ring sees when no other one runs any more (GIVE_WAY_UNTIL). */
const ALONE = 'alone'
const SERVICE_VARIABLES = ['REDIS_URL', 'REDIS_CLUSTER_URL', 'KAFKA_BROKERS', 'KAFKA_CLASSPATH']

/**
 * @typedef {import('./ring-reporter.js').TestResult} TestResult
 * @typedef {import('./ring-reporter.js').FileEnd} FileEnd
 * @typedef {{ name: string, seconds: number, results: TestResult[], problem?: string }} RingResult
 * @typedef {{ results: TestResult[], filesEnded: number }} Progress so far
 *
 * @typedef {object} RingRun
 * @property {string} name
 * @property {number} files
 * @property {() => Progress} progress nothing once it has ended
 * @property {() => void} alone no other ring runs any more: a ring that gives way need not do so
 * @property {Promise<RingResult>} result
 */

/**
 * @param {import('./rings.js').Selection} selection
 * @param {object} options
 * @param {string[]} options.nodeArgs for node --test
 * @param {Promise<import('../test/services/provide.js').Services> | undefined} options.services undefined: the ring
 *   needs none, and must not find any
 * @param {boolean} options.filtered a filter may exclude all tests of a ring
 * @param {boolean} options.beside another ring runs at the same time: print the output when this one has ended
 * @param {AbortSignal} options.interruption
 * @returns {RingRun}
 */
export function runRing ({ name, files }, options) {
  const directory = makeDirectory('test-results')
  const output = join(directory, 'results.jsonl')
  const parts = partsOf(files, RINGS[name], directory)
  const begin = performance.now()
  const progress = () => readProgress(output, parts)
  const alone = () => { if (existsSync(directory)) writeFileSync(join(directory, ALONE), '') }
  const result = (async () => {
    try {
      const problem =
        files.length === 0
          ? `no files match test/${name}/*.test.js`
          : await run({ name, files }, parts, options, directory, output)
      return {
        name,
        seconds: (performance.now() - begin) / 1000,
        results: progress().results,
        ...(problem === undefined ? {} : { problem })
      }
    } finally {
      removeDirectory(directory)
    }
  })()
  return { name, files: files.length, progress, alone, result }
}

/**
 * @param {import('./rings.js').Selection} selection
 * @param {import('./ring-parts.js').Part[]} parts
 * @param {Parameters<typeof runRing>[1]} options
 * @param {string} directory
 * @param {string} output file for the results
 * @returns {Promise<string | undefined>} the reason if the ring failed as a whole
 */
async function run ({ name, files }, parts, { nodeArgs, services, filtered, beside, interruption }, directory, output) {
  const { concurrency, timeoutMs } = RINGS[name]
  const env = { ...process.env }
  env.GIVE_WAY_UNTIL = join(directory, ALONE)
  // for a test that runs this script: otherwise node --test would treat this run as a file of the outer one
  delete env.NODE_TEST_CONTEXT
  for (const variable of SERVICE_VARIABLES) delete env[variable]
  const interrupted = new Promise((resolve, reject) =>
    interruption.addEventListener('abort', () => reject(new Error('interrupted')))
  )
  interrupted.catch(() => {})
  try {
    interruption.throwIfAborted()
    Object.assign(env, (await Promise.race([services, interrupted]))?.env)
  } catch (error) {
    const problem = interruption.aborted
      ? 'interrupted'
      : `not run, no services: ${error instanceof Error ? error.message : error}`
    console.error(problem)
    return problem
  }
  const log = beside ? join(directory, 'output') : undefined
  const child = spawnGuarded(process.execPath, [...FLAGS, '--test', '--import', PRELOADED,
    '--test-reporter=spec', '--test-reporter-destination=stdout',
    `--test-reporter=${REPORTER}`, `--test-reporter-destination=${output}`,
    `--test-concurrency=${concurrency}`, `--test-timeout=${timeoutMs}`, ...nodeArgs,
    ...parts.map(({ path }) => path)], { env, directory, log })
  interrupted.catch(() => child.stop(3000)).catch(() => {})
  const { code, signal } = await child.finished()
  if (log !== undefined)
    console.log(`\n${name}: ${files.length} ${files.length === 1 ? 'file' : 'files'}\n${readFileSync(log, 'utf8')}`)
  const { results } = readProgress(output, parts)
  if (interruption.aborted) return 'interrupted'
  if (code !== 0 && !results.some(({ result }) => result === 'failed'))
    return `node --test ended with ${signal ?? `exit code ${code}`}`
  return !filtered && !results.some(({ result }) => result !== 'skipped') ? 'no test ran' : undefined
}

/** @param {string} file @param {import('./ring-parts.js').Part[]} parts @returns {Progress} */
function readProgress (file, parts) {
  const filesOf = (/** @type {string} */ path) => parts.find((part) => part.path === resolve(path))?.files ?? []
  try {
    /** @type {(TestResult | FileEnd)[]} */
    const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line.endsWith('}')).map((line) => JSON.parse(line))
    return {
      // a process that ended too early is a failed test by the name of what it ran
      results: lines.filter((line) => 'result' in line)
        .map((line) => filesOf(line.name).length > 1 ? { ...line, name: filesOf(line.name).join(' or ') } : line),
      filesEnded: lines.reduce((sum, line) => sum + ('ended' in line ? filesOf(line.ended).length : 0), 0)
    }
  } catch {
    return { results: [], filesEnded: 0 } // the ring ended before its first report
  }
}
