/**
 * The results beside what was published.
 */
import { escaped } from '../../packages/load/report.js'
import { markdownTable } from '../report/table.js'
import { PUBLISHED, READINGS } from './scenarios.js'

/**
 * @typedef {import('../../packages/load/run.js').Result} Result
 *
 * @typedef {object} Figures of one run; null: the scenario does not show it
 * @property {number | null} connectionsPerCore opened per second of the server's CPU, in the phases `connect` and, with
 *   churn, `hold`: there the deliveries are included
 * @property {number | null} deliveriesPerCore per second of the server's CPU while the connections are held, with
 *   heartbeat, receipts and handshakes
 * @property {number | null} memory KB of all processes per connection, above what they had without connections
 * @property {number | null} growth of all processes' memory while the connections were held, percent
 *
 * @typedef {object} Saved
 * @property {import('../measure/environment.js').Environment} environment
 * @property {number} connections
 * @property {number} workers
 * @property {number} hold s
 * @property {(Omit<Result, 'samples'> & { name: string, scenario: string, tls: boolean, figures: Figures })[]} runs
 */

/** @param {Result} result @param {string} scenario @returns {Figures} */
export function figuresOf ({ plan, summary }, scenario) {
  const { phases, connections, memoryBefore, memoryHeld, memoryAfter } = summary
  const { connect, hold } = phases
  const perCore = (/** @type {number} */ count, /** @type {number} */ cpu) => cpu > 0 && count > 0 ? count / cpu : null
  // two generations of workers run at the same time
  const isSteady = scenario !== 'faults'
  const opening = plan.churn > 0 ? hold : connect
  return {
    connectionsPerCore: perCore(opening?.opened ?? 0, opening?.cpu ?? 0),
    deliveriesPerCore: perCore(hold?.deliveries ?? 0, hold?.cpu ?? 0),
    memory: isSteady && memoryBefore > 0 ? (memoryAfter - memoryBefore) / connections / 1000 : null,
    growth: isSteady && memoryHeld > 0 ? 100 * (memoryAfter / memoryHeld - 1) : null
  }
}

const shown = (/** @type {number | null | undefined} */ value, digits = 0) =>
  value === null || value === undefined ? '–' : value.toLocaleString('en-US', { maximumFractionDigits: digits })

/** @param {Saved[]} saved @returns {{ head: string[], rows: string[][] }} */
function cellsOf (saved) {
  const perCore = (/** @type {number | undefined} */ value) =>
    value === undefined ? '–' : READINGS.map((cores) => `${shown(value / cores)} (${cores} cores)`).join(', ')
  return {
    head: [
      'scenario', 'connections', 'missing', 'connections/s per core', 'deliveries/s per core', 'KB per connection',
      'growth of memory in the hold', 'latency p50, p99'
    ],
    rows: [
      ...PUBLISHED.map(({ what, connections, connectionsPerSecond, deliveriesPerSecond, memory }) => [
        `published: ${what}`, shown(connections), '–', perCore(connectionsPerSecond), perCore(deliveriesPerSecond),
        shown(memory), '–', '–'
      ]),
      ...saved.flatMap(({ runs, workers }) => runs.map(({ name, figures, summary, missing, problems }) => [
        `${name}, ${workers} workers`,
        shown(summary.connections),
        problems.length === 0 ? '0' : `${missing.everyone + missing.documents}; ${problems.join('; ')}`,
        shown(figures.connectionsPerCore),
        shown(figures.deliveriesPerCore),
        // other memory of the processes was freed meanwhile, and was more
        figures.memory !== null && figures.memory <= 0 ? 'below the noise' : shown(figures.memory, 1),
        figures.growth === null ? '–' : `${figures.growth >= 0 ? '+' : ''}${figures.growth.toFixed(1)} %`,
        summary.latency.p50 === null ? '–' : `${shown(summary.latency.p50)} ms, ${shown(summary.latency.p99)} ms`
      ]))
    ]
  }
}

const HOW = [
  'Rows that begin with "published" are from the published test. It names two machines, one with ' +
  `${READINGS.join(' cores and one with ')}, and does not say which one was measured. So each rate is divided by both. How busy these ` +
  'cores were is not known.',
  'The other rows are inkcast. Their rates are divided by the CPU time that its processes used (launcher, api, gateways; without ' +
  'Redis): "2,000 connections/s per core" means that a core which does nothing else opens 2,000 connections in a second.',
  'This CPU time is of everything that happened meanwhile. In "deliveries/s per core" it includes heartbeat and receipts, and in ' +
  'scenario 4 also the handshakes of the clients that come back. In "connections/s per core" of scenario 4 it includes the deliveries.',
  '"KB per connection" is the resident memory of all processes, less what they had before the first connection, divided by the ' +
  'connections. A process frees other memory meanwhile, so with few connections the difference is below the noise.',
  '"Growth of memory in the hold" compares the memory at the end of the hold (the time in which all clients stay connected) with that ' +
  'at its beginning. A negative figure means that memory was freed. In scenario 4 it is mostly garbage: V8 keeps closed connections ' +
  'until its next full collection, and lets the heap grow to twice its size until then. The soak (`npm run soak`) measures after a ' +
  'collection, and shows whether anything is kept.'
]

/** @param {Saved[]} saved @returns {string} Markdown: a table beside the published figures, and how it is to be read */
export function scenarioTable (saved) {
  const { head, rows } = cellsOf(saved)
  return `${markdownTable(head, rows)}\n\n${HOW.map((line) => `- ${line}`).join('\n')}`
}

/** @param {Saved} saved @returns {string} Markdown */
export function pageOf (saved) {
  const { machine, versions, date, command } = saved.environment
  return `# Published scenarios: ${saved.connections.toLocaleString('en-US')} connections, ${saved.workers} workers

\`${command}\`, ${date}; ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.kernel}, Node ${versions.node}

${scenarioTable([saved])}
`
}

/** @param {Saved} saved @returns {string} HTML */
export function tableOf (saved) {
  const { head, rows } = cellsOf([saved])
  const row = (/** @type {string[]} */ cells, /** @type {string} */ tag) =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`
  return `<table>${row(head, 'th')}${rows.map((cells) => row(cells, 'td')).join('\n')}</table>
<ul>${HOW.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`
}
