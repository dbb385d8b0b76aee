import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { openDocument, startClient } from '../helpers/inkcast-client.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'

const ROLES = ['api', 'gateway', 'gateway', 'store']

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [env] */
async function start (t, env) {
  const cluster = await startCluster(t, { WORKERS: '2', ...env })
  return {
    ...cluster,
    /** @param {string} [role] @returns {Promise<number[]>} */
    pids: async (role) => (await childrenOf(cluster.pid))
      .filter((child) => role === undefined || child.role === role).map(({ pid }) => pid),
    /** @param {unknown} value @returns {Promise<number>} status */
    publish: async (value) => (await cluster.post('/v1/documents/minutes/broadcast', value)).status
  }
}

test('without Redis the launcher runs a store, and workers share documents', { timeout: 120_000 }, async (t) => {
  const cluster = await start(t)
  assert.deepEqual((await childrenOf(cluster.pid)).map(({ role }) => role).sort(), ROLES)
  const docs = await Promise.all(Array.from({ length: 6 }, () => openDocument(startClient(t, cluster.url), 'minutes')))
  assert.equal(await cluster.publish('hello'), 202)
  await waitFor(() => docs.every(({ seen }) => seen.length === 1), { message: () => docs.map(({ seen }) => seen) })
})

test('the store is killed: it is started again, documents resync, and the workers stay', { timeout: 120_000 }, async (t) => {
  const cluster = await start(t)
  const { seen } = await openDocument(startClient(t, cluster.url), 'minutes')
  assert.equal(await cluster.publish('before'), 202)
  await waitFor(() => seen.length === 1, { message: () => seen })
  const [workers, [store]] = await Promise.all([cluster.pids('gateway'), cluster.pids('store')])
  process.kill(store, 'SIGKILL')
  await waitFor(async () => (await cluster.pids('store')).some((pid) => pid !== store), {
    timeout: 30_000, message: 'another store'
  })
  await waitFor(() => seen.includes('resync epoch'), { timeout: 30_000, message: () => seen })
  await waitFor(async () => await cluster.publish('after') === 202, {
    timeout: 30_000, message: 'a publication that is accepted'
  })
  await waitFor(() => seen.includes('after'), { timeout: 30_000, message: () => seen })
  assert.deepEqual(seen, ['before', 'resync epoch', 'after'])
  assert.deepEqual(await cluster.pids('gateway'), workers)
  await waitFor(cluster.ready, { timeout: 30_000, message: 'the cluster to be ready' })
})

test('a reload replaces all processes but the store, and no record is lost', { timeout: 180_000 }, async (t) => {
  const cluster = await start(t, { DRAIN_TIMEOUT: '3000' })
  const { seen } = await openDocument(startClient(t, cluster.url), 'minutes')
  const [before, stores] = await Promise.all([cluster.pids(), cluster.pids('store')])
  process.kill(cluster.pid, 'SIGHUP')
  let number = 0
  await waitFor(async () => {
    assert.equal(await cluster.publish(++number), 202)
    const now = await cluster.pids()
    return now.length === before.length && now.filter((pid) => before.includes(pid)).join() === stores.join()
  }, { timeout: 120_000, message: 'all other processes to be replaced' })
  await waitFor(() => seen.length >= number, { timeout: 30_000, message: () => `${seen.length} of ${number}` })
  assert.deepEqual(seen, Array.from({ length: number }, (_, i) => i + 1))
})
