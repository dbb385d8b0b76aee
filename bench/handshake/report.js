/**
 * The result of the handshake benchmark for people: a Markdown page, which is also readable in a terminal.
 */
import { markdownTable } from '../report/table.js'

/**
 * @param {import('../measure/environment.js').Environment} environment
 * @param {import('./round.js').HandshakeSettings & { rounds: number }} settings
 * @param {import('./summary.js').Summary} summary
 * @returns {string}
 */
export function renderReport ({ date, command, machine, versions }, settings, summary) {
  return `# Handshakes, ${date.slice(0, 10)}

${summaryTables(summary)}

## How it was measured

\`${command}\` on ${date}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.kernel}, load ${machine.load} before the run.
${Object.entries(versions)
  .map(([name, version]) => `${name} ${version}`)
  .join(', ')}.

Per system ${settings.rounds} rounds in turn, each with fresh processes: ${settings.workers} workers and a Redis of their own. A handshake is
a TCP connection, the WebSocket upgrade, CONNECT with a JWT (each client is another user) and one \`doc:join\` with its answer
(${settings.documents} documents), ${settings.concurrency} at a time. *websocket* is the first ${settings.connections} handshakes of a process that has just
started, *warm* is as many again after those connections were closed, *polling, upgraded* is ${settings.polling} stock clients
that begin with long polling, ${settings.pollingConcurrency} at a time.

CPU is user and system time of all processes of the system (launcher or primary, workers, api), from /proc; *system* is the
part of it in the kernel, and Redis is told apart. Latency shares the cores with the load generator, of which *client* tells the CPU
per handshake and how busy its event loop was: above 0.8 latency says more about the client than about the server. Latencies are
those of the worst round, everything else is the mean of the rounds. *baseline* gives jsonwebtoken a KeyObject, *baseline, string secret*
the secret as it is, as jsonwebtoken's README shows it. Memory is the growth of the resident set of all server
processes, per connection that is open at the end.
`
}

/** @param {import('./summary.js').Summary} summary */
export function summaryTables ({ lines, ratios, memory }) {
  const handshakes = markdownTable(
    [
      'phase',
      'system',
      'CPU us',
      'system us',
      'Redis us',
      'failed',
      'p50 ms',
      'p99 ms',
      'max ms',
      'spread',
      'client us',
      'client busy'
    ],
    lines.map((line) => [
      line.phase,
      line.system,
      line.cpuUs,
      line.systemUs,
      line.redisUs,
      `${line.failed} of ${line.attempted}`,
      line.p50,
      line.p99,
      line.max,
      line.spread,
      line.clientUs,
      line.clientBusy
    ])
  )
  const comparison =
    ratios.length === 0
      ? ''
      : `\n\n${markdownTable(
        ['phase', 'inkcast / what', 'CPU', 'with Redis'],
        ratios.map(({ phase, against, cpu, cpuWithRedis }) => [
          phase,
          against,
          cpu.toFixed(2),
          cpuWithRedis.toFixed(2)
        ])
      )}`
  const resident = markdownTable(
    ['system', 'resident KB per connection', 'connections lost'],
    memory.map(({ system, residentKb, lost }) => [system, residentKb, lost])
  )
  const reasons = lines.flatMap((line) =>
    Object.entries(line.failures).map(([reason, count]) => `- ${line.system}, ${line.phase}: ${count} x ${reason}`)
  )
  return `${handshakes}${comparison}\n\n${resident}${reasons.length === 0 ? '' : `\n\nFailures:\n${reasons.join('\n')}`}`
}
