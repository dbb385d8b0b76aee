import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connectClient, createClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { openDocument, startClient } from '../helpers/inkcast-client.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { publishOnce } from '../helpers/post.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

const REDIS_URL = await ownRedisUrl(fileScope())

const KINDS = [['websocket'], ['polling'], ['polling', 'websocket']]

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/** @param {Cluster} cluster @param {string} name @param {string} [role] @returns {Promise<number>} */
async function metricOf (cluster, name, role = 'gateway') {
  const text = await cluster.metricsNow()
  return Number(new RegExp(`^inkcast_${name}\\{[^}]*role="${role}"[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN)
}

/**
 * Connects a client, and asks something that its worker must answer.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {string[]} transports
 */
async function serve (t, url, transports) {
  const client = createClient(t, url, { transports, reconnection: true })
  await new Promise((resolve) => { client.once('connect', () => resolve(undefined)) })
  assert.equal((await client.ask('doc:join', { guid: `document-${randomUUID()}` })).ok, true)
  client.disconnect()
}

/**
 * Newcomers of all kinds, one after the other. A pause between two leaves CPU time for the cluster.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string} url
 * @param {() => boolean} more
 * @returns {Promise<number>} how many were served before the first one that is not to count
 */
async function newcomers (t, url, more) {
  for (let served = 0; ; served++) {
    await serve(t, url, KINDS[served % KINDS.length])
    if (!more()) return served
    await delay(100)
  }
}

/** @param {number} pid */
const isThere = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A cluster whose workers 0 to 2 hang while worker 3 serves. */
describe('processes that hang', () => {
  const scope = fileScope()
  /** @type {Cluster} */
  let cluster
  before(async () => {
    cluster = await startCluster(scope, {
      WORKERS: '4',
      REDIS_URL,
      DRAIN_TIMEOUT: '2000',
      LOG_LEVEL: 'info',
      // the usual one may be in use
      NODE_OPTIONS: `--inspect-port=${await freePort()}`,
      EXTENSIONS: fileURLToPath(new URL('../helpers/blocking-extension.js', import.meta.url))
    })
  }, { timeout: 270_000 })

  /** @param {string} role @returns {Promise<number[]>} */
  const pidsOf = async (role) =>
    (await childrenOf(cluster.pid)).filter((child) => child.role === role).map(({ pid }) => pid)

  /** @param {number} pid of a worker that is stopped, as a debugger does */
  async function openInspector (pid) {
    process.kill(pid, 'SIGUSR1')
    // the launcher learns it with the next answer
    await waitFor(() => /inspector is open/.test(cluster.output()), { timeout: 20_000, message: cluster.output })
  }

  test('a worker that continues in time gets its connections back, and keeps its clients', async (t) => {
    const before = await pidsOf('gateway')
    const clients = await Promise.all(Array.from({ length: 20 }, () => connectClient(t, cluster.url)))
    process.kill(before[0], 'SIGSTOP')
    try {
      await waitFor(async () => await metricOf(cluster, 'hung_workers') === 1, { timeout: 20_000, message: cluster.metricsNow })
    } finally {
      process.kill(before[0], 'SIGCONT')
    }
    await waitFor(async () => await metricOf(cluster, 'hung_workers') === 0, { timeout: 20_000 })
    for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'document' })).ok, true)
    assert.deepEqual(await pidsOf('gateway'), before)
    const reached = new Set()
    await waitFor(async () => {
      reached.add((await connectClient(t, cluster.url)).id?.slice(0, 2))
      return reached.size === 4
    }, { timeout: 30_000, message: 'a newcomer on each worker' })
  })

  test('processes that hang are killed and replaced, others serve new clients meanwhile, and clients miss nothing', {
    timeout: 240_000
  }, async (t) => {
    const guid = `document-${randomUUID()}`
    const docs = await Promise.all(Array.from({ length: 12 }, (_, i) =>
      openDocument(startClient(t, cluster.url, { transports: KINDS[i % KINDS.length] }), guid)
    ))
    let published = 0
    const publish = () => publishOnce(cluster, guid, ++published)
    await publish()
    for (const doc of docs) await doc.has(1)

    const before = await pidsOf('gateway')
    const [inspected, stopped] = before
    await openInspector(inspected)
    // it computes on a worker that is not stopped
    process.kill(inspected, 'SIGSTOP')
    process.kill(stopped, 'SIGSTOP')
    const hung = async () => await metricOf(cluster, 'hung_workers')
    await waitFor(async () => await hung() === 2, { timeout: 20_000, message: cluster.output })
    const victim = await connectClient(t, cluster.url)
    victim.emit('block', 3_600_000)
    const begin = performance.now()
    await publish()
    // with three of four workers that hang, each newcomer would wait for the kill with a chance of 3 in 4
    const served = await newcomers(t, cluster.url, () => isThere(stopped))
    // once in the test before, and these three: on a busy machine the last worker may pause as well
    if (await metricOf(cluster, 'worker_hangs_total') === 4) assert.ok(served >= 3, `${served} were served before the kill`)
    t.diagnostic(`${served} newcomers were served before the kill`)
    const [api] = await pidsOf('api')
    process.kill(api, 'SIGSTOP')

    await waitFor(async () => {
      const now = await pidsOf('gateway')
      return now.length === 4 && before.filter((pid) => !now.includes(pid)).length === 2
    }, { timeout: 60_000, message: cluster.output })
    t.diagnostic(`killed after ${Math.round(performance.now() - begin)} ms`)
    await waitFor(async () => (await pidsOf('api')).some((pid) => pid !== api), { timeout: 60_000 })
    await waitFor(() => /has a debugger: it is not killed/.test(cluster.output()), { timeout: 60_000, message: cluster.output })
    process.kill(inspected, 'SIGCONT')
    await waitFor(cluster.ready, { timeout: 60_000, message: 'the replacements' })
    await publish()
    for (const doc of docs) await doc.has(published)
    for (const { seen } of docs)
      assert.deepEqual(seen, Array.from({ length: published }, (_, i) => i + 1), 'each record once and in order')
    assert.ok((await pidsOf('gateway')).includes(inspected))
    assert.equal(await metricOf(cluster, 'hung_workers_killed_total'), 2)
    await waitFor(async () => await hung() === 0, { timeout: 20_000 })
    for (const cause of ['it was stopped by a signal', 'it computes without a pause']) {
      assert.match(cluster.output(), new RegExp(`process does not answer, ${cause}`))
      assert.match(cluster.output(), new RegExp(`did not answer within 10 s, ${cause}`))
    }
  })
})
