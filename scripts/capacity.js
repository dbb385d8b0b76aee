import { readFileSync } from 'node:fs'
import { last } from './scale.js'

/**
 * docs/capacity.md: how many processes and machines for how many connections. Every figure that the table is computed
 * from is read out of a page of bench/results.
 */

const RESULTS = new URL('../bench/results/', import.meta.url)
const DELIVERY = 'delivery-2026-11-22-12-34.md'
const REDIS_MEMORY = 'redis-memory-2026-11-25-08-02.md'

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
    what: 'a delivery in the gateway, 10,000 a second, each written alone', unit: 'µs of CPU', file: DELIVERY,
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
  redisUser: {
    what: 'a user with one connection, in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| a user with one connection +\| +(\d+) /
  },
  redisDocument: {
    what: 'an open document, in Redis', unit: 'bytes', file: REDIS_MEMORY, found: /\| an open document.*?\| +(\d+) /
  },
  redisMember: {
    what: 'a user who has a document open, in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| a member of a document +\| +(\d+) /
  },
  redisPresence: {
    what: 'the same with presence, in addition', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| presence of a member.*?\| +(\d+) /
  },
  redisMeta: {
    what: 'a document after its log has expired, in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| epoch and last offset.*?\| +(\d+) /
  },
  redisResident: {
    what: 'resident memory of Redis', unit: 'times the memory that it uses', file: REDIS_MEMORY,
    found: /Resident memory was ([\d.]+) times/
  },
  redisRecord: {
    what: 'a record of 500 bytes in a log in Redis', unit: 'bytes', file: REDIS_MEMORY,
    found: /\| a record of 500 bytes.*?\| +(\d+) /
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
  /** A worker with no connection, MB: `workerMemory()`, and a reserve. */
  workerMB: 120,
  coresPerMachine: 16,
  /** Members of a document. */
  members: 10,
  /** Redis sends each record to more workers than the two of the measurement: factor for its CPU. */
  redisCopies: 2,
  /** Masters of the smallest Redis Cluster. */
  smallestCluster: 3,
  /** Connections that one address of a balancer opens to one address and port of a gateway: docs/kernel.md. */
  ports: 64_000,
  /** Defaults of HISTORY_SIZE and HISTORY_TTL, and the bytes of a record. */
  historySize: 1000,
  historyTtl: 600,
  recordBytes: 500,
  /** Launcher, api and ingest of one machine, MB: docs/decisions/0134-rest.md. */
  othersMB: { launcher: 68, api: 84, ingest: 77 }
}
/** Gateway workers of the measurement. */
const MEASURED_WORKERS = 2

/** Memory of the launcher, the api and ingest, GB. */
const OTHERS_GB = (Object.values(ASSUMED.othersMB).reduce((sum, one) => sum + one) / 1000).toFixed(2)
/** Editors and readers of the worked examples; docs/how-to/sizing.md has their results. */
const EDITORS = 60_000
const READERS = 200_000

const SIZES = [10_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000]
const WORKLOADS = [
  { title: 'Readers: each client gets a record every 10 seconds', perSecond: 0.1 },
  { title: 'Editors: each client gets a record every second', perSecond: 1 }
]

/** @returns {string} the loss of the larger one of two machines, in figures */
function failureExample () {
  const connections = 100_000
  const { workers, machines, gatewayCores } = plan(connections, WORKLOADS[1].perSecond)
  const lost = Math.ceil(workers / machines)
  const left = workers - lost
  const spare = machines * lost
  return `${number(connections)} editors have ${workers} workers on ${machines} machines: ${lost} and ${left}. If the machine with ${lost} workers fails, the other ${left} workers get ${number(connections / left)} clients each (${number(measured.onOneWorker)} were measured), ` +
    `and need ${percent(gatewayCores / left)} of a core each: they are overloaded. The memory of their machine grows from ${memoryOf(left, connections * left / workers)} to ${memoryOf(left, connections)} GB. ` +
    `With ${machines + 1} machines of ${lost} workers each, one may fail: the other ${spare} workers get ${number(connections / spare)} clients each, and need ${percent(gatewayCores / spare)} of a core each.`
}

