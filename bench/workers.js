#!/usr/bin/env node
/**
 * Cost of many workers on one machine: `npm run bench:workers`. The same clients, documents and records with 2, 4, 8
 * and 16 gateway workers, over Redis and without Kafka.
 */
import os from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { planOf, processesFor } from '../packages/load/plan.js'
import { runLoad } from '../packages/load/run.js'
import { startCluster } from '../test/helpers/cluster.js'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { difference, processTree, sample } from './measure/processes.js'
import { scoped } from './measure/scope.js'
import { readOptions } from './options.js'
import { renderPlot } from './report/plot.js'
import { saveResults } from './report/results.js'
import { workersTable } from './report/workers.js'

const USAGE = `Cost of many workers on one machine, with the same clients and records

  node bench/workers.js [options]

  --workers LIST      (2,16,4,8)
  --connections N     (8000)
  --ramp N            new connections per second (500)
  --rest N            s without connections, before each (15)
  --hold N            s of records (20)
  --no-save           save no results`

const options = readOptions({
  workers: { type: 'string', default: '2,16,4,8' },
  connections: { type: 'string', default: '8000' },
  ramp: { type: 'string', default: '500' },
  rest: { type: 'string', default: '15' },
  hold: { type: 'string', default: '20' },
  save: { type: 'boolean', default: true }
}, USAGE)
const connections = Number(options.connections)
const ramp = Number(options.ramp)
const rest = 1000 * Number(options.rest)
const hold = Number(options.hold)

const DOCUMENTS = 8
/** To documents of a thousand members: 10,000 deliveries/s. */
const STEADY = { records: 10, burst: 1 }
/** 80 records at once, ten of each document. */
const BURSTS = { records: 160, burst: 80 }
const TOKEN = 'a-token-of-the-load-tool-with-32-characters'

/**
 * @typedef {object} Row ms of CPU, MB, µs
 * @property {number} workers
 * @property {number} restMemory all processes, MB
 * @property {number} restWorkerMemory of a worker, MB
 * @property {number} restCpu all processes, percent of a core
 * @property {number} restWorkerCpu of a worker, percent of a core
 * @property {number} restRedis percent of a core
 * @property {number} handshake µs of CPU of all processes
 * @property {number} handshakeRedis µs
 * @property {number} steady µs per delivery
 * @property {number} steadyRedis µs per record
 * @property {number} bursts µs per delivery
 * @property {number} burstsRedis µs per record
 * @property {number | null} p99 of the steady records, ms
 * @property {string[]} problems
 */

