import { readFileSync } from 'node:fs'

/**
 * docs/capacity.md: how many processes and machines for how many connections. Every figure that the table is computed
 * from is read out of a page of bench/results.
 */

const RESULTS = new URL('../bench/results/', import.meta.url)
const DELIVERY = 'delivery-2026-11-22-12-34.md'

/**
 * @typedef {object} Point a measured figure
 * @property {string} what
 * @property {string} unit
 * @property {string} file of bench/results
 * @property {RegExp} found its first group is the figure
 * @property {number} [times] converts it to the unit
 */

/** One burst of a record for each document: 100 members receive each record. */
const MEMBERS = 100
/** Connections of the phase "idle". */
const IDLE = 9000

/** @satisfies {Record<string, Point>} */
const POINTS = {
  delivery: {
    what: 'a delivery in the gateway, 10,000 a second, nothing coalesced', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| steady +\| .*gateway ([\d.]+)/
  },
  burst: {
    what: 'a delivery in the gateway, in bursts', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| burst +\| .*gateway ([\d.]+)/
  },
  handshake: {
    what: 'a handshake with JWT, join and life-cycle events', unit: 'µs of CPU', file: DELIVERY,
    found: /### Handshakes[^]*?\| inkcast +\| +(\d+) /
  },
  redisHandshake: {
    what: 'the same in Redis', unit: 'µs of CPU', file: DELIVERY,
    found: /### Handshakes[^]*?\| inkcast +\| +\d+ \| +\d+ \| +(\d+) /
  },
  idle: {
    what: 'an idle connection, all processes', unit: 'µs of CPU per second', file: DELIVERY,
    found: /### Idle[^]*?\| inkcast +\| +([\d.]+) /, times: 1000 / IDLE
  },
  ingest: {
    what: 'a record in ingest', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| single +\| .*ingest ([\d.]+)/, times: MEMBERS
  },
  redis: {
    what: 'a record in Redis', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| single +\| .*redis ([\d.]+)/, times: MEMBERS
  },
  kafka: {
    what: 'a record in Kafka', unit: 'µs of CPU', file: DELIVERY,
    found: /\| inkcast +\| single +\| .*kafka ([\d.]+)/, times: MEMBERS
  },
  memory: {
    what: 'an idle connection in a worker', unit: 'KB', file: DELIVERY,
    found: /### Memory of idle[^]*?\| inkcast +\| +([\d.]+) /
  },
  onOneWorker: {
    what: 'most connections that were measured on one worker', unit: 'connections', file: DELIVERY,
    found: /### Memory of idle[^]*?\| inkcast .*\| +(\d+) \|/
  },
  kernel: {
    what: 'an idle TCP connection in the kernel', unit: 'KB', file: 'sockets-2026-11-23-10-57.md',
    found: /\| highest +\| +([\d.]+) /
  },
  bytes: {
    what: 'a delivery of 500 bytes on the wire, with metadata, without TCP/IP', unit: 'bytes', file: DELIVERY,
    found: /\| inkcast +\| steady +\| +\d+ \| +(\d+) \|/
  }
}

/** @type {Record<keyof typeof POINTS, number>} */
const measured = /** @type {any} */ (Object.fromEntries(Object.entries(POINTS).map(([name, point]) => {
  const text = readFileSync(new URL(point.file, RESULTS), 'utf8')
  const [, figure] = point.found.exec(text) ?? []
  if (figure === undefined) throw new Error(`${point.file} has no ${point.what}`)
  return [name, Number(figure) * (/** @type {Point} */ (point).times ?? 1)]
})))

/** What nobody has measured: margins, and the workload. */
const ASSUMED = {
  /** of a core, so that bursts and the loss of a machine have room */
  busy: 0.5,
  /** Connections reconnect within this time after a balancer or a region has failed, s. */
  storm: 300,
  /** A worker with no connection, MB. */
  workerMB: 120,
  coresPerMachine: 16,
  /** Members of a document. */
  members: 10
}

const SIZES = [10_000, 100_000, 500_000, 1_000_000, 10_000_000]
const WORKLOADS = [
  { title: 'Readers: each client gets a record every 10 seconds', perSecond: 0.1 },
  { title: 'Editors: each client gets a record every second', perSecond: 1 }
]

/**
 * @param {number} connections
 * @param {number} perSecond deliveries per connection
 */
