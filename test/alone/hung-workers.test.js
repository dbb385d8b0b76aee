import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connectClient, createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { redisUrl } from '../helpers/env.js'
import { fileScope } from '../helpers/file-scope.js'
import { openDocument, startClient } from '../helpers/inkcast-client.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

/** Newcomers must be served within this time while a worker hangs, ms. */
const SERVED = 3000
const KINDS = [['websocket'], ['polling'], ['polling', 'websocket']]

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/** @param {Cluster} cluster @returns {Promise<number[]>} */
const workersOf = async (cluster) =>
  (await childrenOf(cluster.pid)).filter(({ role }) => role === 'gateway').map(({ pid }) => pid)

/** @param {Cluster} cluster @param {string} name @param {string} [role] @returns {Promise<number>} */
async function metricOf (cluster, name, role = 'gateway') {
  const text = await cluster.metrics()
  return Number(new RegExp(`^inkcast_${name}\\{[^}]*role="${role}"[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN)
}

/**
 * Connects a client, and asks something that its worker must answer.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {string[]} transports
 * @returns {Promise<number>} how long that took, ms
 */
async function serve (t, url, transports) {
  const begin = performance.now()
  const client = createClient(t, url, { transports, reconnection: true })
  await new Promise((resolve) => { client.once('connect', () => resolve(undefined)) })
  assert.equal((await client.ask('doc:join', { guid: `document-${randomUUID()}` })).ok, true)
  const took = performance.now() - begin
  client.disconnect()
  return took
}

/**
 * Newcomers of all kinds, at a steady rate.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {number} ms for this time
 * @returns {Promise<number[]>} how long each one took until it was served, ms
 */
async function newcomers (t, url, ms) {
  const taken = []
  for (const end = performance.now() + ms; performance.now() < end;) {
    taken.push(serve(t, url, KINDS[taken.length % KINDS.length]))
    await delay(60)
  }
  return Promise.all(taken)
}

/** @param {number[]} values */
const longest = (values) => Math.round(Math.max(...values))

describe('a worker that hangs', () => {
  const scope = fileScope()
  /** @type {Cluster} */
  let cluster
  before(async () => {
    cluster = await startCluster(scope, {
      WORKERS: '2',
      REDIS_URL: redisUrl(),
      DRAIN_TIMEOUT: '2000',
      EXTENSIONS: fileURLToPath(new URL('../helpers/blocking-extension.js', import.meta.url))
    })
  }, { timeout: 270_000 })

  const ways = {
    /** @param {number} pid */
    SIGSTOP: (pid) => { process.kill(pid, 'SIGSTOP') },
    /** @param {number} _pid @param {import('../../client/index.js').Client | any} client of the worker */
    'endless loop': (_pid, client) => { client.emit('block', 3_600_000) }
  }
  for (const [way, hang] of Object.entries(ways))
    test(
      `${way}: newcomers are served by the other within 3 s; it is killed and replaced, and its clients miss nothing`,
      { timeout: 240_000 },
      async (t) => {
        const usual = longest(await newcomers(t, cluster.url, 1500))
        const guid = `document-${randomUUID()}`
        const docs = await Promise.all(Array.from({ length: 12 }, (_, i) =>
          openDocument(startClient(t, cluster.url, { transports: KINDS[i % KINDS.length] }), guid)
        ))
        let published = 0
        const publish = async () => {
          const { status } = await cluster.post(`/v1/documents/${guid}/broadcast`, ++published)
          assert.equal(status, 202)
        }
        await publish()
        for (const doc of docs) await doc.has(1)

        const killed = await metricOf(cluster, 'hung_workers_killed_total') || 0
        const victim = await connectClient(t, cluster.url)
        const [number] = await workersOf(cluster)
        const before = await workersOf(cluster)
        hang(number, victim)
        const begin = performance.now()
        const taken = await newcomers(t, cluster.url, 6000)
        // a machine that is slow without a hung worker is slower with one
        assert.ok(longest(taken) <= SERVED + 2 * usual, `served after ${longest(taken)} ms, usually ${usual} ms`)
        t.diagnostic(`longest time until served: ${longest(taken)} ms of ${taken.length}, before ${usual} ms`)
        await publish()

        await waitFor(async () => {
          const now = await workersOf(cluster)
          return now.length === 2 && before.some((pid) => !now.includes(pid))
        }, { timeout: 60_000, message: cluster.output })
        t.diagnostic(`killed after ${Math.round(performance.now() - begin)} ms`)
        await publish()
        await waitFor(() => cluster.ready(), { timeout: 60_000, message: 'the replacement' })
        await publish()
        for (const doc of docs) await doc.has(published)
        for (const { seen } of docs)
          assert.deepEqual(seen, Array.from({ length: published }, (_, i) => i + 1), 'each record once and in order')
        assert.equal(await metricOf(cluster, 'hung_workers_killed_total'), killed + 1)
        assert.equal(await metricOf(cluster, 'hung_workers'), 0)
        const cause = way === 'SIGSTOP' ? 'it was stopped by a signal' : 'it computes without a pause'
        assert.match(cluster.output(), new RegExp(`process does not answer, ${cause}`))
        assert.match(cluster.output(), new RegExp(`did not answer within 10 s, ${cause}`))
      }
    )

  test('a worker that is busy for a second is neither hung nor killed', { timeout: 120_000 }, async (t) => {
    const [before, hangs] = [await workersOf(cluster), await metricOf(cluster, 'worker_hangs_total')]
    for (let i = 0; i < 3; i++) {
      const client = await connectClient(t, cluster.url)
      client.emit('block', 1000)
      await client.ask('doc:join', { guid: `document-${randomUUID()}` })
    }
    assert.deepEqual(await workersOf(cluster), before)
    assert.equal(await metricOf(cluster, 'worker_hangs_total'), hangs)
  })

  test('a worker that continues in time gets its connections back, and keeps its clients', { timeout: 120_000 }, async (t) => {
    const before = await workersOf(cluster)
    const clients = await Promise.all(Array.from({ length: 20 }, () => connectClient(t, cluster.url)))
    process.kill(before[0], 'SIGSTOP')
    try {
      await waitFor(async () => await metricOf(cluster, 'hung_workers') === 1, { timeout: 20_000, message: cluster.metrics })
    } finally {
      process.kill(before[0], 'SIGCONT')
    }
    await waitFor(async () => await metricOf(cluster, 'hung_workers') === 0, { timeout: 20_000 })
    for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'document' })).ok, true)
    assert.deepEqual(await workersOf(cluster), before)
    const reached = new Set()
    await waitFor(async () => {
      reached.add((await connectClient(t, cluster.url)).id?.slice(0, 2))
      return reached.size === 2
    }, { timeout: 30_000, message: 'a newcomer on each worker' })
  })

  test('api: hung, it is killed and replaced', { timeout: 120_000 }, async () => {
    const api = async () => (await childrenOf(cluster.pid)).filter(({ role }) => role === 'api').map(({ pid }) => pid)
    const [pid] = await api()
    process.kill(pid, 'SIGSTOP')
    await waitFor(async () => (await api()).some((other) => other !== pid), { timeout: 60_000 })
    await waitFor(() => cluster.ready(), { timeout: 60_000 })
    assert.equal((await cluster.post('/v1/documents/document/broadcast', 1)).status, 202)
  })
})

test('a worker with an open inspector is not killed', { timeout: 180_000 }, async (t) => {
  const cluster = await startCluster(t, {
    WORKERS: '2', REDIS_URL: redisUrl(), DRAIN_TIMEOUT: '500', LOG_LEVEL: 'info',
    // the usual one may be in use
    NODE_OPTIONS: `--inspect-port=${await freePort()}`
  })
  const [pid, other] = await workersOf(cluster)
  process.kill(pid, 'SIGUSR1')
  // the launcher learns it with the next answer
  await waitFor(() => /inspector is open/.test(cluster.output()), { timeout: 20_000, message: cluster.output })
  process.kill(pid, 'SIGSTOP')
  await waitFor(() => /has a debugger: it is not killed/.test(cluster.output()), { timeout: 60_000, message: cluster.output })
  process.kill(pid, 'SIGCONT')
  await waitFor(async () => await metricOf(cluster, 'hung_workers') === 0, { timeout: 20_000 })
  assert.deepEqual(await workersOf(cluster), [pid, other])
})
