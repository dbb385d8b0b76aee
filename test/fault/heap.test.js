/**
 * Clients that come and go for a while leave nothing in the heap of a gateway worker. Heap snapshots before and after
 * name the constructors that grew.
 */
import assert from 'node:assert/strict'
import { loadavg } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compareSnapshots, readSnapshot, totalOf } from '../../bench/measure/heap-snapshot.js'
import { scoped } from '../../bench/measure/scope.js'
import { createProbes } from '../../bench/soak/processes.js'
import { planOf } from '../../packages/load/plan.js'
import { runLoad } from '../../packages/load/run.js'
import { startCluster } from '../helpers/cluster.js'
import { kafkaBrokers } from '../helpers/env.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { makeDirectory, removeDirectory } from '../services/directory.js'
import { saveRow } from './rows.js'
import { say } from './scene.js'

const TIMEOUT = 600_000
const CONNECTIONS = 300
/** Of a load, s. The first one compiles the code and fills the caches, and does not count. */
const HOLD = 25
/** For presence (`PRESENCE_GRACE`), pages of replays, and timers, ms. */
const REST = 20_000
/**
 * Objects of one constructor, per connection that came and went: something that is kept for each tenth one is a leak.
 * The heap as a whole, percent: compiled code and its feedback still grow a little.
 */
const LIMITS = { perConnection: 0.1, heap: 5 }
/** Kinds that belong to compiled code: bounded, and not counted by constructor. */
const CODE = /^\((?:code|object shape|array|number|hidden|string|concatenated string|sliced string|synthetic|symbol)\)$|\(native\)$/
const TOKEN = 'a-token-of-the-heap-test-with-32-characters'

/**
 * @param {Record<string, string>} env
 * @returns {Promise<string[]>} what grew more than its limit
 */
const leaksOf = (env) => scoped(async (t) => {
  const topics = freshTopics(t)
  const probes = createProbes(t)
  const directory = makeDirectory('heap')
  t.after(() => removeDirectory(directory))
  const cluster = await startCluster(t, {
    ...topics.env, ...probes.env, KAFKA_BROKERS: kafkaBrokers(), NODE_ENV: 'production', HOST: '127.0.0.1', WORKERS: '1',
    REDIS_URL: await ownRedisUrl(t), AUTH_ALLOW_ANONYMOUS: 'true', API_TOKENS: `heap:${TOKEN}`, ...env
  })
  const gateway = (await childrenOf(cluster.pid)).find(({ role }) => role === 'gateway')
  assert.ok(gateway !== undefined)

  const load = () => runLoad({
    plan: planOf('hold', {
      connections: CONNECTIONS, ramp: 100, hold: HOLD, documents: 20, records: 20, churn: 20, activity: 10, polling: 10,
      msgpack: 30
    }),
    processes: 1,
    target: { host: '127.0.0.1', port: Number(cluster.port), secure: false, insecure: false },
    loopback: true,
    sources: [],
    tokenOf: async () => undefined,
    api: { url: cluster.apiUrl, token: TOKEN },
    admin: { url: cluster.adminUrl, token: undefined },
    settle: 30_000
  })

  /** @param {string} name */
  async function snapshot (name) {
    await waitFor(async () => /^inkcast_connections\{.*\} [1-9]/m.test(await cluster.metrics()) === false, {
      message: 'the connections to be closed', timeout: 20_000
    })
    await delay(REST)
    const file = path.join(directory, `${name}.heapsnapshot`)
    await probes.ask(/** @type {{ pid: number }} */ (gateway).pid, { snapshot: file })
    return readSnapshot(file)
  }

  const first = await load()
  assert.deepEqual(first.problems, [])
  say(`${first.summary.opened} connections came and went; first snapshot`)
  const before = await snapshot('before')
  const [begin, busy] = [performance.now(), loadavg()[0]]
  const result = await load()
  const { opened } = result.summary
  assert.ok(opened > CONNECTIONS, `${opened} connections`)
  const after = await snapshot('after')
  assert.deepEqual(result.problems, [])
  const grown = compareSnapshots(before, after)
  const heap = 100 * (totalOf(after) / totalOf(before) - 1)
  for (const { name, count, bytes } of grown.slice(0, 10)) say(`${name}: ${count} objects, ${(bytes / 1000).toFixed(0)} KB more`)
  saveRow({
    fault: `${opened.toLocaleString('en-US')} connections come and go${env.EXTENSIONS === undefined ? '' : ', with a leak'}`,
    clients: CONNECTIONS,
    records: result.published.documents,
    deliveries: result.summary.deliveries,
    lost: result.summary.holes + result.missing.documents,
    disordered: 0,
    doubled: result.summary.doubled,
    dropped: 0,
    resyncs: 0,
    bridged: 0,
    reconnects: result.summary.reconnects,
    lasted: Math.round(performance.now() - begin),
    gaps: { p50: null, p99: null, max: null },
    normal: Math.round(result.summary.latency.p50 ?? 0),
    load: [busy, loadavg()[0]].map((each) => Math.round(each * 10) / 10),
    refusals: {},
    more: { 'heap of the gateway worker before, MB': (totalOf(before) / 1e6).toFixed(1), 'its growth, percent': heap.toFixed(1) }
  })
  return [
    ...grown.filter(({ name, count }) => !CODE.test(name) && count > LIMITS.perConnection * opened)
      .map(({ name, count }) => `${name}: ${count} objects more after ${opened} connections`),
    ...heap > LIMITS.heap ? [`the heap: ${heap.toFixed(1)} % more`] : []
  ]
})

describe('heap', () => {
  test('clients that come and go leave nothing behind', { timeout: TIMEOUT }, async () => {
    assert.deepEqual(await leaksOf({}), [])
  })

  test('a leak is found, and its constructor named', { timeout: TIMEOUT }, async () => {
    const leaks = await leaksOf({
      EXTENSIONS: fileURLToPath(new URL('../helpers/leaking-extension.js', import.meta.url))
    })
    assert.ok(leaks.some((leak) => leak.startsWith('LeakedVisit: ')), JSON.stringify(leaks))
  })
})
