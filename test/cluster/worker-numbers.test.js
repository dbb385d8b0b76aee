import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectToWorkers } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { childrenOf, isAlive } from '../helpers/processes.js'
import { waitFor } from '../helpers/wait.js'
import { freePorts } from '../services/ports.js'

const scope = fileScope()
const REDIS_URL = await ownRedisUrl(scope)

/** @param {import('node:test').TestContext} t @param {Record<string, string>} [env] */
const start = (t, env = {}) => startCluster(t, { WORKERS: '2', REDIS_URL, DRAIN_TIMEOUT: '500', ...env })

/**
 * @param {import('node:test').TestContext} t
 * @param {Awaited<ReturnType<typeof startCluster>>} cluster
 * @returns {Promise<(string | undefined)[]>} the numbers of its workers, as they are in session ids
 */
async function numbersOf (t, cluster) {
  const clients = await connectToWorkers(t, cluster.url, 2, 4)
  const numbers = [...new Set(clients.map(({ id }) => id?.slice(0, 2)))].sort()
  for (const client of clients) client.disconnect()
  return numbers
}

test('workers keep their numbers when their launcher is restarted, also while others start', { timeout: 240_000 }, async (t) => {
  const other = await start(t)
  const PORT = String((await freePorts(1))[0])
  const cluster = await start(t, { PORT })
  const others = await numbersOf(t, other)
  const numbers = await numbersOf(t, cluster)
  assert.deepEqual([...others, ...numbers], ['AA', 'AB', 'AC', 'AD'])
  await other.stop()
  await cluster.stop()
  const newcomer = await start(t)
  assert.deepEqual(await numbersOf(t, newcomer), ['AE', 'AF'])
  assert.deepEqual(await numbersOf(t, await start(t, { PORT })), numbers)
})

test('workers keep their numbers when all processes of a machine are killed at once', { timeout: 240_000 }, async (t) => {
  const PORT = String((await freePorts(1))[0])
  const cluster = await start(t, { PORT })
  const numbers = await numbersOf(t, cluster)
  const pids = (await childrenOf(cluster.pid)).map(({ pid }) => pid)
  for (const pid of [cluster.pid, ...pids]) process.kill(pid, 'SIGKILL')
  await waitFor(() => ![cluster.pid, ...pids].some(isAlive), { timeout: 20_000, message: 'their end' })
  // leases last 10 s: the new processes see that the old ones are dead
  assert.deepEqual(await numbersOf(t, await start(t, { PORT })), numbers)
})
