#!/usr/bin/env node
/**
 * Runs the tests, ring by ring, with the services they need:
 *
 *   npm test                                            every ring but fault, services and speed
 *   npm test -- unit contract                           these rings
 *   npm test -- test/unit/clock.test.js                 one file
 *   npm test -- integration -- --test-name-pattern=kick options for node --test
 *
 * Services come from REDIS_URL, REDIS_CLUSTER_URL and KAFKA_BROKERS, else from `npm run services start`, else they are started and stopped
 * here, while the unit tests already run: in Docker when it answers, else as local processes (TEST_SERVICES=local or docker decides).
 * Exit code: 0 all passed, 1 not all, 2 wrong arguments, 130 interrupted.
 */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../test/services/directory.js'
import { spawnGuarded } from '../test/services/guard.js'
import { provideServices } from '../test/services/provide.js'
import { RINGS, selectRings } from './rings.js'

const REPORTER = fileURLToPath(new URL('ring-reporter.js', import.meta.url))
const SERVICE_VARIABLES = ['REDIS_URL', 'REDIS_CLUSTER_URL', 'KAFKA_BROKERS', 'KAFKA_CLASSPATH']

/** @typedef {import('./rings.js').Selection} Selection */
/** @typedef {import('./ring-reporter.js').TestResult} TestResult */
/** @typedef {{ name: string, seconds: number, results: TestResult[], problem?: string }} RingResult */

const root = process.cwd()
/** Once true, nothing new is begun. */
let interrupted = false
/** @type {() => void} */
let interrupt
/** @type {Promise<void>} */
const interruption = new Promise((resolve) => { interrupt = resolve })

/** @param {string[]} args @returns {Promise<number>} exit code */
async function main (args) {
  let selected
  try {
    selected = selectRings(args, root)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return 2
  }
  const { selections, nodeArgs } = selected
  const needed = selections.some(({ name, files }) => RINGS[name].services && files.length > 0)
  const services = needed ? provideServices({ say: (line) => console.error(`services: ${line}`) }) : undefined
  services?.catch(() => {}) // the rings that wait for them report it
  const filtered = nodeArgs.some((arg) => /^--test-(name-pattern|skip-pattern|only|shard)/.test(arg))

  /** @type {RingResult[]} */
  const rings = []
  for (const selection of selections) {
    if (interrupted) break
    rings.push(await runRing(selection, nodeArgs, RINGS[selection.name].services ? services : undefined, filtered))
  }
  const total = summarise(rings, filtered)
  try {
    // when interrupted they may not even have started: the guards end them with us
    if (!interrupted) await (await services?.catch(() => undefined))?.stop()
  } catch (error) {
    console.error('services: did not stop:', error)
    total.failed++
  }
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
  return interrupted ? 130 : total.failed > 0 ? 1 : 0
}

/**
 * @param {Selection} selection
 * @param {string[]} nodeArgs
 * @param {Promise<import('../test/services/provide.js').Services> | undefined} services undefined: it needs none, and is not to find any
 * @param {boolean} filtered a filter may leave nothing of one ring
 * @returns {Promise<RingResult>}
 */
async function runRing ({ name, files }, nodeArgs, services, filtered) {
  if (files.length === 0) return { name, seconds: 0, results: [], problem: `there is no test/${name}/*.test.js` }
  const { concurrency, timeoutMs } = RINGS[name]
  console.log(`\n${name}: ${files.length} ${files.length === 1 ? 'file' : 'files'}`)
  const env = { ...process.env }
  delete env.NODE_TEST_CONTEXT // where a test runs this script: node --test would take itself for one file of the outer run
  for (const variable of SERVICE_VARIABLES) delete env[variable]
  try {
    Object.assign(env, (await Promise.race([services, interruption.then(() => { throw new Error('interrupted') })]))?.env)
  } catch (error) {
    const problem = `not run, no services: ${error instanceof Error ? error.message : error}`
    console.error(problem)
    return { name, seconds: 0, results: [], problem }
  }

  const directory = makeDirectory('test-results')
  const output = join(directory, 'results.jsonl')
  const begin = performance.now()
  try {
    const run = spawnGuarded(process.execPath, ['--test',
      '--test-reporter=spec', '--test-reporter-destination=stdout',
      `--test-reporter=${REPORTER}`, `--test-reporter-destination=${output}`,
      `--test-concurrency=${concurrency}`, `--test-timeout=${timeoutMs}`, ...nodeArgs, ...files], { env, directory })
    interruption.then(() => run.stop(3000))
    const { code, signal } = await run.finished()
    const results = readResults(output)
    /** @type {string | undefined} */
    let problem
    if (interrupted) problem = 'interrupted'
    else if (code !== 0 && !results.some(({ result }) => result === 'failed')) problem = `node --test ended with ${signal ?? `exit code ${code}`}`
    else if (!filtered && !results.some(({ result }) => result !== 'skipped')) problem = 'no test ran'
    return { name, seconds: (performance.now() - begin) / 1000, results, problem }
  } finally {
    removeDirectory(directory)
  }
}

/** @param {string} file @returns {TestResult[]} */
function readResults (file) {
  try {
    return readFileSync(file, 'utf8').split('\n').filter((line) => line.endsWith('}')).map((line) => JSON.parse(line))
  } catch {
    return [] // it ended before it had reported anything
  }
}

/**
 * Prints what failed and a table of the rings.
 * @param {RingResult[]} rings
 * @param {boolean} filtered
 * @returns {{ passed: number, failed: number, skipped: number }} a ring that failed as a whole counts as one failed test
 */
function summarise (rings, filtered) {
  const total = { passed: 0, failed: 0, skipped: 0 }
  const row = (/** @type {(string | number)[]} */ [name, ...cells]) => `${String(name).padEnd(12)}${cells.map((cell) => String(cell).padStart(9)).join('')}`
  const table = [row(['ring', 'time', 'passed', 'failed', 'skipped'])]
  console.log()
  for (const { name, seconds, results, problem } of rings) {
    const counts = { passed: 0, failed: problem === undefined ? 0 : 1, skipped: 0 }
    for (const { result, name: test, file } of results) {
      counts[result]++
      if (result === 'failed') console.log(`failed: ${relative(root, file)}: ${test}`)
    }
    if (problem !== undefined) console.log(`failed: ${name}: ${problem}`)
    table.push(row([name, `${seconds.toFixed(1)} s`, counts.passed, counts.failed, counts.skipped]))
    for (const key of /** @type {(keyof typeof total)[]} */ (Object.keys(total))) total[key] += counts[key]
  }
  if (total.passed + total.failed === 0) {
    console.log(`failed: ${filtered ? 'the filter leaves no test' : 'no test ran'}`)
    total.failed++
  }
  console.log(`${table.join('\n')}\n`)
  return total
}

for (const signal of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    if (interrupted) process.exit(130) // asked twice: the guards end what still runs
    console.error(`\n${signal}: stopping`)
    interrupted = true
    interrupt()
  })
}

// exit rather than wait: an interrupted start of the services would hold us
process.exit(await main(process.argv.slice(2)))
