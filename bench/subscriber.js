#!/usr/bin/env node
/**
 * A record to many workers of one machine: each with its own subscription, as inkcast does it, against one subscriber
 * per machine that hands finished messages on (over unix sockets, or in shared memory to threads). Connections of
 * clients are left out: they cost the same. `node bench/subscriber.js`
 */
import { fork } from 'node:child_process'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { systemRandom } from '../src/base/common/random.js'
import { createKeys } from '../src/redis/keys.js'
import { encodeEnvelope } from '../src/wire/envelope.js'
import { makeDirectory, removeDirectory } from '../test/services/directory.js'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { usageOf } from './measure/processes.js'
import { scoped } from './measure/scope.js'
import { readOptions } from './options.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'

const { documentChannel } = createKeys()

const USAGE = `A record to many workers: a subscription for each against one for the machine

  node bench/subscriber.js [options]

  --workers N    (16)
  --rounds N     of each way, in turn (3)
  --seconds N    of each rate (8)
  --no-save      save no results`
const options = readOptions({
  workers: { type: 'string', default: '16' },
  rounds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '8' },
  save: { type: 'boolean', default: true }
}, USAGE)
const [workers, rounds, seconds] = [options.workers, options.rounds, options.seconds].map(Number)

/** Records per second, and how many of them at once. */
const RATES = [
  { name: '100 records/s, one at a time', every: 10, burst: 1 },
  { name: '1,600 records/s, 80 at once', every: 50, burst: 80 }
]
const WAYS = /** @type {const} */ (
  ['a subscription for each worker', 'one subscriber, unix sockets', 'one subscriber, threads']
)
const GUID = 'bench-subscriber'
/** For code to be compiled, ms. */
const WARM = 4000
const VALUE = Buffer.from(JSON.stringify({ cell: 'B7', text: 'a value of about the usual size', by: 'u-1' }))

/**
 * @typedef {object} Row µs of CPU per record; ms
 * @property {string} way
 * @property {string} rate
 * @property {number} total
 * @property {number} redis
 * @property {number} hub
 * @property {number} workersUs
 * @property {number} p50
 * @property {number} p99
 * @property {number} missing
 */

/** @param {number} offset */
const payloadOf = (offset) => Buffer.concat([
  Buffer.from(`epoch:${offset}:`),
  encodeEnvelope(/** @type {any} */ ({
    operator: 'broadcast', guid: GUID, event: 'edit', except: [], contentType: 'application/json', value: VALUE,
    timestamp: Date.now(), traceId: String(Number(process.hrtime.bigint()) / 1e6)
  }), Date.now(), systemRandom)
])

/** @param {typeof WAYS[number]} way @returns {Promise<Row[]>} */
const measure = (way) => scoped(async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const directory = makeDirectory('subscriber')
  t.after(() => removeDirectory(directory))
  const redis = new Redis(server.url)
  t.after(() => redis.disconnect())
  const channel = documentChannel(GUID)
  /** @param {import('./subscriber/receiver.js').Task['role']} role */
  const start = async (role) => {
    const child = fork(new URL('subscriber/receiver.js', import.meta.url))
    t.after(() => child.kill('SIGKILL'))
    const ready = new Promise((resolve) => { child.once('message', resolve) })
    child.send({ role, url: server.url, path: path.join(directory, 'hub'), channel, workers })
    await ready
    return child
  }
  const hub = way === WAYS[0] ? undefined : await start(way === WAYS[1] ? 'hub-sockets' : 'hub-threads')
  /** @type {import('node:child_process').ChildProcess[]} */
  const receivers = []
  if (way !== WAYS[2])
    for (let i = 0; i < workers; i++) receivers.push(await start(way === WAYS[0] ? 'subscriber' : 'socket'))

  /** @param {import('node:child_process').ChildProcess} child @returns {Promise<number[]>} */
  const ask = (child) => new Promise((resolve) => {
    child.once('message', (message) => resolve(/** @type {number[]} */ (message)))
    child.send('report')
  })
  const reporting = way === WAYS[2] && hub !== undefined ? [hub] : receivers
  const collect = async () => (await Promise.all(reporting.map(ask))).flat()
  const cpu = () => ({
    redis: usageOf(server.pid).cpuMs,
    hub: hub === undefined ? 0 : usageOf(/** @type {number} */ (hub.pid)).cpuMs,
    workersUs: receivers.reduce((sum, { pid }) => sum + usageOf(/** @type {number} */ (pid)).cpuMs, 0)
  })
  let offset = 0
  /** @param {{ every: number, burst: number }} rate @param {number} ms @returns {Promise<number>} records */
  const publish = async ({ every, burst }, ms) => {
    const end = performance.now() + ms
    let sent = 0
    while (performance.now() < end) {
      for (let i = 0; i < burst; i++) redis.spublish(channel, payloadOf(++offset)).catch(() => {})
      sent += burst
      await delay(every)
    }
    await delay(500)
    return sent
  }
  for (const rate of RATES) await publish(rate, WARM)
  await collect()
  /** @type {Row[]} */
  const rows = []
  for (const rate of RATES) {
    const before = cpu()
    const records = await publish(rate, 1000 * seconds)
    const after = cpu()
    const latencies = (await collect()).sort((a, b) => a - b)
    const us = (/** @type {keyof typeof before} */ part) => 1000 * (after[part] - before[part]) / records
    const at = (/** @type {number} */ share) => latencies[Math.floor(share * (latencies.length - 1))]
    rows.push({
      way, rate: rate.name, redis: us('redis'), hub: us('hub'), workersUs: us('workersUs'),
      total: us('redis') + us('hub') + us('workersUs'), p50: at(0.5), p99: at(0.99),
      missing: records * workers - latencies.length
    })
  }
  return rows
})

const where = environment()
/** @type {Row[]} */
const all = []
for (let round = 0; round < rounds; round++) {
  for (const way of WAYS) {
    const rows = await measure(way)
    all.push(...rows)
    for (const row of rows) console.error(JSON.stringify(row))
  }
}

/** @param {number[]} values */
const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1]
const table = markdownTable(
  ['rate', 'way', 'CPU per record, µs', 'Redis', 'subscriber', 'workers', 'latency p50 / p99, ms', 'missing'],
  RATES.flatMap(({ name }) => WAYS.map((way) => {
    const own = all.filter((row) => row.rate === name && row.way === way)
    /** @param {'total' | 'redis' | 'hub' | 'workersUs' | 'p50' | 'p99'} key */
    const of = (key) => middle(own.map((row) => row[key]))
    return [name, way, of('total').toFixed(0), of('redis').toFixed(0), of('hub').toFixed(0), of('workersUs').toFixed(0),
      `${of('p50').toFixed(2)} / ${of('p99').toFixed(2)}`, own.reduce((sum, { missing }) => sum + missing, 0)]
  })))
console.log(`\n${table}\n`)
if (all.some(({ missing }) => missing !== 0)) process.exitCode = 1
if (options.save) {
  const files = saveResults('subscriber', { ...where, rows: all }, () => `# A record to ${workers} workers of one machine

\`${where.command}\`, ${where.date}, Node ${where.versions.node}, ${where.machine.cores} cores. The middle of ${rounds} rounds, CPU of \
all processes but the publisher's; connections of clients are left out.
With threads, the CPU of the workers is part of that of the subscriber: they are one process.

${table}
`)
  console.log(files.join('\n'))
}
