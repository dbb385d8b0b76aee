import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { test } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { freePort } from './ports.js'
import { startRedis, startRedisCluster } from './redis.js'
import { waitUntil } from './wait.js'

/** @param {import('node:test').TestContext} t @param {string} url */
function connect (t, url) {
  const client = new Redis(url, { retryStrategy: () => 20 })
  client.on('error', () => {})
  t.after(() => client.disconnect())
  return client
}

test('a Redis accepts writes until it is stopped, and leaves nothing behind', async (t) => {
  const server = await startRedis({ args: ['--maxmemory', '64mb'] })
  t.after(server.stop)
  const client = connect(t, server.url)
  assert.equal(await client.set('key', 'value'), 'OK')
  assert.deepEqual(await client.config('GET', 'maxmemory'), ['maxmemory', String(64 * 1024 * 1024)])
  assert.deepEqual(await client.config('GET', 'bind'), ['bind', '127.0.0.1'])
  await server.stop()
  assert.equal(existsSync(server.directory), false)
  await server.stop()
})

test('a killed Redis restarts empty on its port', async (t) => {
  const server = await startRedis()
  t.after(server.stop)
  const client = connect(t, server.url)
  await client.set('key', 'value')
  const { pid, port } = server
  await server.kill()
  await server.restart()
  assert.notEqual(server.pid, pid)
  assert.equal(server.port, port)
  assert.equal(await client.get('key'), null)
})

test('a suspended Redis keeps its data and continues', async (t) => {
  const server = await startRedis()
  t.after(server.stop)
  const client = connect(t, server.url)
  await client.set('key', 'value')
  await server.kill('SIGSTOP')
  const answer = client.get('key')
  assert.equal(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))]), 'silence')
  await server.kill('SIGCONT')
  assert.equal(await answer, 'value')
})

test('a requested port that is in use is an error', async (t) => {
  const port = await freePort()
  const taken = createServer().listen(port, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  await assert.rejects(startRedis({ port }), /Address already in use/)
})

test('a Redis Cluster serves every hash slot, announces itself on the loopback interface, and stops as a whole', async (t) => {
  const cluster = await startRedisCluster()
  t.after(cluster.stop)
  const urls = cluster.url.split(',')
  assert.equal(urls.length, 3)
  const client = new Cluster([urls[0]])
  t.after(() => client.disconnect())
  // a hundred keys in a hundred hash slots, on all three nodes
  for (let index = 0; index < 100; index++) assert.equal(await client.set(`key-${index}`, String(index)), 'OK')
  const sizes = await Promise.all(urls.map((url) => connect(t, url).dbsize()))
  assert.ok(
    sizes.every((size) => size > 0),
    `keys on the nodes: ${sizes}`
  )
  const slots = await connect(t, urls[1]).cluster('SLOTS')
  assert.equal(
    slots.reduce((sum, [from, to]) => sum + to - from + 1, 0),
    16384
  )
  assert.deepEqual(slots.map(([, , [host, port]]) => `redis://${host}:${port}`).sort(), urls.toSorted())
  await cluster.stop()
  assert.ok(cluster.nodes.every(({ directory }) => !existsSync(directory)))
})

test('a killed node rejoins its cluster', async (t) => {
  const cluster = await startRedisCluster()
  t.after(cluster.stop)
  const [node] = cluster.nodes
  const client = new Cluster(cluster.url.split(','), { clusterRetryStrategy: () => 100 })
  client.on('error', () => {})
  t.after(() => client.disconnect())
  await node.kill()
  await node.restart()
  // hash slot 0 is on the first node; Redis needs some seconds to trust a returning node
  assert.equal(await client.cluster('KEYSLOT', '06S'), 0)
  await waitUntil('the node in the cluster', () => client.set('06S', 'value'), { timeoutMs: 20_000, everyMs: 200 })
  assert.equal(await connect(t, node.url).get('06S'), 'value')
})