/**
 * @param {number} connections
 * @param {number} perSecond deliveries per connection
 * @returns {string[]} the steps from a number of clients to machines, one of which may fail
 */
function workedExample (connections, perSecond) {
  const {
    workers, machines, deliveries, gatewayCores, byCpu, byConnections, records, ingestCores, redisWork, redisMasters
  } = plan(connections, perSecond)
  const each = Math.ceil(workers / machines)
  const most = connections / machines
  const memory = Number(memoryOf(each, most)) + Number(OTHERS_GB)
  const queues = each * 0.256
  // a third of it is for the operating system and churn
  const machineGB = Math.max(4, 2 ** Math.ceil(Math.log2(1.5 * (memory + queues))))
  const micro = (/** @type {number} */ figure) => Number(figure.toPrecision(3))
  return [
    `1. **Work of the CPU**: ${number(deliveries)} deliveries/s × ${micro(measured.delivery)} µs, and ${number(connections)} idle connections × ${micro(measured.idle)} µs per second ([measurements](#measurements)). Together these are ${gatewayCores.toFixed(2)} cores of work.`,
    `2. **Workers for the CPU**: ${gatewayCores.toFixed(2)} ÷ ${ASSUMED.busy}, rounded up: ${byCpu}. Each core is half busy then.`,
    `3. **Workers for the connections**: ${number(connections)} ÷ ${number(measured.onOneWorker)}, rounded up: ${byConnections}.`,
    `4. **Workers**: the larger number, ${workers}. They run on ${machines} machines, ${each} on each.`,
    `5. **Spare**: one machine more, with as many workers. So there are ${machines + 1} machines with \`WORKERS=${each}\`. If one fails, the other ${machines * each} workers have ${number(connections / machines / each)} clients each, and their cores are ${percent(gatewayCores / machines / each)} busy.`,
    `6. **Ports of the balancer**, after the failure of one machine: ${number(most)} clients on each of the others. ${portsOf(connections, most, workers)}`,
    `7. **Cores of each machine**: ${each} for the workers. Add two for the launcher, the api, ingest and the operating system (ingest needs ${ingestCores.toFixed(2)} cores for the ${number(records)} records/s on all machines together). So take machines with ${each + 2} cores.`,
    `8. **Memory of each machine**, after the failure of one: ${number(most)} connections × ${(measured.memory + measured.kernel).toFixed(1)} KB and ${each} workers × ${ASSUMED.workerMB} MB are ${memoryOf(each, most)} GB. With launcher, api and ingest these are ${memory.toFixed(1)} GB, and with full queues of slow clients ${(memory + queues).toFixed(1)} GB. ` +
    `The operating system and [churn](#memory) come on top: take machines with ${machineGB} GB.`,
    `9. **CPU of Redis**: one master would be ${percent(redisWork)} busy. ${redisMasters === 1 ? 'So a single Redis with a core of its own is enough.' : `That is above ${percent(ASSUMED.busy)}, so the tables have a Redis Cluster of ${redisMasters} masters.`} ` +
    (redisMasters === 1 ? '' : 'Measure before you decide: with a single Redis ingest can restore documents from Kafka after a failover, with Redis Cluster it cannot ([restarts and failovers](operations.md#restarts-and-failovers-of-redis)). ') +
    'The machines above do not include Redis.',
    `10. **[Memory of Redis](#memory-of-redis)**: ${redisExample(connections, records)}`,
    `11. **Machines of Redis**: ${redisMachines(connections, records, redisMasters)}`
  ]
}

/**
 * @param {number} connections
 * @param {number} most clients of a machine after the failure of another one
 * @param {number} workers
 * @returns {string} whether one address of a balancer is enough
 */
function portsOf (connections, most, workers) {
  const limit = `One address of a balancer opens at most about ${number(ASSUMED.ports)} connections to each gateway address`
  if (most <= ASSUMED.ports) return `${limit}, so one balancer with one address is enough.`
  const left = Math.ceil(connections / ASSUMED.ports)
  return `${limit}. So the balancer needs [${Math.ceil(most / ASSUMED.ports)} addresses](deployment.md#more-than-64000-clients-on-one-machine), or there are ${left + 1} machines with \`WORKERS=${Math.ceil(workers / left)}\` in place of the ${Math.ceil(connections / most) + 1} machines: after a failure each of the other ${left} has ${number(connections / left)} clients.`
}

