#!/usr/bin/env node
/**
 * Runs inkcast in simulated worlds, one for each seed (docs/internals/simulation.md):
 *
 *   npm run simulate -- --seed 4711               one seed, which repeats exactly
 *   npm run simulate -- --seeds 1..5000
 *   npm run simulate -- --minutes 10 --keep-going
 *   npm run simulate -- --help
 *
 * The first seed that fails is searched for a shorter schedule that fails as well. Exit code: 0 no violation, 1 a
 * violation, 2 wrong arguments, 130 interrupted.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { environment } from '../bench/measure/environment.js'
import { saveResults } from '../bench/report/results.js'
import { NAMED_SEEDS } from '../test/simulation/named-seeds.js'
import { page } from '../test/simulation/diagram/page.js'
import { jobsOf, runSeeds, seedsIn, Totals } from '../test/simulation/run/campaign.js'
import { readOptions, USAGE } from '../test/simulation/run/options.js'
import { failureText, repeating, scheduleOf, seedText, summaryPage, summaryText, violationsOf } from '../test/simulation/run/report.js'
import { SeedRunner } from '../test/simulation/run/seed-runner.js'
import { shrink } from '../test/simulation/run/shrink.js'

/** Interval of progress lines, ms. */
const TELL = 15_000
/** Time after which a search for a shorter schedule ends, ms. */
const SEARCH = 120_000

/**
 * @typedef {import('../test/simulation/run/options.js').Options} Options
 * @typedef {import('../test/simulation/run/campaign.js').Failure} Failure
 */

/** Aborted: no further seed begins. */
const interruption = new AbortController()

/** @param {string[]} args @returns {Promise<number>} exit code */
async function main (args) {
  let options
  try {
    options = readOptions(args)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    return 2
  }
  if (options === undefined) {
    console.log(USAGE)
    return 0
  }
  return options.named ? runMany(options) : runOne(options)
}

/** @param {Options} options @returns {Promise<number>} */
async function runOne (options) {
  const [job] = jobsOf(options, [])
  const runner = new SeedRunner()
  try {
    const result = await runner.run({ ...job, lines: options.lines || options.page !== undefined })
    if (options.lines) for (const line of result.lines ?? []) console.log(line)
    console.log(seedText(result))
    const failed = result.violations.length > 0
    const shown = failed && options.shrink ? await shrunk({ job, result }, runner) : { job, result }
    if (options.page !== undefined) await writePage(options.page, shown, runner)
    return failed ? 1 : 0
  } finally {
    await runner.stop()
  }
}

/** @param {Options} options @returns {Promise<number>} */
async function runMany (options) {
  const { minutes, processes, keepGoing, seeds } = options
  const begin = performance.now()
  const over = minutes === undefined ? [] : [AbortSignal.timeout(minutes * 60_000)]
  const signal = AbortSignal.any([interruption.signal, ...over])
  const asked = seeds.map(({ from, to }) => minutes !== undefined && to - from > 1e9 ? `from ${from}` : `${from}..${to}`).join(', ')
  console.log(`${NAMED_SEEDS.length} named seeds, then ${asked} of ${options.scenario}, in ${processes} processes`)
  const totals = new Totals()
  const all = seedsIn(options, NAMED_SEEDS.length)
  const progress = setInterval(() => {
    const seconds = (performance.now() - begin) / 1000
    const done = minutes === undefined ? `${totals.seeds} of ${all}` : `${totals.seeds}`
    console.log(`${Math.round(seconds)} s: ${done} seeds, ${totals.violations} violations, ` +
      `${totals.speed.toFixed(1)} virtual seconds for each second of CPU`)
  }, TELL)
  const failures = await runSeeds({
    jobs: jobsOf(options, NAMED_SEEDS), processes, keepGoing, totals, signal,
    onFailure: ({ job, result }) => console.log(failureText(job, result))
  }).finally(() => clearInterval(progress))
  const seconds = (performance.now() - begin) / 1000
  console.log(summaryText(totals, seconds))
  if (options.save) {
    const where = environment()
    const counts = Object.fromEntries(totals.counts)
    const page = () => summaryPage(totals, seconds, { ...where, seeds: asked })
    const failed = failures.map(({ job, result }) => ({ command: repeating(job), violation: result.violations[0].split('\n')[0] }))
    const saved = saveResults('simulation', { ...where, ...totals, wallSeconds: seconds, counts, failed }, page)
    console.log(`saved to ${saved.join(' and ')}`)
  }
  if (interruption.signal.aborted) return 130
  if (failures.length === 0) return 0
  console.log(`failed: ${failures.map(({ job }) => job.seed).join(', ')}`)
  const runner = new SeedRunner()
  try {
    const shown = options.shrink ? await shrunk(failures[0], runner) : failures[0]
    if (options.page !== undefined) await writePage(options.page, shown, runner)
  } finally {
    await runner.stop()
  }
  return 1
}

/**
 * Searches a smaller world that fails as well, and prints it.
 * @param {Failure} failure
 * @param {SeedRunner} runner
 * @returns {Promise<Failure>} the smallest one
 */
async function shrunk ({ job, result: failed }, runner) {
  console.log(`searching a shorter schedule for seed ${job.seed}`)
  const deadline = performance.now() + SEARCH
  const { without, result, runs } = await shrink({
    failed, without: job.without,
    run: (smaller) => runner.run({ ...job, lines: false, without: smaller }),
    isOver: () => interruption.signal.aborted || performance.now() > deadline
  })
  const smallest = { ...job, without }
  console.log(`the shortest of ${runs} runs:\n${violationsOf(result)}\nschedule:\n${scheduleOf(result)}\nto repeat it: ` +
    `${repeating(smallest)}`)
  return { job: smallest, result }
}

/**
 * @param {string} file
 * @param {Failure} failure or a seed that kept all promises
 * @param {SeedRunner} runner
 */
async function writePage (file, { job, result }, runner) {
  const { story, ...about } = result.story === undefined ? await runner.run({ ...job, lines: true }) : result
  if (story === undefined) return console.log('no diagram: the process of the seed has ended') // with its trace
  mkdirSync(dirname(resolve(file)), { recursive: true })
  writeFileSync(file, page(story, { ...about, scenario: job.scenario, command: repeating(job) }))
  console.log(`diagram: ${file}`)
}

for (const signal of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    if (interruption.signal.aborted) process.exit(130) // second signal
    console.error(`\n${signal}: stopping`)
    interruption.abort()
  })
}

process.exitCode = await main(process.argv.slice(2))
