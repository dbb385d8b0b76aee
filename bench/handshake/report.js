/**
 * The result of the handshake benchmark as a Markdown page, which is also readable in a terminal.
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

## Method

\`${command}\` on ${date}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.kernel}, load ${machine.load} \
before the run.
${Object.entries(versions)
  .map(([name, version]) => `${name} ${version}`)
  .join(', ')}.

Per system ${settings.rounds} rounds, alternating, each with fresh processes: ${settings.workers} workers and a Redis of their own. A \
handshake is
a TCP connection, the WebSocket upgrade, CONNECT with a JWT (a different user per client) and one \`doc:join\` with its response
(${settings.documents} documents), ${settings.concurrency} at a time; of MQTT a TCP connection, CONNECT with the JWT as password and a
clean start, and one SUBSCRIBE to a document with quality of service 1. *first* is the first ${settings.connections} handshakes of a \
process that has just
started, *warm* the same number after those connections were closed, *polling, upgraded* is ${settings.polling} stock clients
that start with long polling, ${settings.pollingConcurrency} at a time. *expired* is ${settings.expiring} connections whose tokens expire \
in the same second: CPU per connection
that is closed with its reason and leaves its document, from a second before it; its latency is the time from the first end to the last.

CPU is user and system time of all processes of the system (launcher or primary, workers, api), from /proc; *system* is the
part of it in the kernel, and Redis is shown separately. The load generator shares the cores; *client* shows its CPU
per handshake and the load of its event loop: above 0.8 latency depends more on the client than on the server. Latencies are
those of the worst round, everything else is the mean of the rounds. *baseline* gives jsonwebtoken a KeyObject, *baseline, string secret*
the secret as a string, as in jsonwebtoken's README. Memory is the growth of the resident set of all server
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
