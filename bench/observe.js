#!/usr/bin/env node
/**
 * Cost of metrics, inspector and traces: CPU of a gateway worker per delivery without metrics, as usual, with 100
 * watched records a second, with an SDK of OpenTelemetry, and with 100 traced records a second, alternating in one run.
 * With `--before DIR`, another checkout (with its dependencies installed) takes turns with them.
 */
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient } from '../test/helpers/clients.js'
import { startCluster } from '../test/helpers/cluster.js'
import { childrenOf } from '../test/helpers/processes.js'
import { startRedis } from '../test/services/redis.js'
import { systemRandom } from '../src/base/common/random.js'
import { newTraceId } from '../src/wire/headers.js'
import { environment } from './measure/environment.js'
import { usageOf } from './measure/processes.js'
import { quantiles, round } from './measure/quantiles.js'
import { readOptions } from './options.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'

const options = readOptions({
  rounds: { type: 'string', default: '10' },
  seconds: { type: 'string', default: '6' },
  rate: { type: 'string', default: '1000' },
  before: { type: 'string' },
  save: { type: 'boolean', default: true }
}, 'node bench/observe.js [--rounds N] [--seconds N] [--rate RECORDS_PER_SECOND] [--before DIR] [--no-save]')
const rounds = Number(options.rounds)
const ms = Number(options.seconds) * 1000

const DOCUMENTS = 25
const MEMBERS = 20
const PER_SECOND = Number(options.rate)
/** Records a second of the watched document, or with a sampled `traceparent`. */
const SHOWN = 100
const BATCHES = 20
const SHOWN_GUID = 'shown'
const NO_METRICS = fileURLToPath(new URL('./observe/without-metrics.js', import.meta.url))
const SDK = fileURLToPath(new URL('../examples/tracing/tracing.js', import.meta.url))

/** @type {(() => unknown)[]} */
const stops = []
const t = { after: (/** @type {() => unknown} */ stop) => { stops.unshift(stop) } }

/** A collector that forgets what it gets. @returns {Promise<string>} its URL */
async function startCollector () {
  const server = createServer((req, res) => req.resume().on('end', () => res.end('{}')))
  t.after(() => server.close())
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)) })
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

/** @param {{ root?: string, env?: Record<string, string> }} [options] root: of the checkout; default: this one */
async function startSystem ({ root, env = {} } = {}) {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const inkcast = await startCluster(
    t,
    { REDIS_URL: redis.url, WORKERS: '1', MAX_HANDSHAKES_PER_SECOND: '5000', ...env },
    root === undefined ? {} : { file: join(resolve(root), 'cluster.js') }
  )
  const gateway = (await childrenOf(inkcast.pid)).find(({ role }) => role === 'gateway')?.pid ?? 0
  let delivered = 0
  await Promise.all(Array.from({ length: DOCUMENTS * MEMBERS }, async (_, i) => {
    const client = createClient(t, inkcast.url)
    // counted only: keeping all of them would take this process more and more memory
    client.offAny()
    client.on('cell', () => { delivered++ })
    await client.next('connect')
    await client.ask('doc:join', { guid: i % DOCUMENTS === 0 ? SHOWN_GUID : `d-${i % DOCUMENTS}` })
  }))
  return { inkcast, gateway, delivered: () => delivered }
}

/** @typedef {Awaited<ReturnType<typeof startSystem>>} System */

/** Publishes for some seconds. @param {System} system @param {boolean} traced */
async function load ({ inkcast }, traced) {
  let sent = 0
  const each = PER_SECOND / BATCHES
  const deadline = performance.now() + ms
  for (let batch = 0; performance.now() < deadline; batch++) {
    const publications = Array.from({ length: each }, (_, i) => {
      const shown = i % (PER_SECOND / SHOWN) === 0
      return {
        operator: 'broadcast',
        guid: shown ? SHOWN_GUID : `d-${1 + sent++ % (DOCUMENTS - 1)}`,
        event: 'cell',
        value: { cell: 'A1', text: 'x'.repeat(200), batch },
        ...(shown && traced && { traceparent: `00-${newTraceId(systemRandom)}-00f067aa0ba902b7-01` })
      }
    })
    const { status } = await inkcast.post('/v1/publish', { publications })
    if (status >= 300) throw new Error(`the api answered ${status}`)
    await delay(Math.max(0, deadline - ms + (batch + 1) * 1000 / BATCHES - performance.now()))
  }
}

