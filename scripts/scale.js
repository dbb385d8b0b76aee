import { readdirSync, readFileSync } from 'node:fs'
import { scenarioTable } from '../bench/published/page.js'
import { workersTable } from '../bench/report/workers.js'

/** docs/scale.md: published scenarios, 100,000 connections and many workers, from the last runs in bench/results. */

const RESULTS = new URL('../bench/results/', import.meta.url)

/** @param {string} name of a benchmark @returns {{ base: string, result: any }} its last run */
function last (name) {
  const files = readdirSync(RESULTS).filter((file) =>
    file.startsWith(`${name}-`) && /^\d{4}(-\d\d){4}\.json$/.test(file.slice(name.length + 1)))
  const file = files.sort().at(-1)
  if (file === undefined) throw new Error(`bench/results has no run of ${name}`)
  return { base: file.replace(/\.json$/, ''), result: JSON.parse(readFileSync(new URL(file, RESULTS), 'utf8')) }
}

/** @param {{ base: string }} run */
const report = ({ base }) => `[${base}.html](../bench/results/${base}.html)`

export function scalePage () {
  const published = last('published')
  const many = last('published-100k')
  const faults = last('published-100k-faults')
  const workers = last('workers')
  const { machine, versions } = published.result.environment
  return `${[
    '# Scale',
    '<!-- Generated from bench/results by scripts/scale.js ("npm run docs"): do not edit. -->',
    `Published figures of systems of this kind, and those of inkcast on one machine with ${machine.cores} cores and ${machine.memoryGb} GB that also runs the clients (Node ${versions.node}, Redis, no Kafka). Compare rows, not machines: the figures per core are of a machine whose cores are shared.`,
    '## Published scenarios',
    `\`npm run load:published\`. \`inkcast load\` ([load](load.md)) opens the clients, publishes, and compares every delivery and every receipt with what was published. Plots over time: ${report(published)}.`,
    '![The report: connections, deliveries, latency, CPU and memory over time](images/load-report.png)',
    scenarioTable([published.result]),
    '## 100,000 connections',
    `The same with ${many.result.workers} workers, a push to everyone every 16 s: as many deliveries per second and core as were published. While the records of documents go on, all workers are reloaded, and one is killed; that run ended in the middle of the reload, whose workers were drained faster than these cores could accept the clients again. No record was missing. Since then a reload waits for the clients that it has moved. Plots: ${report(many)}, ${report(faults)}.`,
    scenarioTable([many.result, faults.result]),
    '## Many workers',
    `\`npm run bench:workers\`: ${workers.result.connections.toLocaleString('en-US')} connections in 8 documents, the same records with each number of workers. In brackets: times the figure with the fewest workers. All share ${machine.cores} cores, so part of the growth is that many processes take turns.`,
    workersTable(workers.result.rows),
    `![CPU and memory by workers](../bench/results/${workers.base}-cost.svg)`
  ].join('\n\n')}\n`
}
