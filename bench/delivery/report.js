/**
 * The result as a Markdown page, which is also readable in a terminal, and its plots.
 */
import { renderPlot } from '../report/plot.js'
import { markdownTable } from '../report/table.js'

/**
 * @typedef {import('./summary.js').SystemSummary} SystemSummary
 * @typedef {import('./summary.js').DeliveryLine} DeliveryLine
 * @typedef {import('./limits.js').Verdict} Verdict
 */

const REFERENCE = 'baseline'

/**
 * @param {SystemSummary[]} summary
 * @param {Verdict[]} verdicts
 * @param {string[]} notes skipped parts and errors
 * @param {(plot: string) => string} [plotFile] default: no plots
 */
export function summaryTables (summary, verdicts, notes, plotFile) {
  return [
    handshakes(summary),
    deliveries('Bursts: many records of each document at once', summary, 'burst'),
    deliveries('Bursts of one record of each document: nothing to coalesce', summary, 'single'),
    deliveries('Steady', summary, 'steady'),
    pairs(summary),
    idle(summary),
    sweep('Members per document', summary, 'members', plotFile),
    sweep('Documents', summary, 'documents', plotFile),
    memory(summary),
    roles(summary),
    generator(summary),
    verdicts.length === 0
      ? ''
      : `### Limits\n\n${markdownTable(
        ['what', 'measured', 'at most', 'holds'],
        verdicts.map(({ what, measured, limit, holds }) => [what, measured, limit, holds ? 'yes' : 'NO'])
      )}`,
    notes.length === 0 ? '' : notes.map((note) => `- ${note}`).join('\n')
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/**
 * @param {import('../measure/environment.js').Environment} environment
 * @param {import('./scale.js').Scale} scale
 * @param {string} tables
 * @returns {string}
 */
export function renderReport ({ date, command, machine, versions }, scale, tables) {
  return `# Benchmark, ${date.slice(0, 10)}

\`${command}\` on ${date}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.kernel}, load ${machine.load} \
before the run.
${Object.entries(versions)
  .map(([name, version]) => `${name} ${version}`)
  .join(', ')}.

${tables}

## Reading the tables

${scale.rounds} rounds per system, alternating, each with fresh processes: ${scale.workers} workers, a Redis and a Kafka of their own.
${scale.connections.toLocaleString('en')} connections, ${scale.documents} documents; the message has 500 bytes, *bytes each* is its size \
at the client, with metadata.
CPU is user and system time of all server processes (launcher or primary, workers, api, ingest), from the kernel; Redis and Kafka are shown
separately; clients and producer are not included. Every figure includes the system's idle load; *idle* shows it alone. Latency is
the time from producing a record to its receipt, on one clock; above 0.8 *client busy* it depends more on the load generator than on the
server. *others* is the share of the machine used by programs outside the benchmark: above 0.05 the machine was not idle.
CPU figures are means of the rounds, latencies those of the worst round.
A burst is ${scale.burstRecords} records of each document, published at once; the next one starts when all of it has arrived. The steady \
rate is ${scale.steadyRate.toLocaleString('en')} deliveries/s
for ${scale.steadySeconds} s. See bench/README.md.
`
}

/** @param {SystemSummary[]} summary */
function handshakes (summary) {
  const lines = summary.flatMap(({ system, connect }) => connect === undefined ? [] : [{ system, ...connect }])
  if (lines.length === 0) return ''
  const reasons = lines.flatMap(({ system, failures }) =>
    Object.entries(failures).map(([reason, count]) => `\n- ${system}: ${count} x ${reason}`)
  )
  return `### Handshakes, per handshake\n\n${markdownTable(
    [
      'system',
      'CPU us',
      'of it kernel',
      'Redis us',
      'Kafka us',
      'CPU / baseline',
      'failed',
      'p50 ms',
      'p99 ms',
      'max ms',
      'resident KB'
    ],
    lines.map((line) => [
      line.system,
      fixed(line.cpuUs, 0),
      fixed(line.systemUs, 0),
      fixed(line.redisUs, 0),
      fixed(line.kafkaUs, 0),
      ratio(line, lines),
      `${line.failed} of ${line.attempted}`,
      line.p50,
      line.p99,
      line.max,
      line.residentKb
    ])
  )}${reasons.join('')}`
}

/** @param {string} title @param {SystemSummary[]} summary @param {'burst' | 'single' | 'steady'} phase */
function deliveries (title, summary, phase) {
  const lines = summary.flatMap((each) => each[phase] === undefined ? [] : [{ system: each.system, ...each[phase] }])
  if (lines.length === 0) return ''
  const rows = lines.map((line) => [
    line.system,
    fixed(line.cpuUs),
    fixed(line.systemUs),
    fixed(line.redisUs),
    fixed(line.kafkaUs),
    ratio(line, lines),
    withRedis(line, lines),
    fixed(line.p50),
    fixed(line.p99),
    fixed(line.max),
    ratio(line, lines, 'p99'),
    `${line.missing}/${line.doubled}/${line.disordered} of ${line.deliveries + line.missing}`
  ])
  const head = [
    'system',
    'CPU us',
    'of it kernel',
    'Redis us',
    'Kafka us',
    'CPU / baseline',
    'with Redis',
    'p50 ms',
    'p99 ms',
    'max ms',
    'p99 / baseline',
    'missing/doubled/disordered'
  ]
  return `### ${title}, per delivery\n\n${markdownTable(head, rows)}`
}

/** @param {SystemSummary[]} summary */
function pairs (summary) {
  const rows = summary.flatMap(({ system, pairs = {} }) => Object.entries(pairs).flatMap(([phase, ratios]) => {
    const sorted = ratios.toSorted((one, other) => one - other)
    const middle = (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2
    return sorted.length === 0 ? [] : [
      [system, phase, fixed(middle), fixed(sorted[0]), fixed(sorted[sorted.length - 1]), sorted.length]
    ]
  }))
  return rows.length === 0 ? '' : '### CPU per delivery, relative to clients of Socket.IO in the same round\n\n' +
    markdownTable(['system', 'phase', 'middle', 'least', 'most', 'rounds'], rows)
}

/** @param {SystemSummary[]} summary */
function roles (summary) {
  const rows = summary.flatMap((each) =>
    /** @type {const} */ (['burst', 'single', 'steady', 'idle']).flatMap((phase) => {
      const shares = Object.entries(each[phase]?.roles ?? {})
      return shares.length < 2
        ? []
        : [[each.system, phase, shares.map(([role, cpu]) => `${role} ${fixed(cpu)}`).join(', ')]]
    })
  )
  return rows.length === 0
    ? ''
    : '### CPU by process role, us per delivery, idle: ms per ' +
      `second\n\n${markdownTable(['system', 'phase', 'all processes of a kind'], rows)}`
}

/** Figures of the load generator. @param {SystemSummary[]} summary */
function generator (summary) {
  const rows = summary.flatMap((each) => /** @type {const} */ (['burst', 'single', 'steady']).flatMap((phase) => {
    const line = each[phase]
    return line === undefined
      ? []
      : [
          [
            each.system,
            phase,
            Math.round(line.perSecond),
            Math.round(line.bytes),
            fixed(line.clientUs),
            line.clientBusy,
            line.lateMs,
            line.others
          ]
        ]
  }))
  if (rows.length === 0) return ''
  return '### Load ' +
    `generator\n\n${markdownTable(
      ['system', 'phase', 'deliveries/s', 'bytes each', 'client us each', 'client busy', 'producer late ms', 'others'], rows
    )}`
}

/** @param {SystemSummary[]} summary */
function idle (summary) {
  const rows = summary.flatMap((each) =>
    each.idle === undefined ? [] : [[each.system, each.idle.cpuMs, each.idle.redisMs, each.idle.kafkaMs]]
  )
  return rows.length === 0
    ? ''
    : `### Idle, all connections open, CPU ms per second\n\n${markdownTable(['system', 'CPU ms', 'Redis ms', 'Kafka ms'], rows)}`
}

/**
 * @param {string} title
 * @param {SystemSummary[]} summary
 * @param {'members' | 'documents'} name
 * @param {(plot: string) => string} [plotFile]
 */
function sweep (title, summary, name, plotFile) {
  const systems = summary.filter((each) => each[name].length > 0)
  if (systems.length === 0) return ''
  const counts = systems[0][name].map(({ count }) => count)
  const rows = counts.map((count) => {
    const lines = systems.map((each) => ({
      system: each.system,
      .../** @type {{ line: DeliveryLine }} */ (each[name].find((entry) => entry.count === count)).line
    }))
    return [
      count.toLocaleString('en'),
      ...lines.flatMap((line) => line.redisUs > 0 ? [fixed(line.cpuUs), fixed(line.redisUs)] : [fixed(line.cpuUs)]),
      ...lines.filter(({ system }) => system !== REFERENCE).map((line) => ratio(line, lines))
    ]
  })
  const head = [
    name,
    ...systems.flatMap((each) =>
      each[name][0].line.redisUs > 0 ? [`${each.system} CPU us`, 'Redis us'] : [`${each.system} CPU us`]
    ),
    ...systems.filter(({ system }) => system !== REFERENCE).map(({ system }) => `${system} / baseline`)
  ]
  return `### ${title}, per delivery\n\n${markdownTable(head, rows)}${plotFile === undefined ? '' : `\n\n![${title}](${plotFile(name)})`}`
}

/** @param {SystemSummary[]} summary */
function memory (summary) {
  const lines = summary.flatMap((each) => each.memory === undefined ? [] : [{ system: each.system, ...each.memory }])
  if (lines.length === 0) return ''
  const reference = lines.find(({ system }) => system === REFERENCE)
  return `### Memory of idle connections, all on one worker\n\n${markdownTable(
    ['system', 'worker KB each', 'when just opened', 'all processes KB each', 'worker / baseline', 'worker idle, ms/s', 'connections'],
    lines.map(({ system, workerKb, openedKb, allKb, idleMs, connections }) => [
      system, workerKb, openedKb, allKb,
      reference === undefined ? '-' : fixed(workerKb / reference.workerKb),
      fixed(idleMs), connections
    ])
  )}`
}

/** @param {SystemSummary[]} summary @returns {Record<string, string>} SVG by name */
export function renderPlots (summary) {
  const plot = (/** @type {'members' | 'documents'} */ name, /** @type {string} */ x, /** @type {string} */ how) => {
    const series = summary.filter((each) => each[name].length > 0).map((each) => ({
      name: each.system,
      points: each[name].map(({ count, line }) => /** @type {[number, number]} */ ([count, line.cpuUs]))
    }))
    return series.length === 0
      ? {}
      : { [name]: renderPlot({ title: `CPU per delivery: ${how}`, x, y: 'us of the server processes', series }) }
  }
  return {
    ...plot('members', 'members per document', 'one record of each document at a time'),
    ...plot('documents', 'documents', 'a constant rate of records')
  }
}

/**
 * @template {{ system: string, cpuUs: number, p99: number }} L
 * @param {L} line
 * @param {L[]} lines
 * @param {'cpuUs' | 'p99'} [name]
 */
function ratio (line, lines, name = 'cpuUs') {
  const reference = lines.find(({ system }) => system === REFERENCE)
  return reference === undefined ? '-' : fixed(line[name] / reference[name])
}

/** @template {{ system: string, cpuUs: number, redisUs: number }} L @param {L} line @param {L[]} lines */
function withRedis (line, lines) {
  const reference = lines.find(({ system }) => system === REFERENCE)
  return reference === undefined ? '-' : fixed((line.cpuUs + line.redisUs) / (reference.cpuUs + reference.redisUs))
}

/** @param {number} value @param {number} [digits] */
const fixed = (value, digits = 2) => value.toFixed(digits)
