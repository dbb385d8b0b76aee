/**
 * The result of the presence benchmark as a page, and its requirements.
 */
import { markdownTable } from '../report/table.js'

/** @typedef {import('./round.js').RoundResult} RoundResult */

/** Maximum data sent to one client while a room fills, bytes, and maximum delay of a worker's event loop, ms. */
const MAX_BYTES = 250_000
const MAX_LAG = 100

/** @param {RoundResult[]} rounds */
export function resultTables (rounds) {
  const joining = markdownTable(
    [
      'members',
      'joined in s',
      'all informed after s',
      'answer p50 ms',
      'p99',
      'messages',
      'per member p50',
      'max',
      'bytes per member p50',
      'max',
      'lag p99 ms',
      'max',
      'CPU ms per join'
    ],
    rounds.map(({ members, joining: { joinedMs, knownMs, latency, total, messages, bytes, lag, cpuMs } }) => [
      members,
      seconds(joinedMs),
      seconds(knownMs),
      latency.p50 ?? '',
      latency.p99 ?? '',
      total,
      messages.p50 ?? '',
      messages.max ?? '',
      bytes.p50 ?? '',
      bytes.max ?? '',
      lag.p99,
      lag.max,
      Math.round((cpuMs / members) * 100) / 100
    ])
  )
  const changing = markdownTable(
    ['members', 'messages', 'per member max', 'bytes per member p50', 'max', 'lag p99 ms', 'max'],
    rounds.map(({ members, changing: { total, messages, bytes, lag } }) => [
      members,
      total,
      messages.max ?? '',
      bytes.p50 ?? '',
      bytes.max ?? '',
      lag.p99,
      lag.max
    ])
  )
  return `All join:\n\n${joining}\n\nThen a tenth of them changes its state each second, for 5 s:\n\n${changing}`
}

/** @param {RoundResult[]} rounds @returns {string[]} requirements that are not met */
export function problemsOf (rounds) {
  return rounds.flatMap(({ members, joining: { failures, bytes, lag } }) => [
    ...Object.entries(failures).map(([reason, count]) => `${members} members: ${count} joins failed: ${reason}`),
    ...((bytes.max ?? 0) > MAX_BYTES
      ? [`${members} members: a client was sent ${bytes.max} bytes, at most ${MAX_BYTES} are allowed`]
      : []),
    ...(lag.p99 > MAX_LAG
      ? [`${members} members: the event loop was ${lag.p99} ms late (p99), at most ${MAX_LAG} is allowed`]
      : [])
  ])
}

/**
 * @param {import('../measure/environment.js').Environment} environment
 * @param {{ workers: number, joinMs: number }} settings
 * @param {RoundResult[]} rounds
 */
export function renderReport ({ date, command, machine, versions }, { workers, joinMs }, rounds) {
  return `# Presence, ${date.slice(0, 10)}

${resultTables(rounds)}

## Method

\`${command}\` on ${date}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.kernel}, load ${machine.load} \
before the run.
${Object.entries(versions)
  .map(([name, version]) => `${name} ${version}`)
  .join(', ')}.

\`npm start\` with ${workers} gateway workers and a Redis of its own, production settings. WebSocket connections of one client process, \
each a different user with a
token, are open; then all join one document with a state of some 60 bytes, evenly over ${joinMs / 1000} s. *All informed*: every member \
knows the number of all. Bytes and
messages are the presence data that clients got: responses to joins and \`doc:presence\`. *Lag* is the event-loop delay of the slower \
worker, sampled
every 10 ms; clients, workers and Redis share the cores. Above \`PRESENCE_MAX_MEMBERS\` (500) members only get their number.
`
}

const seconds = (/** @type {number} */ ms) => Math.round(ms / 100) / 10
