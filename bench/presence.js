#!/usr/bin/env node
/**
 * Cost of presence when a room fills: `npm run bench:presence`, two minutes.
 */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { problemsOf, renderReport, resultTables } from './presence/report.js'
import { runRound } from './presence/round.js'
import { createProgress } from './report/progress.js'
import { saveResults } from './report/results.js'
import { SET } from './systems/given.js'
import { startInkcast } from './systems/inkcast.js'

const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    members: { type: 'string', multiple: true, default: ['100', '500', '5000'] },
    workers: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '5' },
    ...SET,
    save: { type: 'boolean', default: true }
  }
})
const settings = { workers: Number(options.workers), joinMs: Number(options.seconds) * 1000 }
const secret = randomBytes(32).toString('hex')
const where = environment()
const progress = createProgress()
const redis = await startRedis()
/** @type {import('./presence/round.js').RoundResult[]} */
const rounds = []
try {
  const system = await startInkcast({
    workers: settings.workers,
    redisUrl: redis.url,
    secret,
    nodeArgs: ['--import', fileURLToPath(new URL('presence/probe.js', import.meta.url))]
  })
  try {
    for (const [i, members] of options.members.map(Number).entries()) {
      progress.show(`${members} members`, i / options.members.length)
      rounds.push(await runRound(system, { members, joinMs: settings.joinMs, secret }))
      progress.clear()
      console.error(JSON.stringify(rounds.at(-1)))
    }
  } finally {
    await system.stop()
  }
} finally {
  await redis.stop()
}
console.log(`\n${resultTables(rounds)}\n`)
if (options.save)
  console.log(
    `saved to ${saveResults('presence', { ...where, settings, rounds }, () => renderReport(where, settings, rounds)).join(' and ')}`
  )
const problems = problemsOf(rounds)
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
