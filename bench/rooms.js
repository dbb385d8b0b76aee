#!/usr/bin/env node
/**
 * Cost of an emit to a room: `npm run bench:rooms`, two minutes.
 */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { readOptions } from './options.js'
import { createProgress } from './report/progress.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'
import { runRound } from './rooms/round.js'
import { startBaseline } from './systems/baseline.js'
import { SET, SET_USAGE } from './systems/given.js'
import { startInkcast } from './systems/inkcast.js'

const options = readOptions(
  {
    rounds: { type: 'string', default: '3' },
    members: { type: 'string', default: '100' },
    emits: { type: 'string', default: '2000' },
    rate: { type: 'string', default: '200' },
    workers: { type: 'string', default: '2' },
    ...SET,
    save: { type: 'boolean', default: true }
  },
  `Cost of an emit to a room: inkcast and the baseline run the same handlers, alternating

  node bench/rooms.js [options]

  --rounds N    rounds per system (3)
  --members N   members of the room, on all workers (100)
  --emits N     measured emits (2000)
  --rate N      emits per second (200)
  --workers N   workers (2)
${SET_USAGE}
  --no-save     save no results`
)
const [members, emits, perSecond, workers] = [options.members, options.emits, options.rate, options.workers].map(Number)
const secret = randomBytes(32).toString('hex')
const extension = fileURLToPath(new URL('rooms/extension.js', import.meta.url))
const where = environment()
const progress = createProgress()
const redis = await startRedis()
/** @type {import('./rooms/round.js').RoundResult[]} */
const rounds = []
try {
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [i, start] of [startInkcast, startBaseline].entries()) {
      progress.show(`round ${round + 1}`, (2 * round + i) / (2 * Number(options.rounds)))
      const env = { MAX_EVENTS_PER_SECOND: '100000', MAX_BYTES_PER_SECOND: '100000000' }
      const system = await start({ workers, redisUrl: redis.url, secret, extension, env })
      try {
        rounds.push(await runRound(system, { members, emits, perSecond, secret, redisPid: redis.pid }))
      } finally {
        await system.stop()
      }
      progress.clear()
      console.error(JSON.stringify(rounds.at(-1)))
    }
  }
} finally {
  await redis.stop()
}

const mean = (/** @type {string} */ system, /** @type {'serverUs' | 'redisUs' | 'clientUs'} */ field) => {
  const of = rounds.filter((round) => round.system === system)
  return of.reduce((sum, round) => sum + round[field], 0) / of.length
}
const ratio = (mean('inkcast', 'serverUs') / mean('baseline', 'serverUs')).toFixed(2)
const table = markdownTable(
  ['system', 'server us per emit', 'Redis us', 'client us', 'received'],
  rounds.map(({ system, serverUs, redisUs, clientUs, received, expected }) =>
    [system, serverUs, redisUs, clientUs, `${received} of ${expected}`])
)
const page = `# Rooms, ${where.date.slice(0, 10)}

An emit to a room of ${members} members on ${workers} workers, ${perSecond} a second, 230 bytes each; CPU of all server
processes. inkcast uses ${ratio} of the baseline.

${table}

\`${where.command}\` on ${where.date}, ${where.machine.cores} cores (${where.machine.cpu}), load ${where.machine.load}
before the run. ${Object.entries(where.versions).map(([name, version]) => `${name} ${version}`).join(', ')}.
`
console.log(`\n${page}`)
if (options.save) console.log(`saved to ${saveResults('rooms', { ...where, options, rounds }, () => page).join(' and ')}`)
