import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { connectClient } from '../helpers/clients.js'
import { startCluster } from '../helpers/cluster.js'
import { fileScope } from '../helpers/file-scope.js'
import { grpcClient } from '../helpers/grpc.js'
import { startReplicatedRedis } from '../helpers/replicated-redis.js'
import { waitFor } from '../helpers/wait.js'
import { freePort } from '../services/ports.js'

const { master, replica, replicaAdmin } = await startReplicatedRedis(fileScope())

test('every way in is acknowledged when a replica has it, and refused in time while none does', { timeout: 120_000 }, async (t) => {
  const GRPC_PORT = String(await freePort())
  const cluster = await startCluster(t, {
    WORKERS: '2', REDIS_URL: master.url, GRPC_PORT, UPLINK_GROUPS: 'service',
    PUBLISH_WAIT: 'replicas'
  })
  const guid = randomUUID()
  const grpc = grpcClient(t, Number(GRPC_PORT))
  const client = await connectClient(t, cluster.url)
  assert.equal((await client.ask('doc:join', { guid })).ok, true)
  const stream = grpc.stream('PublishStream')
  t.after(() => stream.cancel())
  stream.on('error', () => {})
  const publication = { operator: 'broadcast', guid, value: Buffer.from('1'), contentType: 'application/json' }

  /** Each returns the code of its error; undefined: it was acknowledged. @type {Record<string, () => Promise<any>>} */
  const ways = {
    http: async () => (await cluster.post(`/v1/documents/${guid}/broadcast`, 1)).body.error?.code,
    batch: async () =>
      (await cluster.post('/v1/publish', { publications: [{ guid, value: 1 }] })).body.results[0].error?.code,
    idempotent: async () =>
      (await cluster.post(`/v1/documents/${guid}/broadcast`, 1, { 'idempotency-key': randomUUID() })).body.error?.code,
    grpc: async () => (await grpc.call('Broadcast', { guid, value: Buffer.from('1') })).inkcast,
    stream: () => new Promise((resolve) => {
      stream.once('data', (/** @type {any} */ { results: [result] }) => resolve(result.error?.code))
      stream.write({ publications: [publication] })
    }),
    doc_send: async () => (await client.ask('doc:send', { guid, event: 'edit', data: 1 })).error?.code
  }
  const all = async () => Object.fromEntries(await Promise.all(
    Object.entries(ways).map(async ([name, way]) => [name, await way()])
  ))
  const each = (/** @type {string | undefined} */ code) =>
    Object.fromEntries(Object.keys(ways).map((name) => [name, code]))

  const last = Object.keys(ways).at(-1)

  assert.deepEqual(await all(), each(undefined))
  const parts = await replicaAdmin.keys('inkcast:{uplink:*}:log')
  const uplink = await Promise.all(parts.map((key) => replicaAdmin.xrange(key, '-', '+')))
  assert.match(JSON.stringify(uplink), /operator[^}]*message/, 'the acknowledged message is on the replica')

  t.after(() => replica.kill('SIGCONT'))
  // one way at a time: after the first timeout a process refuses at once
  for (const [name, way] of Object.entries(ways)) {
    await waitFor(async () => await way() === undefined, { timeout: 20_000, message: `${name} to be confirmed` })
    await replica.kill('SIGSTOP')
    assert.equal(await way(), 'timeout', name)
    if (name !== last) await replica.kill('SIGCONT')
  }
  await waitFor(async () => Object.values(await all()).every((code) => code === 'unavailable'), { message: all })
  const ready = async () => /** @type {any} */ (await (await fetch(`${cluster.adminUrl}/ready`)).json())
  assert.match(JSON.stringify(await ready()), /no replica of Redis confirms writes in time/)
  assert.match(await cluster.metrics(), /inkcast_write_waits_total\{result="refused",role="api"\} [1-9]/)

  await replica.kill('SIGCONT')
  await waitFor(async () => Object.values(await all()).every((code) => code === undefined), {
    timeout: 20_000, message: all
  })
})
