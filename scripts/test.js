#!/usr/bin/env node
/**
 * Runs the tests, two rings at a time, with the services they need:
 *
 *   npm test                                            every ring but attack, fault, nightly, services and speed
 *   npm test -- unit contract                           these rings
 *   npm test -- test/unit/common/clock.test.js                 one file
 *   npm test -- integration -- --test-name-pattern=kick options for node --test
 *   node scripts/test.js --help                         rings and options
 *
 * Services come from REDIS_URL, REDIS_CLUSTER_URL and KAFKA_BROKERS, else from `npm run services start`, else they are
 * started and stopped here while the unit tests already run: in Docker if it responds, else as local processes
 * (TEST_SERVICES=local or docker forces one). Exit code: 0 all passed, 1 not all, 2 wrong arguments, 130 interrupted.
 */
import { relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { provideServices } from '../test/services/provide.js'
import { runRing } from './ring-run.js'
import { RINGS, runnerHelp, selectRings, wantsHelp } from './rings.js'

/** Rings in parallel: tests mostly wait. */
const AT_ONCE = 2
/** Interval of progress lines, ms. */
const TELL = 15_000

/** @typedef {import('./rings.js').Selection} Selection */
/** @typedef {import('./ring-run.js').RingResult} RingResult */
/** @typedef {import('./ring-run.js').RingRun} RingRun */

const root = process.cwd()
/** Aborted: no further ring starts. */
const interruption = new AbortController()

/** @param {string[]} args @returns {Promise<number>} exit code */
async function main (args) {
  if (wantsHelp(args)) {
    console.log(runnerHelp())
    return 0
  }
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

  const rings = await runAll(selections, (selection, beside) =>
    runRing(selection, {
      nodeArgs,
      services: RINGS[selection.name].services ? services : undefined,
      filtered,
      beside,
      interruption: interruption.signal
    })
  )
  const total = summarize(rings, filtered)
  try {
    // on an interruption the services may still be starting: their guards end them with this process
    if (!interruption.signal.aborted) await (await services?.catch(() => undefined))?.stop()
  } catch (error) {
    console.error('services: did not stop:', error)
    total.failed++
  }
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
  return interruption.signal.aborted ? 130 : total.failed > 0 ? 1 : 0
}

/**
 * Runs the rings, two at a time, beside them those that give way, and afterwards those that must run alone.
 * @param {Selection[]} selections
 * @param {(selection: Selection, beside: boolean) => RingRun} start
 * @returns {Promise<RingResult[]>} in the order of the selections
 */
async function runAll (selections, start) {
  const shared = selections.filter(({ name }) => !RINGS[name].single)
  const waiting = shared.filter(({ name }) => !RINGS[name].beside)
  const beside = shared.length > 1
  /** @type {Set<RingRun>} */
  const running = new Set()
  /** @type {RingResult[]} */
  const ended = []
  const begin = (/** @type {Selection} */ selection) => {
    if (!beside)
      console.log(`\n${selection.name}: ${selection.files.length} ${selection.files.length === 1 ? 'file' : 'files'}`)
    const run = start(selection, beside)
    running.add(run)
    return run.result.then((result) => { ended.push(result) }).finally(() => running.delete(run))
  }
  const over = new AbortController()
  const telling = beside ? tell(shared, running, ended, over.signal) : undefined
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined && !interruption.signal.aborted; next = waiting.shift())
      await begin(next)
  })
  const givingWay = shared.filter(({ name }) => RINGS[name].beside).map(begin)
  await Promise.all(lanes)
  for (const ring of running) ring.alone()
  await Promise.all(givingWay)
  over.abort()
  await telling
  for (const selection of selections) {
    if (RINGS[selection.name].single && !interruption.signal.aborted) await begin(selection)
  }
  return selections.flatMap(({ name }) => ended.filter((ring) => ring.name === name))
}

/**
 * Reports the progress of the rings at intervals, and failures at once.
 * @param {Selection[]} selections
 * @param {Set<RingRun>} running
 * @param {RingResult[]} ended
 * @param {AbortSignal} signal
 */
async function tell (selections, running, ended, signal) {
  const begin = performance.now()
  const told = new Set()
  while (!signal.aborted) {
    await delay(TELL, undefined, { signal }).catch(() => {})
    const ways = [...running].map(({ name, files, progress }) => ({ name, files, ...progress() }))
    for (const { name, file, result } of ways.flatMap(({ results }) => results)) {
      if (result !== 'failed' || told.has(file + name)) continue
      told.add(file + name)
      console.error(`failed: ${relative(root, file)}: ${name}`)
    }
    if (signal.aborted) return
    const shares = new Map([
      ...ended.map(({ name }) => /** @type {const} */ ([name, 1])),
      ...ways.map(({ name, files, filesEnded }) => /** @type {const} */ ([name, filesEnded / files]))
    ])
    const remaining =
      selections.reduce((sum, { name }) => sum + RINGS[name].seconds * (1 - (shares.get(name) ?? 0)), 0) / AT_ONCE
    const parts = [
      ...ended.map(({ name }) => `${name} done`),
      ...ways.map(({ name, files, filesEnded }) => `${name} ${filesEnded} of ${files} files`)
    ]
    console.error(
      `${Math.round((performance.now() - begin) / 1000)} s: ${parts.join(', ')}; ${selections.length - shares.size} rings queued, about ` +
      `${Math.ceil(remaining / 60)} min remain`
    )
  }
}

/**
 * Prints the failures and a table of the rings.
 * @param {RingResult[]} rings
 * @param {boolean} filtered
 * @returns {{ passed: number, failed: number, skipped: number }} a ring that failed as a whole counts as one failed
 *   test
 */
function summarize (rings, filtered) {
  const total = { passed: 0, failed: 0, skipped: 0 }
  const row = (/** @type {(string | number)[]} */ [name, ...cells]) =>
    `${String(name).padEnd(12)}${cells.map((cell) => String(cell).padStart(9)).join('')}`
  const table = [row(['ring', 'time', 'passed', 'failed', 'skipped'])]
  console.log()
  for (const { name, seconds, results, problem } of rings) {
    const counts = { passed: 0, failed: problem === undefined ? 0 : 1, skipped: 0 }
    for (const { result, name: test, file, reason = '' } of results) {
      counts[result]++
      if (result === 'failed')
        console.log(`failed: ${relative(root, file)}: ${test}\n${reason.replaceAll(/^/gm, '    ')}`)
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
    if (interruption.signal.aborted) process.exit(130) // second signal: the guards end running processes
    console.error(`\n${signal}: stopping`)
    interruption.abort()
  })
}

// exit explicitly: an interrupted start of services would keep this process running
process.exit(await main(process.argv.slice(2)))