const size = (/** @type {number} */ bytes) =>
  bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`

/**
 * @param {number} connections
 * @param {number} records per second
 * @returns what Redis has, bytes: `open` without logs, `full` the logs with the default HISTORY_SIZE, `short` with
 *   `enough` records, which cover HISTORY_TTL; `per`: records of a document per second
 */
function redisData (connections, records) {
  const documents = connections / ASSUMED.members
  const { redisUser, redisMember, redisDocument, redisRecord } = measured
  const per = records / documents
  const enough = Math.max(10, Math.ceil(per * ASSUMED.historyTtl / 10) * 10)
  return {
    documents,
    per,
    enough,
    open: connections * (redisUser + redisMember) + documents * redisDocument,
    full: documents * ASSUMED.historySize * redisRecord,
    short: documents * enough * redisRecord
  }
}

/**
 * @param {number} connections
 * @param {number} records per second
 * @param {number} masters
 * @returns {string} machines, one of which may fail, and the memory of each
 */
function redisMachines (connections, records, masters) {
  const { open, full, short: shortLogs, enough } = redisData(connections, records)
  const single = masters === 1
  // in Redis Cluster a machine has a master, and the replica of another one
  const each = single ? 1 : 2
  const resident = (/** @type {number} */ logs) => (open + logs) / masters * measured.redisResident
  /** Memory to buy, GB: all fork at the same time, and 1 GB. @param {number} logs @param {number} [processes] */
  const buy = (logs, processes = each) => 2 ** Math.ceil(Math.log2(2 * processes * resident(logs) / 1e9 + 1))
  const figures = (/** @type {number} */ logs) =>
    `${size(resident(logs))} of resident memory, and up to ${size(2 * resident(logs))} while it forks`
  const sum = `(${size(open)} + ${size(full)}) ${single ? '' : `÷ ${masters} `}× ${measured.redisResident}`
  const take = `Each Redis needs ${sum}: ${figures(full)}. With the operating system and [the other parts](#memory-of-redis) take machines with ${each + 1} cores and **${buy(full)} GB**.`
  const less = buy(shortLogs) < buy(full)
    ? ` With \`HISTORY_SIZE=${enough}\` each Redis needs ${figures(shortLogs)}: take **${buy(shortLogs)} GB**.`
    : ''
  return single
    ? '**3**, each with one Redis and one [Sentinel](operations.md#failover-of-redis): one master and two replicas. When one machine fails, a master and a replica are left. So Redis accepts writes again after the failover, also with `PUBLISH_WAIT=replicas` ([why two replicas](durability.md#publish_wait)). ' +
    `Set \`min-replicas-to-write 1\`: with 2, Redis would refuse writes until the machine is back. A replica has the same data as the master. ${take}${less}`
    : `**${masters}**, each with one of the masters and the replica of another one. When a machine fails, another one has two masters, so each has a core for both. ${take}${less} ` +
      `For \`PUBLISH_WAIT=replicas\` each master needs [two replicas](durability.md#publish_wait). So each machine has three Redis: take ${buy(full, each + 1)} GB.`
}

