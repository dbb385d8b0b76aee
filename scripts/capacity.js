import { ASSUMED } from './capacity/assumed.js'
import { failureExample, OTHERS_GB, workedExample } from './capacity/examples.js'
import { number, short } from './capacity/format.js'
import { measured, POINTS } from './capacity/measured.js'
import { memoryRows, workerMemory } from './capacity/memory.js'
import { plan } from './capacity/plan.js'
import { markdownTable } from './markdown-table.js'

/** docs/capacity.md: how many processes and machines for how many connections. */

/** Editors and readers of the worked examples; docs/how-to/sizing.md has the result of the editors. */
const EDITORS = 60_000
const READERS = 200_000

const SIZES = [10_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000]
const WORKLOADS = [
  { title: 'Readers: each client gets a record every 10 seconds', perSecond: 0.1 },
  { title: 'Editors: each client gets a record every second', perSecond: 1 }
]

/** @returns {string} docs/capacity.md */
export function capacityPage () {
  const head = [
    'connections', 'deliveries/s', 'records/s', 'gateway workers (limited by)', 'machines', 'memory of each',
    'Redis masters', 'ingest processes', 'partitions', 'cores of Kafka', 'to clients'
  ]
  return [
    '# Capacity',
    '<!-- Generated from bench/results by scripts/capacity.js ("npm run docs"): do not edit. -->',
    'This page says how many processes and machines a number of connections needs. **Measured** are the costs of one delivery, record, ' +
    'handshake and connection, on two cores (below). ' +
    '**Computed** is everything in the tables. [Scale](scale.md) has runs with 100,000 connections and with 16 workers. Measure your ' +
    'own records before you buy machines: [sizing](how-to/sizing.md). ' +
    '[Concepts](concepts.md) and the [glossary](glossary.md) explain the terms.',
    '## How to read the tables',
    [
      '- A *delivery* is one record that is written to one client. Deliveries/s = records/s × members of the document (each with one ' +
      'connection). A *record* here is a publication of 500 bytes to a document.',
      '- *Gateway workers (limited by)*: the CPU needs a number of workers, and the connections need a number of workers. The table ' +
      'shows the larger number, with its reason in brackets. The minimum is two.',
      '- **The failure of a worker or of a machine is not included**, except by this minimum. The launcher replaces a failed worker ' +
      'within seconds, so plan for the failure of a machine: its clients move to the others, which need the CPU, the memory and the ' +
      'workers for them. ' +
      'The free half of each core is enough only if at most half of the workers fail. So add one machine with as many workers as the ' +
      `largest. Example: ${failureExample(WORKLOADS[1].perSecond)}`,
      '- *Memory of each* machine is for its own connections and workers. Queues of slow clients are extra, up to 256 MB for each ' +
      'worker, and so are the operating system, Redis and Kafka on the same machine. ' +
      `The launcher (${ASSUMED.othersMB.launcher} MB), the api (${ASSUMED.othersMB.api} MB) and ingest (${ASSUMED.othersMB.ingest} MB) ` +
      `come on top as well: about ${OTHERS_GB} GB for a machine that runs all three.`,
      `- *Between two rows*, compute as in the examples: [${number(EDITORS)} editors](#example-60000-editors), [${number(READERS)} ` +
      'readers](#example-200000-readers). The workers grow in proportion to the connections.',
      '- *Partitions* are those of the downlink topic: at least twice the ingest processes, so that each has work.'
    ].join('\n'),
    ...WORKLOADS.flatMap(({ title, perSecond }) => [
      `## ${title}`,
      `Documents of ${ASSUMED.members} members.`,
      markdownTable(head, SIZES.map((size) => plan(size, perSecond).row))
    ]),
    `## Example: ${number(EDITORS)} editors`,
    `${number(EDITORS)} clients are connected, each gets a record every second, and one machine may fail. TLS ends at the load balancer.`,
    workedExample(EDITORS, WORKLOADS[1].perSecond).join('\n'),
    `## Example: ${number(READERS)} readers`,
    `${number(READERS)} clients are connected, each gets a record every 10 seconds, and one machine may fail. TLS ends at the load ` +
    'balancer.',
    workedExample(READERS, WORKLOADS[0].perSecond).join('\n'),
    '## Assumptions',
    [
      `- Cores are ${ASSUMED.busy * 100} % busy. The other half is for bursts, for a part of the load of a failed machine, and for a ` +
      `storm: all clients connect again within ${ASSUMED.storm / 60} minutes.`,
      `- A worker has at most ${number(measured.onOneWorker)} connections, the most that was measured, and a core of its own. A worker ` +
      'can hold more idle connections; measure it with [your own load](load.md) first. ' +
      'The [load agent](deployment.md#weight-by-load) of HAProxy lowers the weight of a machine with its connections, to 1 % at 20,000 ' +
      'for each worker. With 15,000 a quarter of this capacity is free. A machine with 1 % still gets some clients; only ' +
      '`MAX_CONNECTIONS` is a limit.',
      `- Machines have ${ASSUMED.coresPerMachine} cores for gateways; there are at least two.`,
      '- The cost of a delivery is the one at a steady rate: each record is written alone. This is the most expensive case. If many ' +
      'records are for the same clients at the same time (a burst), they share a write, and each costs a fifteenth.',
      '- *Redis masters*: each has a core, which is half busy. 1 is a single Redis; a Redis Cluster has at least three masters. Redis ' +
      'sends a record once to each worker that has a member of its document. ' +
      'The measurement had two workers. With 16 workers a record costs Redis up to 1.8 times as much ([scale](scale.md#many-workers)), ' +
      `so with more than two workers the tables count the CPU of each record ${ASSUMED.redisCopies} times.`,
      '- Cores of Kafka are CPU only. Disks, replication and your own consumers come on top.',
      '- No TLS at the gateways: terminate it at the balancer, or add its [memory](#memory) and [CPU](tls.md#cost).',
      '- A cluster has at most 4,096 [worker numbers](operations/run.md#worker-numbers).'
    ].join('\n'),
    '## Measurements',
    markdownTable(['figure', 'value', 'run'], Object.entries(POINTS).map(([name, { what, unit, file }]) => [
      what, `${short(measured[/** @type {keyof typeof POINTS} */ (name)])} ${unit}`,
      `\`bench/results/${file}\``
    ])),
    '## Memory',
    'The columns *worker* to *total with churn* are one idle connection, in KB. The last two columns are 100,000 connections with ' +
    `${Math.ceil(100_000 / measured.onOneWorker)} workers. ` +
    `A worker without connections counts as ${ASSUMED.workerMB} MB. This is assumed: the highest measured value is ` +
    `${workerMemory().toFixed(0)} MB ([scale](scale.md#many-workers), last row of the table), and the rest is reserve. ` +
    'TLS is TLS 1.3 with a P-256 certificate ([figures](tls.md#cost)). *Churn* means that many clients come and go: the worker then ' +
    'needs twice the heap per connection.',
    markdownTable(
      ['gateway', 'measured with', 'worker', 'kernel', 'TLS', 'total', 'total with churn', '100,000 connections', 'the same with churn'],
      memoryRows()
    ),
    '**The rows for Node.js 24 add figures of two versions.** The worker was measured with Node.js 20 in the gateway. TLS was measured ' +
    'with Node.js 24 in a bare TLS server. ' +
    'So their totals are estimates. The worker and TLS figures of the other rows are of Node.js 20 only. The kernel figure is memory of ' +
    'the operating system, not of Node.js.',
    'Queues of slow clients come on top ([limits](operations/processes.md#limits-of-the-machine)).',
    '## Memory of Redis',
    'In bytes, with two gateway workers. The logs of documents need most of it:',
    markdownTable(['what Redis has', 'bytes', 'number'], [
      ['user', short(measured.redisUser), 'users with a connection to a worker; with connections to several workers, once for each'],
      ['open document', short(measured.redisDocument), 'documents that a client has open'],
      ['member', short(measured.redisMember), 'users × documents that they have open'],
      ['member with [presence](protocol-details.md#presence)', `${short(measured.redisPresence)} more`,
        'the same, with a state of 52 bytes'],
      [
        'record in a log', `its value + ${short(measured.redisRecord - ASSUMED.recordBytes)}`,
        `for each document that got a record within the last ${ASSUMED.historyTtl} s (\`HISTORY_TTL\`): its records since the last ` +
        `pause of this length, at most ${number(ASSUMED.historySize)} (\`HISTORY_SIZE\`). [Document rules](document-rules.md) set ` +
        'both for one kind of document, and a limit of bytes'

      ],
      [
        'document after its log has expired', short(measured.redisMeta),
        'documents that got a record within the last 7 days, or that a client has opened again within 7 days since then. A document ' +
        'that never had a record has no key'
      ]
    ]),
    [
      '- **Choose `HISTORY_SIZE`**: records per second of a document × seconds that a client may be offline. Clients that are offline ' +
      'for longer load the document again.',
      `- **Memory of the machine of Redis**: the resident memory was ${measured.redisResident} times the sum of these figures. While ` +
      `Redis forks (a snapshot, a rewrite of the append-only file, a new replica), it may need up to twice as much. Set \`maxmemory\` ` +
      `below the memory of the machine, with \`maxmemory-policy noeviction\`: above it Redis refuses writes (\`OOM\`), and ` +
      'publications wait or fail, but nothing is lost.',
      '- Without Kafka, the [queue for services](webhooks.md#the-service-is-down) may take up to 256 MB more.',
      '- Each master of a Redis Cluster has its share of documents and users.'
    ].join('\n'),
    'Descriptors and ports for many connections: [kernel guide](kernel.md). Limits of inkcast itself: ' +
    '[configuration](configuration.md#limits).'
  ].join('\n\n') + '\n'
}