/**
 * @param {System} system
 * @param {{ watched?: boolean, traced?: boolean }} what
 * @returns {Promise<number>} µs of CPU per delivery
 */
async function measure (system, { watched = false, traced = false }) {
  const ending = new AbortController()
  let events = 0
  if (watched) {
    const answer = await fetch(`${system.inkcast.adminUrl}/inspect?guid=${SHOWN_GUID}`, { signal: ending.signal })
    ;(async () => {
      for await (const chunk of /** @type {any} */ (answer.body)) events += String(Buffer.from(chunk)).split('\n').length - 1
    })()
      .catch(() => {})
    await delay(300)
  }
  const before = { cpu: usageOf(system.gateway).cpuMs, delivered: system.delivered() }
  await load(system, traced)
  await delay(200)
  const cpu = usageOf(system.gateway).cpuMs - before.cpu
  const delivered = system.delivered() - before.delivered
  ending.abort()
  if (watched && events < SHOWN * ms / 1000) throw new Error(`only ${events} events were seen`)
  await delay(300)
  return 1000 * cpu / delivered
}

try {
  const here = await startSystem()
  const silent = await startSystem({ env: { NODE_OPTIONS: `--import ${NO_METRICS}` } })
  const traced = await startSystem({
    env: {
      NODE_OPTIONS: `--import ${SDK}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: await startCollector(),
      TRACE_RATIO: '0'
    }
  })
  /** @type {{ name: string, system: System, watched?: boolean, traced?: boolean }[]} */
  const settings = [
    ...(options.before === undefined ? [] : [{ name: 'other checkout', system: await startSystem({ root: options.before }) }]),
    { name: 'without metrics', system: silent },
    { name: 'as usual', system: here },
    { name: `${SHOWN} records/s watched`, system: here, watched: true },
    { name: 'with an SDK', system: traced },
    { name: `${SHOWN} records/s traced`, system: traced, traced: true }
  ]
  /** @type {Record<string, number[]>} */
  const results = Object.fromEntries(settings.map(({ name }) => [name, []]))
  for (let i = -1; i < rounds; i++) {
    for (const setting of i % 2 === 0 ? settings : [...settings].reverse()) {
      const cost = await measure(setting.system, setting)
      // the first round warms up
      if (i >= 0) results[setting.name].push(round(cost, 2))
      console.error(i, setting.name, round(cost, 2))
    }
  }
  const rows = Object.entries(results).map(([name, costs]) => {
    // rounds are paired: other programs on the machine disturb a whole round
    const [base] = Object.values(results)
    const ratios = costs.map((cost, i) => cost / base[i])
    const { p50: ratio } = quantiles(ratios, 4)
    const [p50, first] = [costs, base].map((list) => quantiles(list, 2).p50 ?? 0)
    const percent = (/** @type {number} */ share) => `${round(100 * (share - 1), 1)} %`
    return [name, p50, Math.min(...costs), Math.max(...costs), percent(p50 / first), percent(ratio ?? 1)]
  })
  const table = markdownTable(
    ['', 'µs of CPU per delivery, median', 'min', 'max', 'difference', 'median of the differences of a round'], rows
  )
  console.log(`\n${table}\n`)
  const where = environment()
  const text = `# Cost of metrics, inspector and traces\n\n${where.date}, ` +
    `\`${where.command.replace(/--before \S+/, '--before DIR')}\`\n\nOne gateway worker, ${DOCUMENTS * MEMBERS} clients, ${DOCUMENTS} ` +
    `documents, ${PER_SECOND} records/s of 0.2 KB, ${SHOWN} of them watched or traced; ${rounds} rounds of ${ms / 1000} s ` +
    `each.\n\n${table}\n`
  if (options.save) console.log(saveResults('observe', { results }, () => text).join(' and '))
} finally {
  for (const stop of stops) await stop()
}
