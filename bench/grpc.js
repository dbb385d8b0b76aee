#!/usr/bin/env node
/**
 * Publications through one PublishStream of gRPC: how many in a second, what they cost, whether memory grows, and
 * whether a Kafka that stops for 15 s is felt by the client as flow control. The client is a process of its own, on the
 * same machine; nobody has the documents open.
 */
import { fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startCluster } from '../test/helpers/cluster.js'
import { childrenOf } from '../test/helpers/processes.js'
import { startKafka } from '../test/services/kafka.js'
import { freePort } from '../test/services/ports.js'
import { startRedis } from '../test/services/redis.js'
import { environment } from './measure/environment.js'
import { usageOf } from './measure/processes.js'
import { round } from './measure/quantiles.js'
import { readOptions } from './options.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'

const CLIENT = fileURLToPath(new URL('./grpc/client.js', import.meta.url))
const DOCUMENTS = 100
const WARM_UP = 10
/** Of Kafka, s. */
const STOP = 15

const options = readOptions({
  seconds: { type: 'string', default: '60' },
  rate: { type: 'string', default: '1000000' },
  save: { type: 'boolean', default: true }
}, 'node bench/grpc.js [--seconds N] [--rate PUBLICATIONS_PER_SECOND] [--no-save]')
const seconds = Number(options.seconds)

/** @type {(() => unknown)[]} */
const stops = []
const t = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }

/** @param {number} port @param {number} perMessage */
function startClient (port, perMessage) {
  const child = fork(CLIENT, [port, perMessage, DOCUMENTS, options.rate].map(String))
  t.after(() => child.kill())
  const state = { sent: 0, done: 0, errors: {}, ended: false, child }
  child.on('message', (/** @type {any} */ message) => {
    if (message.failed !== undefined) console.error('the stream failed:', message.failed)
    Object.assign(state, message)
  })
  return state
}

/**
 * @param {{ name: string, port: number, pid: number, perMessage: number, broker?: any }} setting
 */
async function measure ({ name, port, pid, perMessage, broker }) {
  const client = startClient(port, perMessage)
  await delay(WARM_UP * 1000)
  const begin = { ...usageOf(pid), done: client.done, at: performance.now() }
  /** @type {{ second: number, done: number, sent: number, rssMb: number }[]} */
  const samples = []
  for (let second = 1; second <= seconds; second++) {
    await delay(1000)
    if (broker !== undefined && second === Math.floor(seconds / 3)) await broker.kill('SIGSTOP')
    if (broker !== undefined && second === Math.floor(seconds / 3) + STOP) await broker.kill('SIGCONT')
    samples.push({ second, done: client.done, sent: client.sent, rssMb: Math.round(usageOf(pid).residentKb / 1024) })
  }
  const end = usageOf(pid)
  const wall = (performance.now() - begin.at) / 1000
  const done = client.done - begin.done
  client.child.send('end')
  for (let i = 0; i < 600 && !client.ended; i++) await delay(100)
  const half = Math.floor(samples.length / 2)
  const mean = (/** @type {typeof samples} */ list) =>
    Math.round(list.reduce((sum, { rssMb }) => sum + rssMb, 0) / list.length)
  return {
    name, perMessage,
    perSecond: Math.round(done / wall),
    cpuUs: round(1000 * (end.cpuMs - begin.cpuMs) / done, 1),
    rssFirstHalf: mean(samples.slice(0, half)),
    rssSecondHalf: mean(samples.slice(half)),
    rssMax: Math.max(...samples.map(({ rssMb }) => rssMb)),
    maxInProgress: Math.max(...samples.map(({ sent, done }) => sent - done)),
    unanswered: client.sent - client.done,
    errors: client.errors,
    samples
  }
}

/** @param {string} name @param {boolean} withKafka @param {number[]} sizes @param {boolean} [stop] */
async function run (name, withKafka, sizes, stop = false) {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const broker = withKafka ? await startKafka({ longLived: true }) : undefined
  t.after(() => broker?.stop())
  const port = await freePort()
  const cluster = await startCluster(t, {
    REDIS_URL: redis.url, WORKERS: '1', GRPC_PORT: String(port), ...(broker && { KAFKA_BROKERS: broker.brokers })
  })
  const pid = (await childrenOf(cluster.pid)).find(({ role }) => role === 'api')?.pid ?? 0
  const results = []
  for (const perMessage of sizes) {
    const result = await measure({ name, port, pid, perMessage, broker: stop ? broker : undefined })
    console.error(JSON.stringify({ ...result, samples: undefined }))
    results.push(result)
  }
  await cluster.stop()
  await broker?.stop()
  await redis.stop()
  return results
}

try {
  const results = [
    ...await run('Redis and Kafka', true, [1, 16, 100]),
    ...await run('Redis', false, [1, 16, 100]),
    ...await run(`Redis and Kafka, which stops for ${STOP} s`, true, [16], true)
  ]
  const table = markdownTable(
    [
      'set-up', 'publications per message', 'per second', 'µs of CPU of the api each', 'resident MB, first half', 'second half', 'max',
      'most in progress', 'refused', 'unanswered'
    ],
    results.map((one) => [
      one.name, one.perMessage, one.perSecond, one.cpuUs, one.rssFirstHalf, one.rssSecondHalf, one.rssMax,
      one.maxInProgress, JSON.stringify(one.errors), one.unanswered
    ])
  )
  console.log(`\n${table}\n`)
  const where = environment()
  const text = `# One PublishStream of gRPC\n\n${where.date}, \`${where.command}\` on ${where.machine.cores} cores, which the client, ` +
    `Redis and Kafka share.\n\nValues of 0.1 KB for ${DOCUMENTS} documents, nobody has them open; ${seconds} s for each row after ` +
    `${WARM_UP} s; each publication is acknowledged (with Kafka: by the broker).\n\n${table}\n`
  if (options.save) console.log(saveResults('grpc', { results }, () => text).join(' and '))
} finally {
  for (const stop of stops) await stop()
}
