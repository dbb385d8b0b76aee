/**
 * The result of the heartbeat benchmark as a page, and its requirements.
 */
import { markdownTable } from '../report/table.js'
import { TIMEOUT } from './system.js'

/** @typedef {import('./round.js').RoundResult} RoundResult */

/**
 * Maximum CPU of healthy connections at the longest interval, in addition to an empty process, percent of a core.
 */
const MAX_CPU = 2
/** Maximum packets of healthy connections with 60 s, as a share of those with 25 s. */
const MAX_PACKETS = 0.45

/** @param {RoundResult[]} rounds the others are compared with the first one */
export function resultTables (rounds) {
  const [fixed] = rounds
  const living = markdownTable(
    [
      'heartbeat',
      'pings/s, growing',
      'pings/s',
      'of the first',
      'CPU %',
      'of it for connections',
      'heap KB',
      'resident KB',
      'lost'
    ],
    rounds.map((round) => [
      round.kind,
      round.growingPingsPerSecond,
      round.pingsPerSecond,
      `${percent(round.pingsPerSecond / fixed.pingsPerSecond)} %`,
      round.cpu,
      added(round),
      round.heapKb,
      round.residentKb,
      round.lost
    ])
  )
  const dead = markdownTable(
    [
      'heartbeat',
      'detected after s, p50',
      'max',
      'at most',
      'burst',
      'removed in ms',
      'per second',
      'per second of CPU',
      'event loop blocked ms'
    ],
    rounds.map((round) => [
      round.kind,
      seconds(round.foundAfter.p50),
      seconds(round.foundAfter.max),
      seconds(round.foundWithin),
      round.burst,
      round.burstMs,
      round.burstPerSecond,
      Math.round((round.burst / round.burstCpuMs) * 1000),
      round.burstDelayMs
    ])
  )
  return `${living}\n\n${dead}`
}

/** @param {RoundResult[]} rounds @returns {string[]} requirements that are not met */
export function problemsOf (rounds) {
  const [fixed, ...others] = rounds
  return [
    ...rounds.filter(({ lost }) => lost > 0).map(({ kind, lost }) => `${kind}: ${lost} living connections were lost`),
    ...rounds
      .filter((round) => added(round) > MAX_CPU)
      .map((round) => `${round.kind}: connections use ${added(round)} % of a core, at most ${MAX_CPU} is allowed`),
    ...rounds
      .filter(({ foundAfter, foundWithin }) => (foundAfter.max ?? 0) > foundWithin)
      .map(({ kind, foundAfter }) => `${kind}: a dead connection was detected after ${foundAfter.max} ms`),
    ...others
      .filter(({ kind }) => kind.includes('60 s'))
      .filter(({ pingsPerSecond }) => pingsPerSecond > MAX_PACKETS * fixed.pingsPerSecond)
      .map(
        ({ kind, pingsPerSecond }) =>
          `${kind}: ${pingsPerSecond} pings per second, at most ${MAX_PACKETS} of ${fixed.pingsPerSecond} are allowed`
      )
  ]
}

/**
 * @param {import('../measure/environment.js').Environment} environment
 * @param {import('./round.js').HeartbeatSettings} settings
 * @param {RoundResult[]} rounds
 */
export function renderReport ({ date, command, machine, versions }, settings, rounds) {
  return `# Heartbeat, ${date.slice(0, 10)}

${resultTables(rounds)}

## Method

\`${command}\` on ${date}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.kernel}, load ${machine.load} \
before the run.
${Object.entries(versions)
  .map(([name, version]) => `${name} ${version}`)
  .join(', ')}.

One embedded process of inkcast per heartbeat, production settings, ${settings.connections} WebSocket connections from \
${settings.processes} client processes, each
with one of ${settings.documents} documents open and silent except for pongs. Pings are counted by the \
clients: *growing* from 5 s after the last connection was opened until all have reached
the longest interval, then for some ${settings.windowMs / 1000} s, a multiple of it. CPU is user and system time of the whole process, \
including pongs, from /proc, as a share of
one core; *of it for connections* is the increase over the process without connections.
Heap and resident set are the growth over the empty process after a garbage collection, per connection, 5 s after the last one was opened.

Then ${settings.dying} of the clients fall silent with their connections open: *detected after* is the time until their connections are \
closed, *at most* the
advertised interval plus the timeout of ${TIMEOUT / 1000} s. At the end all remaining clients fall silent, the process is stopped \
(SIGSTOP) until
every ping is overdue, and continued, so that all of them expire at once: *removed* is the time from the first closed connection to the \
last, as seen by the
clients, which also depends on the spacing of their pings (the gateway sends them, and closes connections, 100 at \
a time, and lets other work
between); *per second of CPU* is the number that one core could remove, *event loop blocked* the longest delay of the event loop during \
this time.
`
}

/** @param {RoundResult} round */
const added = ({ cpu, emptyCpu }) => Math.round((cpu - emptyCpu) * 100) / 100
const percent = (/** @type {number} */ share) => Math.round(share * 1000) / 10
const seconds = (/** @type {number | null} */ ms) => ms === null ? '' : Math.round(ms / 100) / 10
