#!/usr/bin/env node
/**
 * Life-cycle events after a worker is killed: `npm run bench:sessions`, four minutes.
 */
import { parseArgs } from 'node:util'
import { environment } from './measure/environment.js'
import { serviceVersions } from './measure/services.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'
import { KINDS, runRound } from './sessions/round.js'
import { SET } from './systems/given.js'
import { LEASE_TIME } from '../src/people/workers/worker-lease.js'

const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    connections: { type: 'string', default: '10000' },
    documents: { type: 'string', default: '100' },
    alone: { type: 'string', default: '1000' },
    ...SET,
    save: { type: 'boolean', default: true }
  }
})
const settings = {
  connections: Number(options.connections),
  documents: Number(options.documents),
  alone: Number(options.alone)
}
const where = environment(await serviceVersions())
/** @type {import('./sessions/round.js').RoundResult[]} */
const rounds = []
for (const kind of KINDS) rounds.push(await runRound(kind, settings, (what) => console.error(`${kind}: ${what}`)))

const table = markdownTable(
  [
    'the worker was',
    'connections',
    'of them killed',
    'gone for readers, ms',
    'first offline, ms',
    'all events, ms',
    'offline',
    'left',
    'vacated',
    'missing',
    'doubled',
    'unexpected',
    'wrong counts'
  ],
  rounds.map(
    ({ kind, connections, killed, goneMs, firstMs, lastMs, events, missing, doubled, unexpected, wrongCounts }) => [
      kind, connections, killed, goneMs, firstMs, lastMs,
      events.offline,
      events.left,
      events.vacated,
      missing, doubled, unexpected, wrongCounts
    ]
  )
)
console.log(`\n${table}\n`)
const page = `# A worker is killed, ${where.date.slice(0, 10)}

${table}

## Method

\`${where.command}\` on ${where.date}, ${where.machine.cores} cores (${where.machine.cpu}), ${where.machine.memoryGb} GB, \
${where.machine.kernel}, load ${where.machine.load} before the run.
${Object.entries(where.versions)
  .map(([name, version]) => `${name} ${version}`)
  .join(', ')}.

A cluster with two gateway workers, a Redis and a Kafka of its own. ${settings.connections} WebSocket connections, each of a different \
user, join ${settings.documents} documents, ${settings.alone} more
a document of their own each. All are reported as \`online\` and \`joined\` (${rounds.map(({ onlineMs }) => onlineMs).join(' and ')} ms \
after the last handshake). Then one worker is
killed with SIGKILL; its clients do not reconnect. *Restarted*: by the launcher, with the same number. *Not replaced*: the launcher is \
stopped, so that only the end of the
lease (${LEASE_TIME / 1000} s after its last renewal) reveals the death.

Times are from the kill: until readers of the session store no longer find any of its connections, until the first \`offline\` was
consumed from the uplink topic, and until all expected events were. Then the benchmark waits for duplicates. *Unexpected* are events of \
users and documents
that are still present, *wrong counts* documents whose members are not exactly the remaining ones.
`
if (options.save)
  console.log(`saved to ${saveResults('sessions', { ...where, settings, rounds }, () => page).join(' and ')}`)
const bad = rounds.filter(
  ({ missing, doubled, unexpected, wrongCounts, goneMs }) =>
    missing + doubled + unexpected + wrongCounts > 0 || goneMs > LEASE_TIME
)
for (const { kind } of bad) console.error(`FAILED: ${kind}`)
process.exit(bad.length === 0 ? 0 : 1)
