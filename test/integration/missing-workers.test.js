import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../src/common/random.js'
import { workerOrders } from '../../src/redis/keys.js'
import { encodeEnvelope } from '../../src/wire/envelope.js'
import { encodeDirect } from '../../src/bus/redis-payload.js'
import { publication } from '../contract/bus-fixture.js'
import { connectClient } from '../helpers/clients.js'
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
async function own (t) {
  const server = await startRedis()
  t.after(() => server.stop())
  return server.url
}

test('orders in the moments after Redis has lost its data are carried out, or refused as unavailable', async (t) => {
  const url = await own(t)
  const workers = await Promise.all([startRedisWorker(t, url), startRedisWorker(t, url)])
  const { bus, redis } = await startRedisPublisher(t, url)
  const users = ['ada', 'bob', 'cyd', 'dan']
  const clients = await Promise.all(users.map(async (uid, i) =>
    connectClient(t, workers[i % 2].url, { auth: { token: await tokenOf(uid) } })))
  /** @type {Set<string>} */
  const told = new Set()
  for (const [i, client] of clients.entries()) {
    client.on('doc:closed', ({ guid }) => told.add(`${users[i]} closed ${guid}`))
    client.on('doc:joined', ({ guid }) => told.add(`${users[i]} joined ${guid}`))
  }
  const order = (/** @type {any} */ fields) => waitFor(() =>
    bus.publish([{ publication: publication(fields) }]).catch((error) => {
      if (error.code !== 'unavailable') throw error
      return undefined
    }))
  for (const after of [0, 20, 100, 200, 300, 600]) {
    const [d, e, f] = ['d', 'e', 'f'].map((name) => `${name}-${after}`)
    for (const client of clients) {
      assert.equal((await client.ask('doc:join', { guid: d })).ok, true)
      assert.equal((await client.ask('doc:join', { guid: e })).ok, true)
    }
    // the publisher knows the workers
    await order({ operator: 'close', guid: 'none' })
    told.clear()

    await redis.client.flushall()
    // the moment after the loss is the case of this test
    await new Promise((resolve) => { setTimeout(resolve, after) })
    await Promise.all([
      order({ operator: 'close', guid: d }),
      ...users.map((uid) => order({ operator: 'leave', uid, guid: e })),
      ...users.map((uid) => order({ operator: 'join', uid, guid: f }))
    ])
    const expected = users.flatMap((uid) => [`${uid} closed ${d}`, `${uid} closed ${e}`, `${uid} joined ${f}`])
    await waitFor(() => told.size >= expected.length, { message: () => JSON.stringify([after, ...told]) })
    assert.deepEqual([...told].sort(), expected.sort())
  }
})

test('a process with the number of a dead worker carries out none of its orders', async (t) => {
  const url = await own(t)
  const { redis } = await startRedisPublisher(t, url)
  const orders = [
    { operator: 'close', guid: 'd' }, { operator: 'leave', uid: 'ada', guid: 'd' },
    { operator: 'join', uid: 'ada', guid: 'e' }
  ]
  // the number of the first worker
  for (const [i, fields] of orders.entries()) {
    const envelope = encodeEnvelope(publication(/** @type {any} */ (fields)), Date.now(), systemRandom, `order-${i}`)
    await redis.client.hset(workerOrders(0), `order-${i}`, encodeDirect([envelope]))
  }
  const worker = await startRedisWorker(t, url)
  assert.equal(worker.lease.number, 0)
  const client = await connectClient(t, worker.url, { auth: { token: await tokenOf('ada') } })
  /** @type {string[]} */
  const told = []
  client.onAny((event) => told.push(event))
  assert.equal((await client.ask('doc:join', { guid: 'd' })).ok, true)
  // what would be read now
  const { bus } = await startRedisPublisher(t, url)
  await bus.publish([{ publication: publication({ operator: 'leave', uid: 'ada', guid: 'x' }) }])
  await waitFor(async () => await redis.client.hlen(workerOrders(0)) === 0)
  assert.equal((await client.ask('doc:history', { guid: 'd' })).ok, true)
  assert.deepEqual(told, [])
})
