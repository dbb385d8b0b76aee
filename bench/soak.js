#!/usr/bin/env node
/**
 * A long run with churn, records and faults, after which nothing may have grown: `npm run soak`
 * (docs/internals/soak.md).
 */
import { writeFileSync } from 'node:fs'
import { environment } from './measure/environment.js'
import { scoped } from './measure/scope.js'
import { serviceVersions } from './measure/services.js'
import { fail, readOptions } from './options.js'
import { saveResults } from './report/results.js'
import { growthTable, pageOf, plotsPage } from './soak/page.js'
import { runSoak, STEADY } from './soak/run.js'
import { judge, shown } from './soak/verdict.js'

const USAGE = `A long run with churn, records and faults, after which nothing may have grown

  node bench/soak.js [options]

  --minutes N         (60)
  --connections N     (1000)
  --documents N       (50)
  --rate N            records per second (20)
  --churn N           percent of the clients that leave and come back each second (2)
  --activity N        percent of the clients that signal, send, and open another document each second (0.5)
  --polling N         percent of the clients that use long polling (5)
  --msgpack N         percent of the clients that use msgpack (30)
  --workers N         gateway workers (2)
  --every N           minutes between two faults (4)
  --seed N            order of the faults (1)
  --no-faults
  --no-kafka
  --no-save           save no results`

const NUMBERS = {
  minutes: '60', connections: '1000', documents: '50', rate: '20', churn: '2', activity: '0.5', polling: '5', msgpack: '30',
  workers: '2', every: '4', seed: '1'
}
const options = readOptions({
  .../** @type {Record<keyof typeof NUMBERS, { type: 'string', default: string }>} */ (
    Object.fromEntries(Object.entries(NUMBERS).map(([name, value]) => [name, { type: 'string', default: value }]))
  ),
  faults: { type: 'boolean', default: true },
  kafka: { type: 'boolean', default: true },
  save: { type: 'boolean', default: true }
}, USAGE)
const numbers = /** @type {Record<keyof typeof NUMBERS, number>} */ (Object.fromEntries(
  Object.keys(NUMBERS).map((name) => [name, Number(options[/** @type {keyof typeof NUMBERS} */ (name)])])
))
for (const [name, value] of Object.entries(numbers))
  if (!(value >= 0)) fail(`--${name} is not a number\n\n${USAGE}`)
if (numbers.minutes < 3) fail(`--minutes is 3 at least\n\n${USAGE}`)

/** Minutes without a measurement of growth: code is compiled, caches fill. */
const WARM = Math.min(10, numbers.minutes / 3)
/** Minutes from which a run must have measured it. */
const LONG = 20
const window = { from: WARM, to: STEADY * numbers.minutes }

const where = environment(await serviceVersions())
const result = await scoped((t) => runSoak(t, {
  ...numbers, kafka: options.kafka, faults: options.faults, warm: Math.min(120, 12 * numbers.minutes)
}, { say: console.log, onSample: show }))

const rows = judge(result.samples, { ...window, connections: numbers.connections })
const isShown = numbers.minutes < LONG || rows.some(({ growth }) => growth !== undefined)
const problems = [
  ...result.load.problems,
  ...rows.flatMap((row) => row.problems),
  ...isShown ? [] : ['growth was not measured: there were not enough samples with all clients']
]
console.log(`\n${growthTable(rows)}\n`)
for (const problem of problems) console.log(problem)
console.log(problems.length === 0 ? 'passed' : 'failed')
if (options.save) {
  const saved = { environment: where, result, window, rows, problems }
  // the page with plots has the samples of the load
  const kept = { ...saved, result: { ...result, load: { ...result.load, samples: undefined } } }
  const [json] = saveResults('soak', kept, () => pageOf(saved))
  writeFileSync(json.replace(/json$/, 'html'), plotsPage(saved))
  console.log(json.replace(/json$/, 'md'))
}
process.exitCode = problems.length === 0 ? 0 : 1

/** @param {import('./soak/measure.js').Sample} sample */
function show ({ at, phase, connections, processes, keys, redis, series, lag }) {
  /** @param {'heapUsed' | 'descriptors' | 'resident'} key @param {'bytes' | 'count'} unit */
  const figures = (key, unit) => {
    const own = processes.filter(({ role }) => role === 'gateway')
    return shown(own.reduce((sum, each) => sum + each[key], 0), unit)
  }
  console.log([
    `${phase === 'load' ? `${at.toFixed(1)} min` : phase}: ${connections} clients`,
    `gateways ${figures('heapUsed', 'bytes')} heap, ${figures('resident', 'bytes')} resident`,
    `${figures('descriptors', 'count')} descriptors`,
    `${Object.values(keys).reduce((sum, count) => sum + count, 0)} keys, ${redis.channels} channels`,
    `${series} series`,
    `lag ${lag}`
  ].join('; '))
}
