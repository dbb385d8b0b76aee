#!/usr/bin/env node
/**
 * Cost of a handshake, inkcast and the baseline side by side: `npm run bench:handshake`. See bench/README.md.
 */
import { renderReport, summaryTables } from './handshake/report.js'
import { runRound } from './handshake/round.js'
import { summarize } from './handshake/summary.js'
import { environment } from './measure/environment.js'
import { PROFILE, PROFILE_USAGE, fail, profileArgs, readOptions } from './options.js'
import { createProgress } from './report/progress.js'
import { saveResults } from './report/results.js'
import { startBaseline, startBaselineWithString } from './systems/baseline.js'
import { startHandshakeFloor } from './systems/floor.js'
import { SET, SET_USAGE } from './systems/given.js'
import { startInkcast, startInkcastForMqtt, startInkcastForPlain } from './systems/inkcast.js'

const USAGE = `Cost of a handshake: inkcast and the baseline, alternating

  node bench/handshake.js [options]

  --rounds N          rounds per system (2)
  --connections N     WebSocket handshakes per phase (10000)
  --concurrency N     concurrent handshakes (256)
  --polling N         clients that start with long polling and upgrade (3000)
  --expiring N        connections of inkcast whose tokens expire in the same second (5000)
  --workers N         gateway workers (2)
  --documents N       documents over which the clients are distributed (100)
  --system NAME       inkcast, inkcast-ws (plain WebSockets), inkcast-mqtt, baseline, baseline-string (the secret given
                      to jsonwebtoken as a string) or floor (net.Socket alone, one process); may be repeated (all)
${SET_USAGE}
${PROFILE_USAGE}
  --check             fail if inkcast uses more than --max-ratio of the baseline's CPU per handshake
  --max-ratio N       (0.35)
  --name NAME         of the results (handshake)
  --no-save           save no results`

/** @type {Record<string, import('./systems/system.js').StartSystem>} */
const SYSTEMS = {
  'inkcast': startInkcast,
  'inkcast-ws': startInkcastForPlain,
  'inkcast-mqtt': startInkcastForMqtt,
  'baseline': startBaseline,
  'baseline-string': startBaselineWithString,
  'floor': startHandshakeFloor
}
/** Phase that --check judges: it decides how long users wait after a restart, and is the harder one. */
const CHECKED_PHASE = 'first'

const options = readOptions({
  rounds: { type: 'string', default: '2' },
  connections: { type: 'string', default: '10000' },
  concurrency: { type: 'string', default: '256' },
  polling: { type: 'string', default: '3000' },
  expiring: { type: 'string', default: '5000' },
  workers: { type: 'string', default: '2' },
  documents: { type: 'string', default: '100' },
  system: { type: 'string', multiple: true },
  ...SET,
  ...PROFILE,
  check: { type: 'boolean', default: false },
  'max-ratio': { type: 'string', default: '0.35' },
  name: { type: 'string', default: 'handshake' },
  save: { type: 'boolean', default: true }
}, USAGE)

/**
 * @param {'rounds' | 'connections' | 'concurrency' | 'polling' | 'expiring' | 'workers' | 'documents'} name
 * @param {number} min
 */
function count (name, min) {
  const value = Number(options[name])
  return Number.isInteger(value) && value >= min ? value : fail(`--${name} must be a whole number, at least ${min}`)
}

const maxRatio = Number(options['max-ratio'])
if (!(maxRatio > 0)) fail('--max-ratio must be a positive number')
const names = options.system ?? Object.keys(SYSTEMS)
if (!names.every((name) => Object.hasOwn(SYSTEMS, name))) fail(`--system must be one of ${Object.keys(SYSTEMS).join(', ')}`)
if (options.check && !(names.includes('inkcast') && names.includes('baseline')))
  fail('--check needs inkcast and baseline')
const settings = {
  rounds: count('rounds', 1),
  connections: count('connections', 1),
  concurrency: count('concurrency', 1),
  polling: count('polling', 0),
  // stock clients share the load generator's event loop: more of them would only wait for each other
  pollingConcurrency: 64,
  expiring: count('expiring', 0),
  documents: count('documents', 1),
  workers: count('workers', 1),
  nodeArgs: profileArgs(options.profile),
  timeoutMs: 10_000
}

const where = environment()
const progress = createProgress()
const order = Array.from({ length: settings.rounds }, () => names).flat()
/** @type {import('./handshake/round.js').RoundResult[]} */
const rounds = []
for (const [i, name] of order.entries()) {
  const label = (/** @type {string} */ what) =>
    `round ${Math.floor(i / names.length) + 1} of ${settings.rounds}, ${name}: ${what}`
  progress.show(label('starting'), i / order.length)
  const result = await runRound(SYSTEMS[name], settings, (phase, done, of) =>
    progress.show(label(`${phase}, ${done} of ${of}`), i / order.length + done / of / order.length / 3)
  )
  progress.clear()
  rounds.push(result)
  console.error(
    `${label('')}${result.phases.map(({ phase, cpuUs, attempted, ok }) => `${phase} ${cpuUs} us, ${attempted - ok} failed`).join('; ')}; ` +
    `${result.residentKb} KB`
  )
}

const summary = summarize(rounds)
console.log(`\n${summaryTables(summary)}\n`)
if (options.save)
  console.log(
    'saved to ' +
    `${saveResults(options.name, { ...where, settings, summary, rounds }, () => renderReport(where, settings, summary)).join(' and ')}`
  )

const problems = [
  ...summary.lines
    .filter(({ system, failed }) => system.startsWith('inkcast') && failed > 0)
    .map(({ phase, system, failed }) => `${failed} handshakes of ${system} failed (${phase})`),
  ...summary.memory
    .filter(({ system, lost }) => system.startsWith('inkcast') && lost > 0)
    .map(({ system, lost }) => `${lost} connections of ${system} were lost`),
  ...(options.check
    ? summary.ratios
        .filter(({ phase, against, cpu }) => phase === CHECKED_PHASE && against === 'baseline' && cpu > maxRatio)
        .map(({ cpu }) => `inkcast uses ${cpu} of the baseline's CPU; at most ${maxRatio} is allowed`)
    : [])
]
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
