import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { openDocument, startClient } from '../helpers/inkcast-client.js'
import { publishOnce } from '../helpers/post.js'
import { childrenOf } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'

const ROLES = ['api', 'gateway', 'gateway', 'store']

describe('a cluster without Redis', () => {
  const scope = fileScope()
  /** @type {Awaited<ReturnType<typeof startCluster>>} */
  let cluster
  before(async () => { cluster = await startCluster(scope, { WORKERS: '2', DRAIN_TIMEOUT: '3000' }) }, { timeout: 270_000 })

  /** @param {string} [role] @returns {Promise<number[]>} */
  const pids = async (role) => (await childrenOf(cluster.pid))
    .filter((child) => role === undefined || child.role === role).map(({ pid }) => pid)
  /** @param {string} guid @param {unknown} value */
  const publish = (guid, value) => publishOnce(cluster, guid, value)

  test('the launcher runs a store, and workers share documents', async (t) => {
    assert.deepEqual((await childrenOf(cluster.pid)).map(({ role }) => role).sort(), ROLES)
    const docs = await Promise.all(Array.from({ length: 6 }, () => openDocument(startClient(t, cluster.url), 'shared')))
    await publish('shared', 'hello')
    await waitFor(() => docs.every(({ seen }) => seen.length === 1), { message: () => docs.map(({ seen }) => seen) })
  })

  test('the store is killed: it is started again, documents resync, and the workers stay', async (t) => {
    const { seen } = await openDocument(startClient(t, cluster.url), 'resynced')
    await publish('resynced', 'before')
    await waitFor(() => seen.length === 1, { message: () => seen })
    const [workers, [store]] = await Promise.all([pids('gateway'), pids('store')])
    process.kill(store, 'SIGKILL')
    await waitFor(async () => (await pids('store')).some((pid) => pid !== store), {
      timeout: 30_000, message: 'another store'
    })
    await waitFor(() => seen.includes('resync epoch'), { timeout: 30_000, message: () => seen })
    await publish('resynced', 'after')
    await waitFor(() => seen.includes('after'), { timeout: 30_000, message: () => seen })
    assert.deepEqual(seen, ['before', 'resync epoch', 'after'])
    assert.deepEqual(await pids('gateway'), workers)
    await waitFor(cluster.ready, { timeout: 30_000, message: 'the cluster to be ready' })
  })

  test('a reload replaces all processes but the store, and no record is lost', async (t) => {
    const { seen } = await openDocument(startClient(t, cluster.url), 'reloaded')
    const [before, stores] = await Promise.all([pids(), pids('store')])
    process.kill(cluster.pid, 'SIGHUP')
    let number = 0
    await waitFor(async () => {
      await publishOnce(cluster, 'reloaded', number + 1, { 'idempotency-key': `reloaded-${number + 1}` })
      number++
      const now = await pids()
      return now.length === before.length && now.filter((pid) => before.includes(pid)).join() === stores.join()
    }, { timeout: 120_000, message: 'all other processes to be replaced' })
    await waitFor(() => seen.length >= number, { timeout: 30_000, message: () => `${seen.length} of ${number}` })
    assert.deepEqual(seen, Array.from({ length: number }, (_, i) => i + 1))
  })
})
