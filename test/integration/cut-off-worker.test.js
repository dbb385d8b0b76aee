import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workerOrders, WORKERS } from '../../src/redis/keys.js'
import { publication } from '../contract/bus-fixture.js'
import { connectClient } from '../helpers/clients.js'
import { startProxy } from '../helpers/proxy.js'
import { startRedisPublisher, startRedisWorker } from '../helpers/redis-worker.js'
import { signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'
import { startRedis } from '../services/redis.js'

/** @param {string} sub */
const tokenOf = (sub) => {
  const now = Math.floor(Date.now() / 1000)
  return signToken({ sub, iat: now, exp: now + 600 })
}

/** @param {import('node:test').TestContext} t */
async function scene (t) {
  const server = await startRedis()
  t.after(() => server.stop())
  const proxy = await startProxy(Number(new URL(server.url).port))
  t.after(() => proxy.stop())
  const [cut, other] = await Promise.all([
    startRedisWorker(t, `redis://127.0.0.1:${proxy.port}`),
    startRedisWorker(t, server.url)
  ])
  const { bus, redis } = await startRedisPublisher(t, server.url)
  const order = (/** @type {any} */ fields) => bus.publish([{ publication: publication(fields) }])
  return { proxy, cut, other, redis, order }
}

test('a worker that is cut off from Redis takes nothing from its clients, and of revoked, kicked and banned users nothing after it either', async (t) => {
  const { proxy, cut, redis, order } = await scene(t)
  const users = Array.from({ length: 100 }, (_, i) => `user-${i}`)
  const clients = await Promise.all(users.map(async (uid) =>
    connectClient(t, cut.url, { auth: { token: await tokenOf(uid) } })))
  for (const client of clients) {
    const answer = await client.ask('doc:join', { guid: 'd', state: { at: 1 } })
    assert.equal(answer.ok, true)
  }
  const send = (/** @type {typeof clients[number]} */ client) => client.ask('doc:send', { guid: 'd', data: 1 })
  assert.equal((await send(clients[0])).ok, true)
  assert.equal(cut.sent.splice(0).length, 1)

  proxy.hang()
  const leased = () => redis.client.zscore(WORKERS.expiry, String(cut.lease.number))
  await waitFor(async () => await leased() === null, { message: 'the end of the lease' })
  assert.equal(cut.standing.good, false)
  // the last quarter keeps its rights
  await Promise.all(users.slice(0, 75).map((uid, i) => order([
    { operator: 'revoke', uid, guid: 'd' }, { operator: 'kick', uid }, { operator: 'kick', uid, ttl: 600 }
  ][i % 3])))
  const answers = (await Promise.all(Array.from({ length: 10 }, () => clients.map(send)).flat()))
    .map(({ error }) => error)
  assert.equal(answers.length, 1000)
  assert.deepEqual(new Set(answers.map((error) => `${error?.code} ${error?.retryable}`)), new Set(['unavailable true']))
  for (const [event, more] of /** @type {const} */ ([
    ['doc:join', {}], ['doc:signal', { event: 'cursor', data: 1 }], ['doc:state', { state: {} }], ['doc:history', {}],
    ['doc:members', {}]
  ])) {
    const { error } = await clients[99].ask(event, { guid: 'd', ...more })
    assert.deepEqual([event, error?.code, error?.retryable], [event, 'unavailable', true])
  }
  const again = connectClient(t, cut.url, { auth: { token: await tokenOf(users[2]) } })
  await assert.rejects(again, (/** @type {any} */ error) => error.data.code === 'unavailable')
  assert.deepEqual(cut.sent, [])

  proxy.heal()
  const ended = new Set()
  for (const [i, client] of clients.entries()) {
    client.once('doc:revoked', () => ended.add(i))
    client.once('disconnect', () => ended.add(i))
  }
  // clients send on while the worker comes back
  const accepted = new Set()
  await waitFor(async () => {
    await Promise.all(clients.map(async (client, i) => {
      const answer = client.connected ? await send(client).catch(() => ({})) : {}
      if (answer.ok) accepted.add(i)
    }))
    return ended.size === 75 && accepted.size >= 25
  }, { message: () => `75 ends, ${ended.size}; 25 who send again, ${accepted.size}` })
  assert.deepEqual([...accepted].filter((i) => i < 75), [], 'of users who have lost their rights')
  assert.equal(cut.standing.good, true)
})

test('a worker whose lease had ended, and which continues, closes what was closed meanwhile', async (t) => {
  const { proxy, cut, redis, order } = await scene(t)
  const clients = await Promise.all(Array.from({ length: 10 }, async (_, i) =>
    connectClient(t, cut.url, { auth: { token: await tokenOf(`user-${i}`) } })))
  for (const client of clients) assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
  proxy.hang()
  await waitFor(async () => await redis.client.zscore(WORKERS.expiry, String(cut.lease.number)) === null)
  const closed = clients.map((client) => client.next('doc:closed'))
  await order({ operator: 'close', guid: 'd', value: Buffer.from('{}') })
  proxy.heal()
  for (const [{ guid }] of await Promise.all(closed)) assert.equal(guid, 'd')
})

test('orders that nobody reads do not block others: they are dropped, and if their worker continues, its clients reconnect', async (t) => {
  const { proxy, cut, redis, order } = await scene(t)
  const client = await connectClient(t, cut.url, { auth: { token: await tokenOf('ada') } })
  const kept = workerOrders(cut.lease.number)
  const fill = () => redis.client.hset(kept, ...Array.from({ length: 10_000 }, (_, i) => [`id-${i}`, 'x']).flat())
  proxy.hang()
  await fill()
  await assert.rejects(order({ operator: 'kick', uid: 'ada' }), { code: 'unavailable' }, 'its lease is still valid')
  await waitFor(async () => await redis.client.zscore(WORKERS.expiry, String(cut.lease.number)) === null)
  for (let i = 0; i < 3; i++) await order({ operator: 'leave', uid: 'ada', guid: 'd' })
  assert.equal(await redis.client.hlen(kept), 3)
  const ended = client.next('disconnect')
  proxy.heal()
  await ended
})
