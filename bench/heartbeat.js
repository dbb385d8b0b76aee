#!/usr/bin/env node
/**
 * Cost of the heartbeat, and its time to detect dead connections: `npm run bench:heartbeat`. It runs for 15 minutes.
 */
import { parseArgs } from 'node:util'
import { problemsOf, renderReport, resultTables } from './heartbeat/report.js'
import { runRound } from './heartbeat/round.js'
import { KINDS } from './heartbeat/system.js'
import { environment } from './measure/environment.js'
import { createProgress } from './report/progress.js'
import { saveResults } from './report/results.js'

const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    connections: { type: 'string', default: '15000' },
    dying: { type: 'string', default: '1000' },
    window: { type: 'string', default: '120' },
    save: { type: 'boolean', default: true }
  }
})
const settings = {
  connections: Number(options.connections),
  dying: Number(options.dying),
  windowMs: Number(options.window) * 1000,
  processes: 3,
  documents: 100
}
const where = environment()
const progress = createProgress()
const kinds = /** @type {(keyof typeof KINDS)[]} */ (Object.keys(KINDS))
/** @type {import('./heartbeat/round.js').RoundResult[]} */
const rounds = []
for (const [i, kind] of kinds.entries()) {
  rounds.push(await runRound(kind, settings, (what) => progress.show(`${kind}: ${what}`, i / kinds.length)))
  progress.clear()
  console.error(JSON.stringify(rounds.at(-1)))
}
console.log(`\n${resultTables(rounds)}\n`)
if (options.save)
  console.log(
    `saved to ${saveResults('heartbeat', { ...where, settings, rounds }, () => renderReport(where, settings, rounds)).join(' and ')}`
  )
const problems = problemsOf(rounds)
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