function plan (connections, perSecond) {
  const deliveries = connections * perSecond
  const records = deliveries / ASSUMED.members
  const cores = (/** @type {number} */ perRecord, /** @type {number} */ rate) => perRecord * rate / 1e6
  const storm = connections / ASSUMED.storm
  const gatewayCores = cores(measured.idle, connections) + cores(measured.delivery, deliveries)
  // a storm may use the other half
  const stormCores = gatewayCores + cores(measured.handshake, storm)
  const byCpu = Math.ceil(Math.max(gatewayCores / ASSUMED.busy, stormCores))
  const byConnections = Math.ceil(connections / measured.onOneWorker)
  const workers = Math.max(2, byCpu, byConnections)
  const machines = Math.max(2, Math.ceil(workers / ASSUMED.coresPerMachine))
  const memoryGB = (workers * ASSUMED.workerMB * 1000 + connections * (measured.memory + measured.kernel)) / 1e6
  const redisCores = Math.max(
    cores(measured.redis, records) / ASSUMED.busy,
    cores(measured.redis, records) + cores(measured.redisHandshake, storm)
  )
  const ingest = Math.max(2, Math.ceil(cores(measured.ingest, records) / ASSUMED.busy))
  return [
    number(connections),
    number(deliveries),
    number(records),
    `${number(workers)} (${byConnections > byCpu ? 'connections' : 'CPU'})`,
    number(machines),
    `${number(Math.ceil(memoryGB / machines))} GB`,
    number(Math.ceil(redisCores)),
    number(ingest),
    number(Math.max(12, 2 ** Math.ceil(Math.log2(ingest * 2)))),
    (cores(measured.kafka, records) / ASSUMED.busy).toFixed(1),
    `${(deliveries * measured.bytes * 8 / 1e9).toFixed(2)} Gbit/s`
  ]
}

const number = (/** @type {number} */ value) => Math.round(value).toLocaleString('en-US')
const short = (/** @type {number} */ value) => value >= 100 ? number(value) : String(Number(value.toPrecision(3)))

/** @param {string[]} head @param {string[][]} rows */
const table = (head, rows) => [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

/** @returns {string} docs/capacity.md */
export function capacityPage () {
  const head = [
    'connections', 'deliveries/s', 'records/s', 'gateway workers (limited by)', 'machines', 'memory of each',
    'Redis masters', 'ingest processes', 'partitions', 'cores of Kafka', 'to clients'
  ]
  return [
    '# Capacity',
    '<!-- Generated from bench/results by scripts/capacity.js ("npm run docs"): do not edit. -->',
    'How many processes and machines for how many connections. **Measured** are the costs of one delivery, record, handshake and connection, on two cores (below). ' +
    '**Computed** is everything in the tables: no run had more than 15,000 connections on a worker, or more than two workers. Measure your own records before you buy machines: `npm run bench`.',
    ...WORKLOADS.flatMap(({ title, perSecond }) => [
      `## ${title}`,
      `Documents of ${ASSUMED.members} members.`,
      table(head, SIZES.map((size) => plan(size, perSecond)))
    ]),
    '## What is assumed',
    [
      `- Cores are ${ASSUMED.busy * 100} % busy: bursts, and the loss of a machine, have the other half. A storm of all connections within ${ASSUMED.storm / 60} minutes may use it.`,
      `- A worker has at most ${number(measured.onOneWorker)} connections, the most that was measured, and a core of its own. More fit into a core if they are idle: the CPU column of your own measurement decides.`,
      `- Machines have ${ASSUMED.coresPerMachine} cores for gateways; there are at least two. Memory is for connections and workers, without queues of slow clients (\`MAX_WAITING_BYTES_TOTAL\`) and the system.`,
      '- Deliveries cost what they cost at a steady rate with nothing coalesced, the most expensive case. In bursts they cost a fifteenth.',
      '- Redis masters are those of a Redis Cluster; each has a core. A record goes to each worker that has a member of its document: with many workers and large documents Redis has more to send than was measured, so begin with twice the number.',
      '- Kafka: CPU only. Disks, replication and consumers of your own come on top.',
      '- No TLS at the gateways: terminate it at the balancer, or add its memory and CPU ([deployment](deployment.md#tls)).',
      '- Worker numbers end at 4,096 per cluster.'
    ].join('\n'),
    '## What was measured',
    table(['figure', 'value', 'run'], Object.entries(POINTS).map(([name, { what, unit, file }]) => [
      what, `${short(measured[/** @type {keyof typeof POINTS} */ (name)])} ${unit}`, `[${file.replace('.md', '')}](../bench/results/${file})`
    ])),
    'Descriptors and ports that so many connections need: [kernel guide](kernel.md). Limits of inkcast itself: [configuration](configuration.md#limits).'
  ].join('\n\n') + '\n'
}