/** @param {number} connections @param {number} records per second @returns {string} the sum */
function redisExample (connections, records) {
  const { redisUser, redisMember, redisDocument, redisRecord } = measured
  const { documents, per, enough, open, full, short: shortLogs } = redisData(connections, records)
  return `${number(connections)} users × (${redisUser} + ${redisMember}) bytes and ${number(documents)} documents × ${redisDocument} bytes are ${size(open)}. The logs need more: ${number(documents)} documents × ${number(ASSUMED.historySize)} records × ${redisRecord} bytes are ${size(full)}. ` +
    `Each document gets ${per === 1 ? 'a record every second' : `a record every ${number(1 / per)} s`}, so its log is full after ${number(ASSUMED.historySize / per)} s. (A log expires earlier only if its document gets no record for ${ASSUMED.historyTtl} s, \`HISTORY_TTL\`.) ` +
    (enough < ASSUMED.historySize
      ? `\`HISTORY_SIZE=${enough}\` still covers clients that are offline for up to ${number(enough / per)} s; then the logs need ${size(shortLogs)}.`
      : '')
}

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
  const redisWork = cores(measured.redis, records) * (workers > MEASURED_WORKERS ? ASSUMED.redisCopies : 1)
  const redisCores = Math.max(redisWork / ASSUMED.busy, redisWork + cores(measured.redisHandshake, storm))
  const redisMasters = redisCores <= 1 ? 1 : Math.max(ASSUMED.smallestCluster, Math.ceil(redisCores))
  const ingestCores = cores(measured.ingest, records)
  const ingest = Math.max(2, Math.ceil(ingestCores / ASSUMED.busy))
  const row = [
    number(connections),
    number(deliveries),
    number(records),
    `${number(workers)} (${workers > Math.max(byCpu, byConnections) ? 'minimum' : byConnections > byCpu ? 'connections' : 'CPU'})`,
    number(machines),
    `${number(Math.ceil(memoryGB / machines))} GB`,
    number(redisMasters),
    number(ingest),
    number(Math.max(12, 2 ** Math.ceil(Math.log2(ingest * 2)))),
    (cores(measured.kafka, records) / ASSUMED.busy).toFixed(1),
    `${(deliveries * measured.bytes * 8 / 1e9).toFixed(2)} Gbit/s`
  ]
  return {
    row, workers, machines, memoryGB, deliveries, gatewayCores, byCpu, byConnections, records, ingestCores, redisWork,
    redisMasters
  }
}

/** @returns {number} the most that a worker without connections has needed in the last run, MB */
const workerMemory = () =>
  Math.max(...last('workers').result.rows.map((/** @type {{ restWorkerMemory: number }} */ row) => row.restWorkerMemory))

/** Memory of TLS for an idle connection with TLS 1.3 and P-256, KB: docs/tls.md has the figures. */
const TLS_PAGE = readFileSync(new URL('../docs/tls.md', import.meta.url), 'utf8')
const tlsOf = (/** @type {RegExp} */ found) => {
  const figure = found.exec(TLS_PAGE)?.[1]
  if (figure === undefined) throw new Error(`docs/tls.md has no ${found}`)
  return Number(figure)
}

