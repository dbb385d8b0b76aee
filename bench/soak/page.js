/**
 * The report of a soak: a page for the repository, and one with plots.
 */
import { escaped, plotPage, plotsOf, rowsOf } from '../../packages/load/report.js'
import { markdownTable } from '../report/table.js'
import { shown } from './verdict.js'

/**
 * @typedef {import('./run.js').Result} Result
 * @typedef {import('./measure.js').Sample} Sample
 * @typedef {import('./verdict.js').Row} Row
 *
 * @typedef {object} Saved
 * @property {import('../measure/environment.js').Environment} environment
 * @property {Result} result
 * @property {{ from: number, to: number }} window
 * @property {Row[]} rows
 * @property {string[]} problems
 */

/** Samples of the load that the page with plots leaves out. */
const THIN = 10

/** @param {Row} row @returns {string[]} */
function cellsOf ({ name, unit, growth, start, end }) {
  const size = (/** @type {number | undefined} */ value) => value === undefined ? '–' : shown(value, unit)
  return [
    name,
    size(growth?.median),
    growth === undefined ? 'not measured' : `${signed(growth.growth)} %`,
    growth === undefined ? '–' : `${signed(growth.low)} to ${signed(growth.high)} %`,
    size(start),
    size(end)
  ]
}

/** @param {number} value */
const signed = (value) => `${value >= 0.005 ? '+' : ''}${value.toFixed(2)}`

const HEAD = ['figure', 'median under load', 'growth', '95 % interval', 'before the clients came', 'after they left']

/** @param {Row[]} rows @returns {string} Markdown */
export const growthTable = (rows) => markdownTable(HEAD, rows.map(cellsOf))

/** @param {Result} result @returns {string} */
function describe ({ settings }) {
  const {
    connections, minutes, documents, rate, churn, activity, polling, msgpack, workers, kafka, faults, every, seed
  } = settings
  return `${connections.toLocaleString('en-US')} clients of ${documents} documents for ${minutes} minutes, ` +
    `${workers} gateway workers, Redis${kafka ? ', Kafka' : ''}. ${rate} records a second${kafka ? ', half of them through Kafka' : ''}. ` +
    `Each second ${churn} % of the clients leave and come back, and ${activity} % signal, send, and open another document. ` +
    `${polling} % use long polling, ${msgpack} % msgpack. ${faults ? `A fault every ${every} minutes, seed ${seed}.` : 'No faults.'}`
}

/** @param {Saved} saved @returns {string} Markdown */
export function pageOf ({ environment: { date, command, machine, versions }, result, window, rows, problems }) {
  const { load, faults } = result
  return `# Soak, ${date.slice(0, 10)}

\`${command}\` on ${machine.cores} cores (${machine.cpu}, ${machine.memoryGb} GB, ${machine.kernel}), Node.js ${versions.node}, Redis \
${versions.redis}, Kafka ${versions.kafka}; load average ${machine.load} before the run.

${describe(result)}

**${problems.length === 0 ? 'Passed.' : 'Failed.'}** How it is measured: [docs/internals/soak.md](../../docs/internals/soak.md).
${problems.map((problem) => `\n- ${problem}`).join('')}
## Growth, minutes ${window.from} to ${window.to.toFixed(0)}

${growthTable(rows)}

## Records

${markdownTable(['figure', 'value'], rowsOf(load).map(([name, value]) => [name, value]))}

## Faults

${faults.length === 0 ? 'None.' : markdownTable(['minute', 'fault', 'lasted, s'],
  faults.map(({ at, name, seconds }) => [at.toFixed(1), name, seconds.toFixed(1)]))}
`
}

/** @param {Saved} saved @returns {string} HTML */
export function plotsPage ({ environment, result, rows, problems }) {
  const { samples, load } = result
  const row = (/** @type {string[]} */ cells, /** @type {string} */ tag) =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`
  const intro = `<p class="${problems.length === 0 ? 'ok' : 'bad'}">\
${problems.length === 0 ? 'Passed.' : problems.map(escaped).join('<br>')}</p>
<p>${escaped(describe(result))}</p>
<table>${row(HEAD, 'th')}${rows.map((each) => row(cellsOf(each), 'td')).join('\n')}</table>`
  const thinned = load.samples.filter((_, i) => i % THIN === 0)
  return plotPage({
    title: 'Soak',
    started: environment.date,
    intro,
    unit: 'min',
    sections: [
      { html: '<h2>Once a minute, after a garbage collection</h2>', at: samples.map(({ at }) => at), plots: minutePlots(samples) },
      { html: '<h2>Load</h2>', at: thinned.map(({ at }) => at / 60), plots: plotsOf(thinned) }
    ]
  })
}

/** @param {Sample[]} samples @returns {import('../../packages/load/report.js').Plot[]} */
function minutePlots (samples) {
  const names = [...new Set(samples.flatMap(({ processes }) => processes.map(({ role, pid }) => `${role} ${pid}`)))]
  /** @param {(process: import('./processes.js').Reading) => number} of */
  const byProcess = (of) => names.map((label) => ({
    label,
    values: samples.map(({ processes }) => {
      const found = processes.find(({ role, pid }) => `${role} ${pid}` === label)
      return found === undefined ? null : of(found)
    })
  }))
  const groups = [...new Set(samples.flatMap(({ keys }) => Object.keys(keys)))].sort()
  /** @param {string} label @param {(sample: Sample) => number} of */
  const line = (label, of) => ({ label, values: samples.map(of) })
  return [
    { title: 'Heap in use', unit: 'MB', lines: byProcess(({ heapUsed }) => heapUsed / 1e6) },
    { title: 'Compiled code in it', unit: 'MB', lines: byProcess(({ code }) => code / 1e6) },
    { title: 'Resident memory', unit: 'MB', lines: byProcess(({ resident }) => resident / 1e6) },
    { title: 'Descriptors', unit: '', lines: byProcess(({ descriptors }) => descriptors) },
    { title: 'Longest delay of the event loop', unit: 'ms', lines: byProcess(({ lag }) => lag) },
    { title: 'Keys of Redis', unit: '', lines: groups.map((group) => line(group, ({ keys }) => keys[group] ?? 0)) },
    { title: 'Memory of Redis', unit: 'MB', lines: [line('used', ({ redis }) => redis.memory / 1e6)] },
    {
      title: 'Subscriptions, connections of Redis', unit: '',
      lines: [line('channels', ({ redis }) => redis.channels), line('connections', ({ redis }) => redis.clients)]
    },
    { title: 'Records of Kafka that are not ingested', unit: '', lines: [line('lag', ({ lag }) => lag)] },
    {
      title: 'Documents and presence', unit: '',
      lines: ['inkcast_documents', 'inkcast_presence_members', 'inkcast_presence_lapsing', 'inkcast_sessions_pending'].map(
        (name) => line(name.replace('inkcast_', ''), ({ gauges }) => gauges[name] ?? 0)
      )
    },
    { title: 'Series of metrics', unit: '', lines: [line('series', ({ series }) => series)] }
  ]
}