/** @param {number} workers @returns {Promise<Row>} */
async function measure (workers) {
  return scoped(async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const cluster = await startCluster(t, {
      NODE_ENV: 'production', HOST: '127.0.0.1', WORKERS: String(workers), REDIS_URL: redis.url,
      AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: `load:${TOKEN}`
    })
    const roleOf = (/** @type {string} */ command) => /src\/(\w+)\.js/.exec(command)?.[1] ?? 'launcher'
    const processes = [...processTree(cluster.pid, roleOf), { pid: redis.pid, role: 'redis' }]
    const take = () => ({ at: performance.now(), usage: sample(processes) })
    /** @typedef {ReturnType<typeof take>} Taken */
    const between = (/** @type {Taken} */ before, /** @type {Taken} */ after) => {
      const used = difference(before.usage, after.usage)
      const cpu = (/** @type {(role: string) => boolean} */ is) =>
        used.filter(({ role }) => is(role)).reduce((sum, { cpuMs }) => sum + cpuMs, 0)
      return {
        ms: after.at - before.at,
        inkcast: cpu((role) => role !== 'redis'), gateways: cpu((role) => role === 'gateway'), redis: cpu((role) => role === 'redis')
      }
    }
    // after the warm-up, and the garbage collection that follows it
    await delay(rest)
    const before = take()
    await delay(rest)
    const after = take()
    const resting = between(before, after)
    const memory = (/** @type {(role: string) => boolean} */ is) =>
      after.usage.filter(({ role }) => is(role)).reduce((sum, { residentKb }) => sum + residentKb, 0) / 1000

    /** @param {{ records: number, burst: number }} records */
    async function load (records) {
      /** @type {Record<string, Taken>} */
      const begin = { connect: take() }
      const result = await runLoad({
        plan: planOf('hold', { connections, ramp, hold, documents: DOCUMENTS, ...records }),
        processes: processesFor(connections, os.availableParallelism()),
        target: { host: '127.0.0.1', port: Number(new URL(cluster.url).port), secure: false, insecure: false },
        loopback: true, sources: [], tokenOf: async () => undefined,
        api: { url: cluster.apiUrl, token: TOKEN },
        admin: { url: cluster.adminUrl, token: undefined },
        settle: 30_000,
        onSample ({ phase, connections: open }) {
          begin[phase] ??= take()
          if (open === connections) begin.opened ??= take()
        }
      })
      return {
        result,
        connecting: between(begin.connect, begin.opened),
        holding: between(begin.hold, begin.expire ?? take())
      }
    }
    const steady = await load(STEADY)
    const bursts = await load(BURSTS)
    const micro = (/** @type {number} */ ms, /** @type {number} */ count) => 1000 * ms / count
    return {
      workers,
      restMemory: memory((role) => role !== 'redis'),
      restWorkerMemory: memory((role) => role === 'gateway') / workers,
      restCpu: 100 * resting.inkcast / resting.ms,
      restWorkerCpu: 100 * resting.gateways / workers / resting.ms,
      restRedis: 100 * resting.redis / resting.ms,
      // those of warm workers
      handshake: micro(bursts.connecting.inkcast, connections),
      handshakeRedis: micro(bursts.connecting.redis, connections),
      steady: micro(steady.holding.inkcast, steady.result.summary.deliveries),
      steadyRedis: micro(steady.holding.redis, steady.result.published.documents),
      bursts: micro(bursts.holding.inkcast, bursts.result.summary.deliveries),
      burstsRedis: micro(bursts.holding.redis, bursts.result.published.documents),
      p99: steady.result.summary.latency.p99,
      problems: [...steady.result.problems, ...bursts.result.problems]
    }
  })
}

const began = environment()
/** @type {Row[]} */
const rows = []
for (const workers of options.workers.split(',').map(Number)) {
  const row = await measure(workers)
  console.log(JSON.stringify(row))
  rows.push(row)
}
rows.sort((a, b) => a.workers - b.workers)

const [least] = rows
const page = (/** @type {(plot: string) => string} */ plotFile) => `# Many workers on ${began.machine.cores} cores

\`${began.command}\`, ${began.date}, Node ${began.versions.node}. ${connections.toLocaleString('en-US')} connections in ${DOCUMENTS} \
documents, ${ramp.toLocaleString('en-US')} of them a second, Redis, no Kafka. In brackets: times the figure with ${least.workers} workers.

${workersTable(rows)}

${rows.flatMap(({ problems }) => problems).map((problem) => `- ${problem}`).join('\n')}

![CPU by workers](${plotFile('cost')})
`
const plots = {
  cost: renderPlot({
    title: `Cost on ${began.machine.cores} cores, times that of ${least.workers} workers`, x: 'workers', y: 'times',
    series: /** @type {const} */ ([
      ['handshake', 'handshake'], ['steady', 'steady delivery'], ['bursts', 'burst delivery'], ['restMemory', 'memory at rest']
    ])
      .map(([key, name]) => ({ name, points: rows.map((row) => [row.workers, row[key] / least[key]]) }))
  })
}
if (options.save) console.log(saveResults(
  ramp === 500 ? 'workers' : 'workers-ramp', { environment: began, connections, ramp, rows }, page, { plots }
)
  .join('\n'))
else console.log(page(() => ''))
