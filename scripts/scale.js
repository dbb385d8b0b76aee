import { scenarioTable } from '../bench/published/page.js'
import { growthTable, workersTable } from '../bench/report/workers.js'
import { besideSections } from './beside.js'
import { last, resultFile } from './results.js'

/** docs/scale.md: published scenarios, 100,000 connections and many workers, from the last runs in bench/results. */

/** @param {{ base: string }} run */
const report = ({ base }) => `\`bench/results/${base}.html\``

/** @returns {string} docs/images/workers-cost.svg, as the benchmark drew it */
export const workersPicture = () => resultFile('workers-cost.svg')

export function scalePage () {
  const published = last('published')
  const many = last('published-100k')
  const churn = last('published-100k-churn')
  const faults = last('published-100k-faults')
  const workers = last('workers')
  const ramp = last('workers-ramp')
  const few = last('delivery-2-workers')
  const sixteen = last('delivery-16-workers')
  const { machine, versions } = published.result.environment
  return `${[
    '# Scale',
    '<!-- Generated from bench/results by scripts/scale.js ("npm run docs"): do not edit. -->',
    'Measured by `npm run bench` and `npm run load:published`; the raw data of each run is in `bench/results` of a checkout.',
    ...besideSections(),
    '## Published scenarios',
    'Figures of a published load test of another gateway of this kind, with 500,000 connections, beside those of inkcast on one machine ' +
    `with ${machine.cores} cores and ${machine.memoryGb} GB. This machine also runs the clients (Node ${versions.node}, Redis, no ` +
    'Kafka), so clients and inkcast share its cores. Compare the rows of inkcast with each other: the machines of the two tests ' +
    'differ too much.',
    `\`npm run load:published\`. \`inkcast load\` ([load](load.md)) opens the clients, publishes, and compares every delivery and every ` +
    `receipt with what was published. Plots over time: ${report(published)}.`,
    '![The report: connections, deliveries, latency, CPU and memory over time](images/load-report.webp)',
    scenarioTable([published.result]),
    '## 100,000 connections',
    `The same scenarios with ${many.result.workers} workers. A push to everyone comes every 16 s: 6,250 deliveries/s in all. Each core ` +
    `of the published test had as many, if its machine had 16 cores. Plots: ${report(many)}, ${report(faults)}.`,
    'In the last row all workers are reloaded, one after the other, and later one is killed, while records are published to documents. ' +
    'No record is missing, and at the end all clients are connected. ' +
    'A reload moves clients as fast as they arrive at the new worker ([operations](operations/run.md#moves-in-a-reload)).',
    scenarioTable([many.result, churn.result, faults.result]),
    '## Many workers',
    `\`npm run bench:workers\`: ${workers.result.connections.toLocaleString('en-US')} connections in 8 documents, the same records with ` +
    `each number of workers. In brackets: the figure divided by the one with the fewest workers. All workers share ${machine.cores} ` +
    'cores, so part of the growth is that many processes take turns on a core.',
    'A handshake costs more here than in [capacity](capacity.md#measurements), although these clients have no token: the figure is of ' +
    'all processes, and includes what they take at rest. ' +
    'With many workers it grows for three reasons, which a CPU profile of 16 workers shows. A fifth is the optimizing compiler of V8: ' +
    'each worker compiles the same functions for itself, and has accepted ' +
    `few clients before (${(workers.result.connections / workers.result.rows[0].workers).toLocaleString('en-US')} with ` +
    `${workers.result.rows[0].workers} workers, ${workers.result.connections / workers.result.rows.at(-1).workers} with ` +
    `${workers.result.rows.at(-1).workers}). A tenth to a fifth is what all processes use at rest. ` +
    'And at 500 connections a second, each of 16 workers accepts 31: it wakes up for each handshake alone, and sends a request to Redis ' +
    'for each, where 2 workers share both among several handshakes. ' +
    `With ${ramp.result.ramp.toLocaleString('en-US')} connections a second a handshake costs ` +
    `${Math.round(ramp.result.rows[0].handshake)} µs with ${ramp.result.rows[0].workers} workers and ` +
    `${Math.round(ramp.result.rows.at(-1).handshake)} with ${ramp.result.rows.at(-1).workers}.`,
    workersTable(workers.result.rows),
    '![CPU and memory by workers](images/workers-cost.svg)',
    '### The same with other systems',
    'The table compares 2 and 16 workers of three systems: inkcast, the baseline (Socket.IO put together as its guides say), and the ' +
    'libraries alone ' +
    '(Kafka, Redis and a write to each socket, without a log, tokens and heartbeat). ' +
    `${few.result.scale.connections.toLocaleString('en-US')} connections in ${few.result.scale.documents} documents, with Kafka, ` +
    `${few.result.scale.rounds} rounds each: \`node bench/run.js --workers 16\` ` +
    `(\`bench/results/${few.base}.md\`, \`${sixteen.base}.md\`).`,
    growthTable(few.result.summary, sixteen.result.summary),
    'At the steady rate the cost of the libraries alone doubles, too: with 16 workers a document is open on most of them, so each ' +
    'record wakes up most of them. ' +
    'A handshake grows most with inkcast. Its figure is of the first clients, seconds after the start: ' +
    `${Math.round(sixteen.result.scale.connections / 16)} of each of 16 workers, and ` +
    `${(few.result.scale.connections / 2).toLocaleString('en-US')} of each of 2. ` +
    'A worker pays for the compilation of its code once, however many clients come. In a profile of another such storm (16 workers, ' +
    'clients without tokens) ' +
    'helper threads took 40 % of the CPU of the workers, four fifths of it for the compiler.'
  ].join('\n\n')}\n`
}