/** @returns {string[][]} rows: memory of one connection by its parts, and of 100,000 with their workers */
function memoryRows () {
  const connections = 100_000
  const workers = Math.ceil(connections / measured.onOneWorker)
  const mixed = 'worker: Node.js 20, TLS: Node.js 24'
  /** @type {[string, string, number][]} */
  const ways = [
    ['no TLS at the gateway', 'Node.js 20', 0],
    ['TLS, Node.js 20', 'Node.js 20', tlsOf(/TLS 1\.3, P-256 \|.*?(\d+) KB/)],
    ['TLS, Node.js 24', mixed, tlsOf(/(\d+) KB with Node\.js 24/)],
    ['TLS, Node.js 24, `TLS_GROUPS=X25519:P-256`', mixed, tlsOf(/(\d+) KB with Node\.js 24 and `TLS_GROUPS/)]
  ]
  return ways.map(([way, version, tls]) => {
    const { memory, kernel } = measured
    const [rest, churn] = [memory + kernel + tls, 2 * memory + kernel + tls]
    const gb = (/** @type {number} */ each) =>
      ((workers * ASSUMED.workerMB * 1000 + connections * each) / 1e6).toFixed(1)
    return [
      way, version, ...[memory, kernel].map(short), tls === 0 ? '–' : short(tls), ...[rest, churn].map(short),
      `${gb(rest)} GB`, `${gb(churn)} GB`
    ]
  })
}

/** @param {number} workers @param {number} connections @returns {string} GB of one machine without TLS */
const memoryOf = (workers, connections) =>
  ((workers * ASSUMED.workerMB * 1000 + connections * (measured.memory + measured.kernel)) / 1e6).toFixed(1)

const percent = (/** @type {number} */ share) => `${Math.round(share * 100)} %`
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
    'This page says how many processes and machines a number of connections needs. **Measured** are the costs of one delivery, record, handshake and connection, on two cores (below). ' +
    '**Computed** is everything in the tables. [Scale](scale.md) has runs with 100,000 connections and with 16 workers. Measure your own records before you buy machines: [sizing](how-to/sizing.md). ' +
    '[Concepts](concepts.md) and the [glossary](glossary.md) explain the terms.',
    '## How to read the tables',
    [
      '- A *delivery* is one record that is written to one client. Deliveries/s = records/s × members of the document (each with one connection). A *record* here is a publication of 500 bytes to a document.',
      '- *Gateway workers (limited by)*: the CPU needs a number of workers, and the connections need a number of workers. The table shows the larger number, with its reason in brackets. The minimum is two.',
      '- **The failure of a worker or of a machine is not included**, except by this minimum. The launcher replaces a failed worker within seconds, so plan for the failure of a machine: its clients move to the others, which need the CPU, the memory and the workers for them. ' +
      `The free half of each core is enough only if at most half of the workers fail. So add one machine with as many workers as the largest. Example: ${failureExample()}`,
      '- *Memory of each* machine is for its own connections and workers. Queues of slow clients are extra, up to `MAX_WAITING_BYTES_TOTAL` (256 MB) for each worker, and so are the operating system, Redis and Kafka on the same machine. ' +
      `The launcher (${ASSUMED.othersMB.launcher} MB), the api (${ASSUMED.othersMB.api} MB) and ingest (${ASSUMED.othersMB.ingest} MB) come on top as well: about ${OTHERS_GB} GB for a machine that runs all three ([decision 0134](decisions/0134-rest.md#memory)).`,
      `- *Between two rows*, compute as in the examples: [${number(EDITORS)} editors](#example-60000-editors), [${number(READERS)} readers](#example-200000-readers). The workers grow in proportion to the connections.`,
      '- *Partitions* are those of the downlink topic: at least twice the ingest processes, so that each has work.'
    ].join('\n'),
    ...WORKLOADS.flatMap(({ title, perSecond }) => [
      `## ${title}`,
      `Documents of ${ASSUMED.members} members.`,
      table(head, SIZES.map((size) => plan(size, perSecond).row))
    ]),
    `## Example: ${number(EDITORS)} editors`,
    `${number(EDITORS)} clients are connected, each gets a record every second, and one machine may fail. TLS ends at the load balancer.`,
    workedExample(EDITORS, WORKLOADS[1].perSecond).join('\n'),
    `## Example: ${number(READERS)} readers`,
    `${number(READERS)} clients are connected, each gets a record every 10 seconds, and one machine may fail. TLS ends at the load balancer.`,
    workedExample(READERS, WORKLOADS[0].perSecond).join('\n'),
    '## Assumptions',
    [
      `- Cores are ${ASSUMED.busy * 100} % busy. The other half is for bursts, for a part of the load of a failed machine, and for a storm: all clients connect again within ${ASSUMED.storm / 60} minutes.`,
      `- A worker has at most ${number(measured.onOneWorker)} connections, the most that was measured, and a core of its own. A worker can hold more idle connections; measure it with [your own load](load.md) first. ` +
      'The [load agent](deployment.md#weight-by-load) of HAProxy lowers the weight of a machine with its connections, to 1 % at `AGENT_CAPACITY` (20,000) for each worker. With 15,000 a quarter of this capacity is free. A machine with 1 % still gets some clients; only `MAX_CONNECTIONS` is a limit.',
      `- Machines have ${ASSUMED.coresPerMachine} cores for gateways; there are at least two.`,
      '- The cost of a delivery is the one at a steady rate: each record is written alone. This is the most expensive case. If many records are for the same clients at the same time (a burst), they share a write, and each costs a fifteenth.',
      '- *Redis masters*: each has a core, which is half busy. 1 is a single Redis; a Redis Cluster has at least three masters. Redis sends a record once to each worker that has a member of its document. ' +
      `The measurement had two workers. With 16 workers a record costs Redis up to 1.8 times as much ([scale](scale.md#many-workers)), so with more than two workers the tables count the CPU of each record ${ASSUMED.redisCopies} times.`,
      '- Cores of Kafka are CPU only. Disks, replication and your own consumers come on top.',
      '- No TLS at the gateways: terminate it at the balancer, or add its [memory](#memory) and [CPU](tls.md#cost).',
      '- A cluster has at most 4,096 [worker numbers](operations.md#worker-numbers).'
    ].join('\n'),
    '## Measurements',
    table(['figure', 'value', 'run'], Object.entries(POINTS).map(([name, { what, unit, file }]) => [
      what, `${short(measured[/** @type {keyof typeof POINTS} */ (name)])} ${unit}`, `[${file.replace('.md', '')}](../bench/results/${file})`
    ])),
    '## Memory',
    `The columns *worker* to *total with churn* are one idle connection, in KB. The last two columns are 100,000 connections with ${Math.ceil(100_000 / measured.onOneWorker)} workers. ` +
    `A worker without connections counts as ${ASSUMED.workerMB} MB. This is assumed: the highest measured value is ${workerMemory().toFixed(0)} MB ([scale](scale.md#many-workers), last row of the table), and the rest is reserve. ` +
    'TLS is TLS 1.3 with a P-256 certificate ([figures](tls.md#cost)). *Churn* means that many clients come and go: the worker then needs twice the heap per connection ([decision 0150](decisions/0150-soak.md)).',
    table(
      ['gateway', 'measured with', 'worker', 'kernel', 'TLS', 'total', 'total with churn', '100,000 connections', 'the same with churn'],
      memoryRows()
    ),
    '**The rows for Node.js 24 add figures of two versions.** The worker was measured with Node.js 20 in the gateway. TLS was measured with Node.js 24 in a bare TLS server ([decision 0121](decisions/0121-tls.md)). ' +
    'So their totals are estimates. The worker and TLS figures of the other rows are of Node.js 20 only. The kernel figure is memory of the operating system, not of Node.js.',
    'Queues of slow clients come on top ([limits](operations.md#limits-of-the-machine)).',
    '## Memory of Redis',
    'In bytes, with two gateway workers. The logs of documents need most of it:',
    table(['what Redis has', 'bytes', 'number'], [
      ['user', short(measured.redisUser), 'users with a connection to a worker; with connections to several workers, once for each'],
      ['open document', short(measured.redisDocument), 'documents that a client has open'],
      ['member', short(measured.redisMember), 'users × documents that they have open'],
      ['member with [presence](protocol.md#presence)', `${short(measured.redisPresence)} more`, 'the same, with a state of 52 bytes'],
      [
        'record in a log', `its value + ${short(measured.redisRecord - ASSUMED.recordBytes)}`,
        `for each document that got a record within the last ${ASSUMED.historyTtl} s (\`HISTORY_TTL\`): its records since the last pause of this length, at most ${number(ASSUMED.historySize)} (\`HISTORY_SIZE\`), and at most \`HISTORY_BYTES\` of values if it is set. [Document rules](document-rules.md) set all three for one kind of document`

      ],
      [
        'document after its log has expired', short(measured.redisMeta),
        'documents that got a record within the last 7 days, and documents that a client opened within the last 24 hours'
      ]
    ]),
    [
      '- **Choose `HISTORY_SIZE`**: records per second of a document × seconds that a client may be offline. Clients that are offline for longer load the document again.',
      `- **Memory of the machine of Redis**: the resident memory was ${measured.redisResident} times the sum of these figures. While Redis forks (a snapshot, a rewrite of the append-only file, a new replica), it may need up to twice as much. Set \`maxmemory\` below the memory of the machine, with \`maxmemory-policy noeviction\`: above it Redis refuses writes (\`OOM\`), and publications wait or fail, but nothing is lost.`,
      '- Without Kafka, the [queue for services](webhooks.md#the-service-is-down) may take up to 256 MB more.',
      '- Each master of a Redis Cluster has its share of documents and users.'
    ].join('\n'),
    'Descriptors and ports for many connections: [kernel guide](kernel.md). Limits of inkcast itself: [configuration](configuration.md#limits).'
  ].join('\n\n') + '\n'
}
