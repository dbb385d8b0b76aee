#!/usr/bin/env node
/**
 * Cost of a delivery: inkcast, the baseline and the floor in one run: `npm run bench`. See bench/README.md.
 */
import { faults, judge } from './delivery/limits.js'
import { runMemory, runRound } from './delivery/phases.js'
import { renderPlots, renderReport, summaryTables } from './delivery/report.js'
import { DEFAULT_SCALE, QUICK_SCALE } from './delivery/scale.js'
import { summarize } from './delivery/summary.js'
import { PHASES, SYSTEMS } from './delivery/systems.js'
import { environment } from './measure/environment.js'
import { serviceVersions } from './measure/services.js'
import { PROFILE, PROFILE_USAGE, fail, profileArgs, readOptions } from './options.js'
import { createProgress } from './report/progress.js'
import { saveResults } from './report/results.js'
import { SET, SET_USAGE } from './systems/given.js'

const USAGE = `Cost of a delivery: inkcast, the baseline and the floor, alternating

  node bench/run.js [options]

  --quick             a smoke test of about a minute, without memory and baseline-string; not saved unless --save is given
  --rounds N          rounds per system (${DEFAULT_SCALE.rounds})
  --workers N         workers of each system (${DEFAULT_SCALE.workers}); the results are saved under a name of their own
  --system NAME       one of ${Object.keys(SYSTEMS).join(', ')}; may be repeated (all)
  --phase NAME        one of ${PHASES.join(', ')}; may be repeated (all)
  --idle N            connections whose memory is measured, on one worker (${DEFAULT_SCALE.memoryConnections})
  --check             fail if a limit is exceeded (bench/delivery/limits.js), at the default scale
  --name NAME         of the results (delivery); "capacity" for the run that docs/capacity.md computes with
${SET_USAGE}
${PROFILE_USAGE}
  --no-save           save no results`

/** @template {string} T @param {string} option @param {string[]} given @param {T[]} known @returns {T[]} */
function choose (option, given, known) {
  const unknown = given.find((name) => !known.includes(/** @type {T} */ (name)))
  if (unknown !== undefined) fail(`--${option} ${unknown}: use one of ${known.join(', ')}`)
  return known.filter((name) => given.includes(name))
}

const options = readOptions({
  quick: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  workers: { type: 'string' },
  system: { type: 'string', multiple: true },
  phase: { type: 'string', multiple: true },
  idle: { type: 'string' },
  check: { type: 'boolean', default: false },
  name: { type: 'string' },
  ...SET,
  ...PROFILE,
  save: { type: 'boolean' }
}, USAGE)
const scale = { ...(options.quick ? QUICK_SCALE : DEFAULT_SCALE) }
if (options.rounds !== undefined) scale.rounds = Number(options.rounds)
if (!(Number.isInteger(scale.rounds) && scale.rounds > 0)) fail('--rounds must be a whole number, at least 1')
if (options.workers !== undefined) scale.workers = Number(options.workers)
if (!(Number.isInteger(scale.workers) && scale.workers > 0)) fail('--workers must be a whole number, at least 1')
if (options.idle !== undefined) scale.memoryConnections = Number(options.idle)
if (!(scale.memoryConnections % 100 === 0 && scale.memoryConnections > 0)) fail('--idle must be a multiple of 100')
if (options.check && (options.quick || options.workers !== undefined || options.idle !== undefined))
  fail('--check is for the default scale, not for --quick, --workers or --idle')
/** Needs a start of its own and means nothing at a small scale. @param {string} name */
const atFullScale = (name) => name === 'memory' || name === 'baseline-string'
const unasked = (/** @type {string[]} */ known) => options.quick ? known.filter((name) => !atFullScale(name)) : known
const phases = choose('phase', options.phase ?? unasked(PHASES), PHASES)
const names = choose('system', options.system ?? unasked(Object.keys(SYSTEMS)), Object.keys(SYSTEMS))
const nodeArgs = profileArgs(options.profile)

const notes = names.flatMap((name) => {
  const missing = SYSTEMS[name].missing?.()
  return missing ? [`${name} was skipped: ${missing}`] : []
})
for (const note of notes) console.error(note)

const where = environment(await serviceVersions())
const progress = createProgress()
/**
 * One step per system and round; memory is separate because it needs a fresh process. Each second round is in reverse
 * order: a machine that gets slower or faster during a round then says nothing about a system.
 */
const steps = Array.from({ length: scale.rounds }, (_, round) =>
  (round % 2 === 0 ? names : names.toReversed())
    .filter((name) => !SYSTEMS[name].missing?.())
    .flatMap((name) => {
      const own = phases.filter((phase) => SYSTEMS[name].phases.includes(phase))
      return [
        ...(own.some((phase) => phase !== 'memory')
          ? [{ round, name, phases: own.filter((phase) => phase !== 'memory') }]
          : []),
        ...(own.includes('memory')
          ? [{ round, name, phases: /** @type {import('./delivery/systems.js').PhaseName[]} */ (['memory']) }]
          : [])
      ]
    })
).flat()
const weights = steps.map((step) => step.phases.length + 1)
const whole = weights.reduce((sum, weight) => sum + weight, 0)

/** @type {import('./delivery/phases.js').RoundResult[]} */
const rounds = []
/** @type {string[]} */
const failures = []
for (const [i, step] of steps.entries()) {
  const entry = SYSTEMS[step.name]
  const before = weights.slice(0, i).reduce((sum, weight) => sum + weight, 0)
  const onPhase = (/** @type {string} */ phase, /** @type {number} */ share) => {
    const place = 1 + step.phases.findIndex((each) => each === phase)
    progress.show(
      `round ${step.round + 1} of ${scale.rounds}, ${step.name}: ${phase}`,
      (before + place + share) / whole
    )
  }
  const begin = performance.now()
  const what = `round ${step.round + 1} of ${scale.rounds}, ${step.name}: ${step.phases.join(', ')}`
  try {
    rounds.push(
      await (step.phases.includes('memory')
        ? runMemory(entry, scale, nodeArgs, onPhase)
        : runRound(entry, step.phases, scale, nodeArgs, onPhase))
    )
    progress.clear()
    console.error(`${what} in ${Math.round((performance.now() - begin) / 1000)} s`)
  } catch (error) {
    // keep the results of the other steps
    progress.clear()
    console.error(what, error)
    failures.push(`${what}: ${String(error).split('\n', 1)[0]}`)
  }
}

const summary = summarize(rounds)
const verdicts = options.quick ? [] : judge(summary)
const problems = [
  ...failures,
  ...faults(summary),
  ...(options.check && verdicts.length === 0 ? ['--check: no measured figure has a limit'] : [])
]
const tables = (/** @type {((plot: string) => string) | undefined} */ plotFile) =>
  summaryTables(summary, verdicts, [...notes, ...problems], plotFile)
console.log(`\n${tables(undefined)}\n`)
if (options.save ?? !options.quick) {
  const files = saveResults(
    options.name ?? (options.workers === undefined ? 'delivery' : `delivery-${scale.workers}-workers`),
    { ...where, scale, verdicts, problems, summary, rounds },
    (plotFile) => renderReport(where, scale, tables(plotFile)),
    { plots: renderPlots(summary) }
  )
  console.log(`saved to ${files.join(', ')}`)
}
for (const problem of problems) console.error(`FAILED: ${problem}`)
const broken = options.check ? verdicts.filter(({ holds }) => !holds) : []
for (const { what, measured, limit } of broken)
  console.error(`FAILED: ${what}: ${measured}, at most ${limit} is allowed`)
process.exit(problems.length + broken.length === 0 ? 0 : 1)
